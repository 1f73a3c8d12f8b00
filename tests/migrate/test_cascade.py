"""A cascade ranks by the new model what a map proposes, and embeds no document twice."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from fipp import FippError, FippWarning
from fipp.migrate import Cascade, Migration, PairedSample, VectorFolder, merge_halves


class Collection:
    """Documents by two models, and a new model that counts what it embeds."""

    def __init__(self, n=600):
        rng = np.random.default_rng(0)
        self.new = rng.standard_normal((n, 12)) * np.geomspace(1, 0.3, 12)
        self.old = self.new[:, :8] + 0.1 * rng.standard_normal((n, 8))
        self.ids = [f"doc {row}" for row in range(n)]
        self.batches = []
        self.broken_after = None

    def embed(self, ids):
        if self.broken_after is not None and len(self.batches) >= self.broken_after:
            raise ConnectionError("no answer")
        self.batches.append(list(ids))
        return self.new[[int(each.split()[1]) for each in ids]]

    def migration(self, direction):
        old, new = self.old[:300], self.new[:300]
        sample = PairedSample.from_arrays(old, new, old_queries=old[:80] + 0.01, new_queries=new[:80] + 0.01)
        return Migration.fit(sample, direction=direction)

    def cascade(self, store, direction="documents", **options):
        return Cascade.over(self.migration(direction), self.ids, self.old, self.embed, store=store, **options)


@pytest.fixture
def collection():
    return Collection()


@pytest.mark.parametrize("direction", ["documents", "queries"])
def test_candidates_are_ranked_as_the_new_model_ranks_them(collection, tmp_path, direction):
    cascade = collection.cascade(tmp_path, direction, n_candidates=100)
    queries = collection.new[300:320] + 0.05
    found = cascade.search(queries, k=5)
    cosines = (
        queries @ collection.new.T / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(collection.new, axis=1)
    )
    right = 0
    for row, hits in enumerate(found):
        best = [collection.ids[each] for each in np.argsort(-cosines[row])[:5]]
        right += len(set(best) & {hit.id for hit in hits})
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert hits[0].score == pytest.approx(cosines[row, collection.ids.index(hits[0].id)], abs=1e-5)
    assert right >= 95


def test_all_candidates_give_what_embedding_everything_gives(collection, tmp_path):
    cascade = collection.cascade(tmp_path, n_candidates=600)
    query = collection.new[[7]] + 0.1
    cosines = (collection.new / np.linalg.norm(collection.new, axis=1)[:, None]) @ query[0]
    assert [hit.id for hit in cascade.search(query, 20)[0]] == [
        collection.ids[row] for row in np.argsort(-cosines)[:20]
    ]


def test_no_document_is_embedded_twice_and_the_most_wanted_come_first(collection, tmp_path):
    cascade = collection.cascade(tmp_path, n_candidates=50, batch_size=16)
    queries = collection.new[:10] + 0.05
    first = cascade.search(queries)
    embedded = [each for batch in collection.batches for each in batch]
    assert len(embedded) == len(set(embedded)) == cascade.n_embedded and max(map(len, collection.batches)) == 16
    wanted = [sum(each in ids for ids in cascade.propose(queries.astype(np.float32), 50)) for each in embedded]
    assert wanted == sorted(wanted, reverse=True)
    again = collection.cascade(tmp_path, n_candidates=50)
    assert again.search(queries) == first and again.n_embedded == 0 and again.n_asked == len(embedded)


def test_a_failure_in_the_middle_loses_no_finished_batch(collection, tmp_path):
    cascade = collection.cascade(tmp_path, n_candidates=50, batch_size=10)
    collection.broken_after = 3
    with pytest.raises(ConnectionError):
        cascade.search(collection.new[:2])
    assert len(VectorFolder(tmp_path)) == 30
    collection.broken_after = None
    cascade.search(collection.new[:2])
    embedded = [each for batch in collection.batches for each in batch]
    assert len(embedded) == len(set(embedded)) == len(VectorFolder(tmp_path))


def test_duplicates_among_candidates_are_found_once(collection):
    kept = {}

    class Kept:
        def get(self, ids):
            return {key: kept[key] for key in ids if key in kept}

        def put(self, ids, vectors):
            kept.update(zip(ids, vectors, strict=True))

    cascade = Cascade(lambda queries, n: [["doc 1", "doc 2", "doc 1"], []], collection.embed, store=Kept())
    first, second = cascade.search(collection.new[:2])
    assert sorted(hit.id for hit in first) == ["doc 1", "doc 2"] and second == [] and set(kept) == {"doc 1", "doc 2"}


def test_wrong_answers_of_the_model_are_refused_and_not_kept(collection, tmp_path):
    query = collection.new[:1]
    for wrong in (
        lambda ids: collection.new[:3],
        lambda ids: collection.old[: len(ids)],
        lambda ids: [[np.nan] * 12] * len(ids),
    ):
        with pytest.raises(FippError, match="embed returned"):
            Cascade.over(
                collection.migration("documents"), collection.ids, collection.old, wrong, store=tmp_path
            ).search(query)
    other = lambda ids: np.random.default_rng(0).standard_normal((len(ids), 12)) - 3  # noqa: E731
    with pytest.raises(FippError, match="not vectors of the model 'new'"):
        Cascade.over(collection.migration("documents"), collection.ids, collection.old, other, store=tmp_path).search(
            query
        )
    assert len(VectorFolder(tmp_path)) == 0


def test_ids_must_be_one_for_each_vector(collection, tmp_path):
    with pytest.raises(FippError, match="there are 599 ids but 600 vectors"):
        Cascade.over(
            collection.migration("documents"), collection.ids[1:], collection.old, collection.embed, store=tmp_path
        )
    with pytest.raises(FippError, match="'doc 1' occurs twice"):
        doubled = ["doc 1", *collection.ids[1:]]
        Cascade.over(collection.migration("documents"), doubled, collection.old, collection.embed, store=tmp_path)


def test_a_folder_keeps_vectors_by_text_and_number(tmp_path):
    folder = VectorFolder(tmp_path / "new")
    folder.put(["a", 1, "1"], np.arange(6).reshape(3, 2))
    folder.put([1, "é\n"], np.full((2, 2), 9))
    again = VectorFolder(tmp_path / "new")
    assert len(again) == 4 and again.get([1])[1].tolist() == [2, 3] and again.get(["é\n", "b"]).keys() == {"é\n"}
    with pytest.raises(FippError, match="2 dimensions, not 3"):
        again.put(["c"], np.ones((1, 3)))
    with pytest.raises(FippError, match="text or whole numbers"):
        again.put([2.5], np.ones((1, 2)))


def test_two_writers_of_a_folder_see_each_other(tmp_path):
    first, second = VectorFolder(tmp_path), VectorFolder(tmp_path)
    first.put(["a", "b"], np.eye(2))
    second.put(["b", "c"], 5 * np.eye(2))
    assert first.get(["a", "b", "c"])["c"].tolist() == [0, 5] and second.get(["b"])["b"].tolist() == [0, 1]


@pytest.mark.parametrize("cut", ["line", "vector", "both"])
def test_what_a_killed_writer_left_is_written_over(tmp_path, cut):
    folder = VectorFolder(tmp_path)
    folder.put(["a"], np.ones((1, 2)))
    if cut != "line":  # a vector without its line
        with open(tmp_path / "vectors.f32", "ab") as file:
            file.write(b"xxxxx")
    if cut != "vector":  # half of a line
        with open(tmp_path / "ids.jsonl", "ab") as file:
            file.write(b'["b", 12')
    again = VectorFolder(tmp_path)
    assert len(again) == 1
    again.put(["c"], np.full((1, 2), 7))
    assert {key: each.tolist() for key, each in VectorFolder(tmp_path).get(["a", "b", "c"]).items()} == {
        "a": [1, 1],
        "c": [7, 7],
    }


def test_a_damaged_vector_is_noticed_and_embedded_again(tmp_path):
    VectorFolder(tmp_path).put(["a", "b"], np.ones((2, 2)))
    with open(tmp_path / "vectors.f32", "r+b") as file:
        file.write(b"\xff")
    folder = VectorFolder(tmp_path)
    with pytest.warns(FippWarning, match="damaged and is left out"):
        assert set(folder.get(["a", "b"])) == {"b"}
    folder.put(["a"], np.full((1, 2), 3))
    assert VectorFolder(tmp_path).get(["a"])["a"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("name", "content"), [("ids.jsonl", b"{}\n"), ("ids.jsonl", b"[[1], 2]\n"), ("about.json", b"{")]
)
def test_a_folder_of_something_else_is_refused(tmp_path, name, content):
    VectorFolder(tmp_path).put(["a"], np.ones((1, 2)))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FippError, match="is damaged"):
        VectorFolder(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_whole_vectors(tmp_path):
    program = textwrap.dedent(
        """
        import sys, numpy as np
        from fipp.migrate import VectorFolder
        folder = VectorFolder(sys.argv[1])
        for number in range(10**6):
            folder.put([f"{number}.{each}" for each in range(20)], np.full((20, 50), number))
            print(number, flush=True)
        """
    )
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(30):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        folder = VectorFolder(tmp_path)
        keys = [json.loads(line)[0] for line in (tmp_path / "ids.jsonl").read_text().splitlines()[: len(folder)]]
        found = folder.get(keys)
        assert len(found) == len(folder) >= 20 * (last + 1)
        assert all((vector == int(key.split(".")[0])).all() for key, vector in found.items())


def test_halves_are_merged_in_proportion_to_their_sizes():
    rng = np.random.default_rng(0)
    native, converted = (np.sort(rng.standard_normal(n))[::-1] for n in (300, 900))
    merged = merge_halves(native, 0.1 * converted - 5, n_native=300, n_converted=900, k=100)
    assert merged.is_native.mean() == 0.25 and (np.diff(merged.scores) <= 0).all()
    assert merged.places[merged.is_native].tolist() == list(range(25))


def test_only_lists_in_order_are_merged():
    with pytest.raises(FippError, match="native must be a list of numbers, best first"):
        merge_halves([1, 2], [2, 1], n_native=5, n_converted=5)
    with pytest.raises(FippError, match="the size of the half"):
        merge_halves([2, 1], [2, 1], n_native=5, n_converted=1)
    assert merge_halves([], [2, 1], n_native=0, n_converted=2).is_native.tolist() == [False, False]
