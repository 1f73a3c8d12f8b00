"""`fipp demo`."""

import json
import sys

import pytest

from fipp import Alignment, Auto, align
from fipp.cli import _demo
from fipp.datasets import load_demo


def test_the_demo_shows_translations_scores_and_pairs_and_writes_model_picture_and_report(execute, tmp_path):
    done = execute("demo", "--output", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "café" in done.stdout and "reine" in done.stdout
    assert "FIPP as published" in done.stdout and "Procrustes" in done.stdout and "CSLS" in done.stdout
    assert "Best P@1 by NN" in done.stdout and "most filtered" in done.stdout
    assert (tmp_path / "demo" / "en-fr.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "demo" / "en-fr.html").read_text(encoding="utf-8")
    assert "en-fr.html" in done.stdout.splitlines()[-1] and "Alignment of English to French" in page
    aligner = Alignment.load(tmp_path / "demo" / "en-fr.fipp").aligner
    assert isinstance(aligner, Auto) and aligner.chosen_ in done.stdout and "held-out pairs" in done.stdout


def test_without_matplotlib_the_demo_says_what_to_install_and_goes_on(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(_demo, "_RIVALS", [rival for rival in _demo._RIVALS if rival[0] == "FIPP"])
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0 and "pip install 'fipp[plot]'" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["en-fr.fipp"]


def test_the_scores_are_there_as_json(run, tmp_path, monkeypatch):
    monkeypatch.setattr(_demo, "_RIVALS", [rival for rival in _demo._RIVALS if rival[0] == "FIPP"])
    result = run("demo", "--output", tmp_path, "--json")
    told = json.loads(result.stdout)
    assert result.stderr == "" and told["model"] == str(tmp_path / "en-fr.fipp")
    demo = load_demo()
    assert (
        told["scores"]["FIPP"]["csls"]
        == align(demo.source, demo.target, demo.seed, "fipp").evaluate(demo.test, retrieval="csls").as_dict()
    )


def test_an_output_that_is_a_file_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--output", tmp_path / "file")
    assert result.exit_code == 2 and "error: " in result.stderr


@pytest.mark.parametrize("words", [_demo.WORDS, _demo.PICTURE])
def test_what_the_demo_shows_was_not_learned_from(words):
    demo = load_demo()
    assert set(words) <= {word for word, _ in demo.test}
    assert not set(words) & {word for word, _ in demo.seed}
