"""`fipp align` without a dictionary: from words spelled alike, or nothing is written."""

import json

import numpy as np
import pytest

from fipp import Alignment, Lexicon, Vectors
from fipp.aligners import _unsupervised

N, SHARED = 600, 80


@pytest.fixture(autouse=True)
def without_pot(monkeypatch):
    monkeypatch.setattr(_unsupervised, "can_couple", lambda: False)


@pytest.fixture
def languages(tmp_path):
    """Return two files of the same words in two languages, every seventh spelled alike, and a test dictionary."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 30))
    Y = X @ np.linalg.qr(rng.standard_normal((30, 30)))[0] + 0.4 * rng.standard_normal((N, 30))
    words = [(f"w{i}", f"w{i}") if i % 7 == 0 else (f"s{i}", f"t{i}") for i in range(N)]
    paths = [tmp_path / "s.vec", tmp_path / "t.vec"]
    for path, spelled, vectors in zip(paths, zip(*words, strict=True), (X, Y), strict=True):
        Vectors(list(spelled), vectors.astype(np.float32)).save(path)
    Lexicon([pair for pair in words if pair[0] != pair[1]]).save(tmp_path / "test.tsv")
    return *paths, tmp_path / "test.tsv", tmp_path / "s-t.fipp"


@pytest.fixture
def unrelated(languages):
    """Return the same with a target that has nothing to do with the source."""
    words = Vectors.load(languages[1]).words
    vectors = np.random.default_rng(1).standard_normal((N, 30))
    Vectors(words, vectors.astype(np.float32)).save(languages[1])
    return languages


@pytest.mark.parametrize("options", [(), ("--method", "unsupervised")], ids=["auto", "unsupervised"])
def test_words_spelled_alike_are_enough_and_the_start_is_told(run, languages, options):
    source, target, test, model = languages
    result = run("align", source, target, "-o", model, *options)
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    assert "86 pairs of words spelled alike" in shown and "from spelling" in shown and "from random pairs" in shown
    alignment = Alignment.load(model, Vectors.load(source), Vectors.load(target))
    assert alignment.evaluate(test).mrr > 0.9
    refused = run("eval", model, source, target)
    assert refused.exit_code == 2 and "learned from no known pairs" in " ".join(refused.stderr.split())
    told = " ".join(run("info", model).stdout.split())
    assert "86 pairs of words spelled alike" in told and "from random pairs" in told


def test_json_has_the_start_the_guesses_and_the_figures(run, languages):
    source, target, _, model = languages
    described = json.loads(run("align", source, target, "-o", model, "--json").stdout)
    assert described["chosen"] == "without known pairs, from 86 pairs of words spelled alike"
    assert (described["start"], described["guesses"], described["pairs"]) == ("spelling", 86, 0)
    assert [each["start"] for each in described["starts"]] == ["spelling", "similarities"]
    assert described["consistency"] > described["chance_consistency"] + 0.1
    assert described["starts"][0]["consistency"] == pytest.approx(described["consistency"], abs=1e-6)


@pytest.mark.parametrize("options", [(), ("--method", "unsupervised")], ids=["auto", "unsupervised"])
def test_where_nothing_is_found_nothing_is_written_and_the_reason_is_told(run, unrelated, options):
    source, target, _, model = unrelated
    result = run("align", source, target, "-o", model, *options)
    assert result.exit_code == 2
    assert not model.exists() and not list(model.parent.glob("*.fipp*"))
    told = " ".join(result.stderr.split())
    assert "has failed" in told and "86 pairs of words spelled alike" in told and "Give known pairs" in told
    assert "Traceback" not in told
