"""The paper's networks over fixed word vectors: a CNN for topics, and ESIM for inference."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class TopicCNN(torch.nn.Module):
    """A decision for each topic from the words of a text.

    A filter of width w scores each window of w words; the best window counts, after a ReLU. Unless ``shared``, each
    topic has its own filters: as many networks as topics, computed side by side.
    """

    def __init__(
        self, dim: int, n_topics: int, widths: Sequence[int], filters: int, *, shared: bool, dropout: float
    ) -> None:
        super().__init__()
        self.filters, self.groups, self.widths = filters, 1 if shared else n_topics, tuple(widths)
        self.min_words = max(widths)
        self.convolutions = torch.nn.ModuleList(torch.nn.Conv1d(dim, self.groups * filters, width) for width in widths)
        self.dropout = torch.nn.Dropout(dropout)
        n_features = filters * len(widths)
        self.weight = torch.nn.Parameter(torch.empty(n_topics, n_features).uniform_(-1, 1) / n_features**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(n_topics))

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the log-odds of each topic from vectors of shape (texts, words, d), zero after the end of a text."""
        columns = words.transpose(1, 2)
        pooled = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            scores = convolution(columns)
            # A text shorter than the window has one window, padded with zeros.
            n_windows = (lengths - width + 1).clamp(min=1)
            outside = torch.arange(scores.shape[2], device=words.device) >= n_windows[:, None]
            best = scores.masked_fill(outside[:, None], -torch.inf).amax(dim=2)
            pooled.append(torch.relu(best).view(len(words), self.groups, self.filters))
        features = self.dropout(torch.cat(pooled, dim=2))
        return (features * self.weight).sum(dim=2) + self.bias

    @staticmethod
    def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean over texts of the sum of the topics' cross-entropies; labels of -1 do not count."""
        counts = labels >= 0
        losses = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, labels.clamp(min=0).to(logits.dtype), reduction="none"
        )
        total: torch.Tensor = (losses * counts).sum() / len(labels)
        return total

    @staticmethod
    def decide(logits: torch.Tensor) -> torch.Tensor:
        """Return whether each text is about each topic."""
        return logits > 0


class ESIM(torch.nn.Module):
    """The enhanced sequential inference model of Chen et al. (2017), whose equations the comments name."""

    min_words = 1

    def __init__(self, dim: int, hidden: int, n_labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = torch.nn.Dropout(dropout)
        self.encoder = torch.nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.projection = torch.nn.Linear(8 * hidden, hidden)
        self.composer = torch.nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.inner = torch.nn.Linear(8 * hidden, hidden)
        self.outer = torch.nn.Linear(hidden, n_labels)

    def forward(
        self, premise: torch.Tensor, lengths_a: torch.Tensor, hypothesis: torch.Tensor, lengths_b: torch.Tensor
    ) -> torch.Tensor:
        """Return the scores of the labels from vectors of shape (pairs, words, d) and the sentences' lengths."""
        a = _run(self.encoder, self.dropout(premise), lengths_a)  # ā of eq. 1
        b = _run(self.encoder, self.dropout(hypothesis), lengths_b)
        in_a, in_b = _inside(a, lengths_a), _inside(b, lengths_b)
        e = a @ b.transpose(1, 2)  # eq. 11
        a_aligned = _weights(e, in_b[:, None]) @ b  # ã of eq. 12
        b_aligned = _weights(e.transpose(1, 2), in_a[:, None]) @ a
        pooled = [
            *self._compose(a, a_aligned, lengths_a, in_a),
            *self._compose(b, b_aligned, lengths_b, in_b),
        ]
        v = torch.cat(pooled, dim=1)  # eq. 20
        scores: torch.Tensor = self.outer(self.dropout(torch.tanh(self.inner(self.dropout(v)))))
        return scores

    @staticmethod
    def loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy."""
        return torch.nn.functional.cross_entropy(scores, labels.long())

    @staticmethod
    def decide(scores: torch.Tensor) -> torch.Tensor:
        """Return the number of the best label of each pair."""
        return scores.argmax(dim=1).char()

    def _compose(
        self, own: torch.Tensor, aligned: torch.Tensor, lengths: torch.Tensor, inside: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return mean and maximum over the words of the composed comparison of a sentence with the other's words."""
        m = torch.cat([own, aligned, own - aligned, own * aligned], dim=2)  # eq. 14
        v = _run(self.composer, self.dropout(torch.relu(self.projection(m))), lengths)
        mean = (v * inside[:, :, None]).sum(dim=1) / lengths.clamp(min=1)[:, None]
        return mean, v.masked_fill(~inside[:, :, None], -torch.inf).amax(dim=1)


def _run(lstm: torch.nn.LSTM, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Run an LSTM over the words of each sentence and no further."""
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        words, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=words.shape[1])
    return states


def _inside(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    # A sentence without words counts as one word, whose vector is zero.
    return torch.arange(states.shape[1], device=states.device) < lengths.clamp(min=1)[:, None]


def _weights(e: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    return torch.softmax(e.masked_fill(~inside, -torch.inf), dim=2)
