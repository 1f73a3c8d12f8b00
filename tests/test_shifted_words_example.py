"""The corpora of examples/shifted_words.py: a null from splitting one corpus shows what changed between two."""

import importlib.util
from pathlib import Path

import pytest

from fipp.evaluate import shift

SCRIPT = Path(__file__).parents[1] / "examples" / "shifted_words.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("shifted_words", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def corpora(script):
    return script.library_docstrings()


def test_words_of_two_libraries_have_changed_compared_with_halves_of_one_corpus(script, corpora):
    found = script.compare(*corpora)
    items = {each.item: each for each in found.items}
    assert found.from_null and len(found.changed) > 0.1 * len(found.items)
    # Of labels with two classes, or of files that are not text.
    assert items["binary"].z >= 3 and "file" in items["binary"].gained and "file" not in items["binary"].lost
    assert items["label"].z > items["need"].z


def test_between_halves_of_one_corpus_hardly_any_word_changed(script, corpora):
    documents = [text for corpus in corpora for text in corpus]
    words = script.shared_words(*corpora)
    pairs = [tuple(script.word_vectors(half, words) for half in script.halves(documents, seed)) for seed in (1, 2)]
    found = shift(*pairs[0], null=pairs[1])
    assert len(found.changed) < 0.04 * len(found.items)
