"""The pieces of examples/embedding_models.py."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location("embedding_models", EXAMPLES / "embedding_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("debian_descriptions", None)


def packages_of(example, count=60):
    """Packages of `count` families: a program, its manual and, with another source, its next version."""
    found = []
    for number in range(count):
        word = "".join(chr(97 + int(digit)) for digit in f"{number:03d}") + "zed"
        text = f"The program {word} computes the {word} of everything, and prints it slowly."
        for name, source in ((f"{word}-doc", word), (word, word), (f"{word}-2", f"{word}-2")):
            more = f"The part {name} of {word} has a paragraph of its own, which is long enough to be kept."
            found.append(example.Package(name, source, f"compute {word} for {name}", [text, more]))
    return found


def test_each_family_has_one_document_and_each_query_its_own_answer(example):
    kinds = example.collect(packages_of(example))
    names = [record["id"] for record in kinds["documents"] if "/" not in record["id"]]
    assert len(names) == len({name.removesuffix("-2").removesuffix("-doc") for name in names}) > 40
    assert not any(name.endswith("-doc") for name in names)
    assert [names[query["gold"]] for query in kinds["queries"]] == [query["id"] for query in kinds["queries"]]


def test_passages_come_from_no_package_of_the_first_documents_nor_its_family(example, monkeypatch):
    monkeypatch.setattr(example, "CLEAN", 10)
    kinds = example.collect(packages_of(example))
    ids = [record["id"] for record in kinds["documents"]]
    passages = [each for each in ids if "/" in each]
    assert passages == ids[-len(passages) :] and len(passages) > 40
    first = {name.removesuffix("-2") for name in ids[:10]}
    assert not [each for each in passages if each.split("/")[0].removesuffix("-2").removesuffix("-doc") in first]


def test_texts_to_train_on_are_of_other_source_packages(example):
    packages = packages_of(example)
    kinds = example.collect(packages)
    sources = {package.name: package.source for package in packages}
    trained = {sources[record["id"]] for record in kinds["training"]}
    assert trained and not trained & {sources[record["id"].split("/")[0]] for record in kinds["documents"]}


def test_an_interrupted_run_resumes_where_the_shortest_file_ends(example, monkeypatch, tmp_path):
    monkeypatch.setattr(example, "BLOCK", 4)
    monkeypatch.setitem(example.MODELS, "lengths", example.Model(None, ["a", "b"], "numpy", "numpy"))
    texts = ["x" * (number + 1) for number in range(10)]
    seen = []

    def encode(block):
        seen.extend(block)
        lengths = np.array([[len(text)] for text in block], np.float32)
        return {"a": lengths, "b": -lengths}

    example.embed(tmp_path, "lengths", "documents", texts[:8], lambda: encode)
    np.save(tmp_path / "b.documents.npy", np.load(tmp_path / "b.documents.npy")[:4])  # stopped between two files
    seen.clear()
    example.embed(tmp_path, "lengths", "documents", texts, lambda: encode)
    assert seen == texts[4:]
    for space, sign in (("a", 1), ("b", -1)):
        assert np.load(tmp_path / f"{space}.documents.npy")[:, 0].tolist() == [sign * (row + 1) for row in range(10)]
