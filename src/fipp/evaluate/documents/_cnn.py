"""The convolutional network: windows over fixed word vectors, the strongest of each filter, a decision a topic."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class TopicCNN(torch.nn.Module):
    """A decision for each topic from the words of a text.

    A filter of width w scores each window of w words; the best window counts, after a ReLU. Unless ``shared``, each
    topic has filters of its own: these are as many networks as topics, calculated side by side.
    """

    def __init__(
        self, dim: int, n_topics: int, widths: Sequence[int], filters: int, *, shared: bool, dropout: float
    ) -> None:
        super().__init__()
        self.filters, self.groups, self.widths = filters, 1 if shared else n_topics, tuple(widths)
        self.convolutions = torch.nn.ModuleList(torch.nn.Conv1d(dim, self.groups * filters, width) for width in widths)
        self.dropout = torch.nn.Dropout(dropout)
        n_features = filters * len(widths)
        self.weight = torch.nn.Parameter(torch.empty(n_topics, n_features).uniform_(-1, 1) / n_features**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(n_topics))

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the log-odds of each topic from vectors of shape (texts, words, d), zero behind the end of a text."""
        columns = words.transpose(1, 2)
        pooled = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            scores = convolution(columns)
            # A text shorter than the window has one window, which the zeros behind it fill.
            n_windows = (lengths - width + 1).clamp(min=1)
            outside = torch.arange(scores.shape[2], device=words.device) >= n_windows[:, None]
            best = scores.masked_fill(outside[:, None], -torch.inf).amax(dim=2)
            pooled.append(torch.relu(best).view(len(words), self.groups, self.filters))
        features = self.dropout(torch.cat(pooled, dim=2))
        return (features * self.weight).sum(dim=2) + self.bias


def masked_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean over texts of the topics' cross-entropies; labels of -1 do not count."""
    counts = labels >= 0
    losses = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, labels.clamp(min=0).to(logits.dtype), reduction="none"
    )
    total: torch.Tensor = (losses * counts).sum() / len(labels)
    return total
