"""Texts as tensors of word vectors, a batch at a time."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fipp.evaluate._tokens import EncodedTexts


def look_up(
    texts: EncodedTexts, rows: NDArray[np.int64], max_words: int, network: torch.nn.Module, at_least: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return vectors of shape (texts, words, d), zero behind the end of a text, and the texts' lengths.

    Vectors of unit length are scaled to length √d: entries about 1 in size are what the first weights of a network are
    made for. They are made on the processor and moved to the network's device, so that only a batch has to fit there.
    """
    padded = texts.padded(rows, max_words, at_least)
    inside = padded.ids < len(texts.matrix)
    words = np.zeros((*padded.ids.shape, texts.matrix.shape[1]), dtype=np.float32)
    words[inside] = texts.matrix[padded.ids[inside]] * np.float32(texts.matrix.shape[1] ** 0.5)
    device = next(network.parameters()).device
    return torch.from_numpy(words).to(device), torch.from_numpy(padded.lengths).to(device)
