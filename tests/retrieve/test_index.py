"""Prepared keys: the exact index against the plain call, approximate ones against the exact."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fipp.exceptions import FippError
from fipp.retrieve import build_index, neighbours

WAYS = ["cosine", "dot", "csls", "isf", "dualis"]


@pytest.fixture(scope="module")
def space():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((1200, 16))
    queries = keys[:300] + 0.5 * rng.standard_normal((300, 16))
    keys[1000:1010], keys[50], queries[3] = keys[:10], 0, 0
    return queries, keys


@pytest.mark.parametrize("retrieval", WAYS)
@pytest.mark.parametrize("k", [1, 10, 2000])
def test_prepared_keys_give_the_bits_of_the_plain_call_again_and_again(space, retrieval, k):
    queries, keys = space
    index = build_index(keys, retrieval=retrieval, hub_reference=queries)
    plain = neighbours(queries, keys, k, retrieval=retrieval, hub_reference=queries)
    for _ in range(2):
        found = index.neighbours(queries, k)
        np.testing.assert_array_equal(found.indices, plain.indices)
        np.testing.assert_array_equal(found.scores, plain.scores)
    single = index.neighbours(queries[7:8], k)
    np.testing.assert_array_equal(single.scores, plain.scores[7:8])
    assert index.recall(queries[:50], k) == 1.0
    assert len(index) == 1200


@pytest.mark.parametrize("retrieval", WAYS)
@pytest.mark.parametrize("kind", ["usearch", "faiss"])
def test_an_approximate_index_finds_nearly_all_and_scores_exactly(space, retrieval, kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed: pip install 'fipp[ann]'")
    queries, keys = space
    with threadpool_limits(1):  # several threads make another graph each time
        index = build_index(keys, retrieval=retrieval, index=kind, hub_reference=queries)
    # Measured: 0.993 at least, by several threads too.
    assert index.recall(queries, 10) > 0.95
    found, listed = index.neighbours(queries, 10), neighbours(queries, keys, len(keys), retrieval=retrieval)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    if retrieval != "csls":  # whose scores hold a mean that may have overlooked a key
        exact = np.empty_like(listed.scores)
        np.put_along_axis(exact, listed.indices, listed.scores, axis=1)
        np.testing.assert_array_equal(found.scores, np.take_along_axis(exact, found.indices, axis=1))


@pytest.mark.parametrize(("kind", "package"), [("usearch", "usearch"), ("faiss", "faiss-cpu")])
def test_a_missing_library_is_named_with_what_to_install(monkeypatch, kind, package):
    for module in (kind, f"{kind}.index"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FippError, match=rf"needs the package {package}: pip install 'fipp\[ann\]'"):
        build_index(np.eye(3), index=kind)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": "tree"}, "index 'tree' is not known; choose from exact, usearch, faiss"),
        ({"retrieval": "csls"}, "csls measures hubs: give hub_reference"),
        ({"keys": np.empty((0, 2))}, "keys has no rows"),
    ],
)
def test_mistakes_are_explained(options, message):
    with pytest.raises(FippError, match=message):
        build_index(**{"keys": np.eye(2), **options})
