"""One pass for both directions, and CSLS certified from it, against the formula for every pair in float64."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_spaces import with_peak_memory
from threadpoolctl import threadpool_limits

import fipp
from fipp.retrieve import _sweep as sweep_module
from fipp.retrieve import hubness, mean_similarity, mutual_neighbours, neighbours, ranks_of_gold

HALF = np.float32(2)


def unit(matrix):
    """Rows at unit length in float32, those of zeros as they are."""
    matrix = np.asarray(matrix, dtype=np.float64)
    lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0).astype(np.float32)


def best_of(scores, k):
    """Column numbers and scores of the best of every row, equal ones in the order of their columns."""
    order = np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), -scores), axis=1)[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def brute_force(queries, keys, k, n_neighbours):
    """CSLS of every pair: cosines in float64, rounded to float32 where fipp says that it rounds."""
    exact = unit(queries).astype(np.float64) @ unit(keys).T.astype(np.float64)
    cosines = exact.astype(np.float32)
    r_T = best_of(cosines, n_neighbours)[1].mean(axis=1, dtype=np.float64).astype(np.float32)
    r_S = best_of(cosines.T, n_neighbours)[1].mean(axis=1, dtype=np.float64).astype(np.float32)
    indices, halves = best_of((exact - (r_S / HALF).astype(np.float64)).astype(np.float32), k)
    back = best_of((exact.T - (r_T / HALF).astype(np.float64)).astype(np.float32), 1)[0][:, 0]
    return indices, 2 * halves - r_T[:, None], back, r_T, r_S


def random(rng):
    return rng.standard_normal((700, 16)), rng.standard_normal((900, 16))


def copies(rng):
    queries, keys = random(rng)
    keys[300:600], keys[600:640], queries[5:60] = keys[:300], keys[0], queries[4]
    return queries, keys


def zeros(rng):
    queries, keys = random(rng)
    queries[10:20], keys[100:140] = 0, 0
    return queries, keys


def constant(rng):
    return np.ones((150, 8)), np.ones((130, 8))


def whole_numbers(rng):
    return rng.integers(-1, 2, (400, 5)), rng.integers(-1, 2, (500, 5))


def hubs(rng):
    """A few dense clouds of keys near the queries, and keys far from all: the nearest by cosine are all hubs."""
    centre = 4 * rng.standard_normal(16)
    keys = np.concatenate([centre + 0.5 * rng.standard_normal((450, 16)), rng.standard_normal((450, 16))])
    return centre + 2 * rng.standard_normal((700, 16)), keys[rng.permutation(900)]


def few(rng):
    return rng.standard_normal((1, 6)), rng.standard_normal((5, 6))


def one_key(rng):
    return rng.standard_normal((40, 6)), rng.standard_normal((1, 6))


CASES = [random, copies, zeros, constant, whole_numbers, hubs, few, one_key]


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def case(request):
    return request.param(np.random.default_rng(7))


@pytest.mark.parametrize("k", [1, 10, 60])
def test_csls_of_whole_vocabularies_is_the_formula_with_ties_by_the_lower_number(case, k):
    queries, keys = case
    indices, scores, _, r_T, _ = brute_force(queries, keys, k, 10)
    found = neighbours(queries, keys, k, retrieval="csls")
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.scores, scores)
    np.testing.assert_array_equal(found.nearness, r_T)


@pytest.mark.parametrize("max_memory", [None, "40 KB"])
def test_mutual_neighbours_and_both_means_are_the_formula(case, max_memory):
    queries, keys = case
    indices, scores, back, r_T, r_S = brute_force(queries, keys, 1, 10)
    found = mutual_neighbours(queries, keys, retrieval="csls", max_memory=max_memory)
    np.testing.assert_array_equal(found.nearest, indices[:, 0])
    np.testing.assert_array_equal(found.nearest_back, back)
    np.testing.assert_array_equal(found.hubness.source, r_T)
    np.testing.assert_array_equal(found.hubness.target, r_S)
    rows = np.flatnonzero(back[indices[:, 0]] == np.arange(len(queries)))
    rows = [row for row in rows if np.any(queries[row]) and np.any(keys[indices[row, 0]])]
    np.testing.assert_array_equal(found.pairs, np.array([[row, indices[row, 0]] for row in rows]).reshape(-1, 2))
    np.testing.assert_array_equal(found.scores, scores[rows, 0])
    both = hubness(queries, keys, max_memory=max_memory)
    np.testing.assert_array_equal(both.source, r_T)
    np.testing.assert_array_equal(both.target, r_S)
    np.testing.assert_array_equal(mean_similarity(keys, queries), r_S)


def test_hubs_that_fail_the_certificate_are_looked_at_again(monkeypatch):
    queries, keys = hubs(np.random.default_rng(7))
    compared = []
    look = sweep_module.find_best
    monkeypatch.setattr(
        sweep_module, "find_best", lambda scan, *rest: compared.append(len(scan.queries)) or look(scan, *rest)
    )
    found = neighbours(queries, keys, 10, retrieval="csls")
    assert sum(compared) > len(queries) / 2
    indices, scores, *_ = brute_force(queries, keys, 10, 10)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.scores, scores)


@pytest.mark.parametrize("retrieval", ["cosine", "csls"])
def test_one_two_and_three_threads_give_the_same_bytes(retrieval):
    rng = np.random.default_rng(8)
    queries, keys = rng.standard_normal((3500, 12)), rng.standard_normal((5200, 12))
    keys[2600:2900], queries[7], keys[9] = keys[:300], 0, 0
    results = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found = neighbours(queries, keys, 10, retrieval=retrieval)
            both = mutual_neighbours(queries, keys, retrieval=retrieval)
            ranks = ranks_of_gold(queries, keys, np.arange(500), np.arange(500), retrieval=retrieval)
        arrays = [found.indices, found.scores, both.pairs, both.scores, both.nearest_back, ranks]
        results.append(b"".join(array.tobytes() for array in arrays))
    assert results[0] == results[1] == results[2]


def test_both_directions_stay_within_the_memory_given():
    rng = np.random.default_rng(9)
    A, B = rng.standard_normal((6000, 16), dtype=np.float32), rng.standard_normal((5000, 16), dtype=np.float32)
    mutual_neighbours(A[:50], B[:50], retrieval="csls")
    _, peak = with_peak_memory(lambda: mutual_neighbours(A, B, retrieval="csls", max_memory="16 MB"))
    assert peak < 16e6


def test_without_a_folder_to_cache_in_the_loops_are_compiled_all_the_same(tmp_path):
    """A package folder that cannot be written, and a home that does not exist."""
    package = tmp_path / "fipp"
    shutil.copytree(Path(fipp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "demo"))
    # A file in the place of the folder that numba would make cannot be written into, not even by root.
    (package / "retrieve" / "__pycache__").write_text("")
    nowhere = tmp_path / "nowhere"
    nowhere.write_text("")
    code = (
        "import numpy as np; from fipp.retrieve import neighbours, _best;"
        "print(neighbours(np.eye(3), np.eye(3)[::-1], 1).indices.ravel(), _best.__file__)"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(nowhere),
        "XDG_CACHE_HOME": str(nowhere),
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[2 1 0]") and str(tmp_path) in done.stdout
