"""Two small vocabularies with a seed and a test dictionary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fipp import Lexicon, Vectors


class Languages(NamedTuple):
    source: Vectors
    target: Vectors
    seed: Lexicon
    test: Lexicon


def make_languages(d1: int = 10, d2: int = 10) -> Languages:
    rng = np.random.default_rng(0)
    d = min(d1, d2)
    hidden = rng.standard_normal((200, d))
    source, target = (
        hidden @ np.linalg.qr(rng.standard_normal((side, side)))[0][:d] + 0.3 * rng.standard_normal((200, side))
        for side in (d1, d2)
    )
    # The last twenty are spelled alike.
    words = [[f"{language}{i}" for i in range(180)] + [f"same{i}" for i in range(20)] for language in "ef"]
    pairs = list(zip(*words, strict=True))
    test = Lexicon([*pairs[100:150], ("missing", "f0")])
    return Languages(Vectors(words[0], source), Vectors(words[1], target), Lexicon(pairs[:100]), test)
