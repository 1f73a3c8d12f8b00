"""Mutation testing: what is changed, and that whatever no test noticed is explained."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "scripts")]

import mutants  # noqa: E402
import mutate  # noqa: E402

MODULE = '''"""A module."""

LIMIT: int = 3


def count(values, least=0, /):
    """Count -1 and 2."""
    if not values or len(values) < 1:
        raise ValueError(f"{len(values) + 1} values")
    return sum(value >= least for value in values[1:]) * 0.5
'''


def changes(tmp_path, monkeypatch):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text(MODULE)
    return {(each.before, each.after): mutate.mutated(each) for each in mutate.mutants("module.py")}


def test_operators_comparisons_and_constants_are_changed_one_at_a_time(tmp_path, monkeypatch):
    found = changes(tmp_path, monkeypatch)
    assert set(found) == {
        ("not values or len(values) < 1", "not values and len(values) < 1"),
        ("not values", "values"),
        ("len(values) < 1", "len(values) <= 1"),
        ("value >= least", "value > least"),
        ("1", "2"),
        ("sum((value >= least for value in values[1:])) * 0.5", "sum((value >= least for value in values[1:])) / 0.5"),
        ("0.5", "1.0"),
    }
    original = mutate.ast.unparse(mutate.ast.parse(MODULE)).splitlines()
    for text in found.values():
        assert sum(line != other for line, other in zip(text.splitlines(), original, strict=True)) == 1


def test_declarations_defaults_and_messages_stay(tmp_path, monkeypatch):
    for text in changes(tmp_path, monkeypatch).values():
        assert "LIMIT: int = 3" in text and "least=0" in text and "len(values) + 1" in text and "-1 and 2" in text


def test_every_survivor_is_explained_and_nothing_else():
    survivors = {mutants.place(each) for each in mutants.survivors()}
    assert survivors - mutants.REASONS.keys() == set(), "write a test that notices it, or say why it is right"
    assert mutants.REASONS.keys() - survivors == set()
