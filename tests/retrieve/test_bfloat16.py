"""Products in bfloat16, forced: they only propose, so that results are those of float32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fipp.retrieve import _product, gold_ranks, mean_similarity, neighbours

torch = pytest.importorskip("torch", reason="torch is not installed")

WAYS = ["cosine", "dot", "csls", "isf", "dualis"]


class forced:  # noqa: N801  reads as a word
    """Makes the processor one that multiplies in bfloat16."""

    def __enter__(self):
        self._found = _product._processor_has_bfloat16
        _product._processor_has_bfloat16 = lambda: True
        assert _product.product_class() is _product.Bfloat16Product

    def __exit__(self, *error):
        _product._processor_has_bfloat16 = self._found


@pytest.fixture(scope="module")
def space():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((3000, 60)).astype(np.float32)
    queries = keys[:900] + rng.standard_normal((900, 60)).astype(np.float32)
    keys[2000:2100], keys[50], queries[3] = keys[:100], 0, 0
    return queries, keys


@pytest.mark.parametrize("retrieval", WAYS)
@pytest.mark.parametrize("max_memory", [None, "2 MB"])
def test_results_are_those_of_float32(space, retrieval, max_memory):
    queries, keys = space
    rows = np.arange(len(queries))
    plain = neighbours(queries, keys, 10, retrieval=retrieval)
    ranks = gold_ranks(queries, keys, rows, rows, retrieval=retrieval)
    with forced():
        coarse = neighbours(queries, keys, 10, retrieval=retrieval, max_memory=max_memory)
        np.testing.assert_array_equal(coarse.indices, plain.indices)
        np.testing.assert_array_equal(coarse.scores, plain.scores)
        coarse_ranks = gold_ranks(queries, keys, rows, rows, retrieval=retrieval, max_memory=max_memory)
        np.testing.assert_array_equal(coarse_ranks, ranks)


@settings(deadline=None, max_examples=25)
@given(arrays(np.float32, (9, 7), elements=st.floats(-3, 3, width=32)), st.sampled_from(["cosine", "dot", "csls"]))
def test_few_vectors_near_each_other_are_told_apart(keys, retrieval):
    keys = np.concatenate([keys, keys + np.float32(1e-4)])
    plain, means = neighbours(keys[:5], keys, 4, retrieval=retrieval), mean_similarity(keys, keys[:5], 3)
    with forced():
        coarse = neighbours(keys[:5], keys, 4, retrieval=retrieval)
        np.testing.assert_array_equal(mean_similarity(keys, keys[:5], 3), means)
    np.testing.assert_array_equal(coarse.indices, plain.indices)
    np.testing.assert_array_equal(coarse.scores, plain.scores)


def test_the_bound_holds_for_the_product(space):
    queries, keys = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in space)
    bfloat16 = _product.Bfloat16Product(keys)
    product = np.empty((len(queries), len(keys)), dtype=np.float32)
    bfloat16(bfloat16.convert(queries), slice(0, len(keys)), product)
    off = np.abs(product - queries.astype(np.float64) @ keys.T.astype(np.float64))
    assert 0 < off.max() < _product.Bfloat16Product.rounding
