"""Damaged models of every method are refused with a FippError, or can be used."""

from collections import Counter

import pytest

from model_fuzz import D2, Case, outcome, spaces, write_corpus

CASES = 2000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_damaged_model_is_refused_or_can_be_used(corpus, tmp_path):
    source, target = spaces(D2)
    path, counts = tmp_path / "model.fipp", Counter()
    for number in range(CASES):
        path.write_bytes(Case(corpus, 1, number).content)
        try:
            counts[outcome(path, number, source, target)] += 1
        except Exception as error:
            error.add_note(f"case {number}: python scripts/fuzz_models.py --seed 1 --only {number}")
            raise
    assert counts["refused"] > CASES / 2 and counts["loaded"] > CASES / 20
