"""Mutation testing: its counts, and why mutants that no test notices are right. `scripts/mutate.py` records them."""

from __future__ import annotations

import json

from _benchmark import KEPT, ROOT
from _tables import table

RECORDS = KEPT / "mutants.jsonl"
ROOMS = ("linalg", "fipp", "retrieve", "migrate")
REASONS = {
    (
        "_network.py",
        "kept = rng.random(shape, dtype=np.float32) >= self.dropout",
        "rng.random(shape, dtype=np.float32) > self.dropout",
    ): "a random number equals the share once in millions",
    (
        "_spectral.py",
        "scale = np.where(known, values, 1) ** power * known",
        "2",
    ): "what is not known is multiplied by 0",
    (
        "_fipp.py",
        'stretch = self._stretch() if self.solver != "linear" and c < _FEW_PAIRS * max(d1, d2) else 1.0',
        "2.0",
    ): "it warns of a stretch above 2 only",
    (
        "_fipp_reference.py",
        "weights = (1 / np.linalg.norm(G_star - G_t, axis=1)) ** power",
        "2",
    ): "the weights are divided by the largest one",
}
"""By module, line and changed text: why the result is the same, or as good."""


def records():
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return [json.loads(line) for line in lines]


def survivors():
    return [record for record in records() if not record["noticed"]]


def place(record):
    """Return what identifies a survivor in `REASONS`."""
    path = ROOT / record["path"]
    return path.name, path.read_text(encoding="utf-8").splitlines()[record["line"] - 1].strip(), record["after"]


def counts_table():
    """Return how many mutants of each room were tried, and what became of them."""
    rows = []
    for room in ROOMS:
        tried = [record for record in records() if record["room"] == room]
        survived = [record for record in tried if not record["noticed"]]
        explained = sum(place(record) in REASONS for record in survived)
        rows.append([f"`{room}`", len(tried), len(tried) - len(survived), explained, len(survived) - explained])
    return table(["room", "tried", "noticed", "survived, explained", "survived, not explained"], rows)


def survivors_table():
    """Return the survivors, and why they are right."""
    rows = []
    for record in survivors():
        name, line, after = place(record)
        rows.append([f"`{name}`", _code(line), _code(record["before"]), _code(after), REASONS.get(place(record))])
    return table(["module", "line", "of which", "becomes", "why no test notices"], rows)


def _code(text):
    return f"`{text.replace('|', chr(92) + '|')}`"
