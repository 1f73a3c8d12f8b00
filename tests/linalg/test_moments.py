"""Unit length, mean and scatter, memory sizes and ordered threads."""

import threading
import time
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from fipp.exceptions import FippError
from fipp.linalg import (
    mean_and_scatter,
    n_threads,
    ordered_map,
    parse_memory,
    row_blocks,
    rows_per_block,
    single_threaded_blas,
    unit_rows,
)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.floats(-1e3, 1e3, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-3),
    )
)
def test_rows_get_length_one_and_keep_their_direction(X):
    unit = unit_rows(X)
    assert unit.dtype == np.float32
    for row, result in zip(X, unit, strict=True):
        length = sum(x * x for x in row) ** 0.5
        np.testing.assert_allclose(result, row / length if length else row, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e-18, 1.0, 1e18, 1e37])
def test_very_large_and_very_small_rows_get_length_one_too(dtype, scale):
    X = np.array([[3.0, 4.0], [-3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=dtype)
    X[:2] *= dtype(scale)
    expected = [[0.6, 0.8], [-0.6, 0.8], [0, 0], [1, 0]]
    np.testing.assert_allclose(unit_rows(X), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_rows_outside_the_range_of_float32_get_length_one_too(scale):
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]) * scale), [[0.6, 0.8], [0, 0]], atol=2e-3)


def test_half_precision_at_its_limits_gets_length_one():
    X = np.array([[65504, 65504], [6e-8, 0]], dtype=np.float16)
    np.testing.assert_allclose(unit_rows(X), [[0.5**0.5, 0.5**0.5], [1, 0]], atol=1e-6)


def test_the_input_of_unit_rows_is_left_alone():
    X = np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)
    unit_rows(X)
    np.testing.assert_array_equal(X, [[3, 4], [0, 0]])


@pytest.mark.parametrize("n_rows", [1, 5, 4096, 9000])
def test_mean_and_scatter_equal_numpys(rng, n_rows):
    X = (rng.standard_normal((n_rows, 4)) + np.array([3, 0, -1, 0.5])).astype(np.float32)
    mean, scatter = mean_and_scatter(X, np.float32)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scatter, np.cov(wide.T, bias=True) if n_rows > 1 else np.zeros((4, 4)), atol=1e-4)


def test_rows_of_zeros_do_not_count_in_the_mean(rng):
    X = rng.standard_normal((40, 3)).astype(np.float32)
    with_zeros = np.insert(X, [0, 7, 40], 0, axis=0)
    for plain, padded in zip(mean_and_scatter(X, unit_rows), mean_and_scatter(with_zeros, unit_rows), strict=True):
        np.testing.assert_allclose(padded, plain, atol=1e-7)


def test_nothing_but_zeros_has_mean_zero():
    mean, scatter = mean_and_scatter(np.zeros((3, 2)), np.float32)
    assert not mean.any()
    assert not scatter.any()


def test_the_scatter_is_left_out_when_it_is_not_wanted(rng):
    X = rng.standard_normal((9, 3)).astype(np.float32)
    mean, scatter = mean_and_scatter(X, np.float32, scatter=False)
    np.testing.assert_allclose(mean, X.astype(np.float64).mean(axis=0), rtol=1e-6, atol=1e-7)
    assert not scatter.any()


def test_mean_and_scatter_are_the_same_bits_whatever_the_number_of_threads(rng):
    X = rng.standard_normal((20_000, 30)).astype(np.float32)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(mean_and_scatter(X, unit_rows))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@given(st.integers(0, 50), st.integers(1, 60))
def test_row_blocks_cover_every_row_once(n_rows, size):
    blocks = [list(range(n_rows))[block] for block in row_blocks(n_rows, size)]
    assert list(chain(*blocks)) == list(range(n_rows))
    assert all(1 <= len(block) <= size for block in blocks)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (None, 2**30),
        (1, 1),
        (2.5e9, 2_500_000_000),
        ("1000", 1000),
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        ("2G", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("3KiB", 3072),
        ("1 TB", 10**12),
        (" 500 MB ", 500 * 10**6),
    ],
)
def test_memory_is_read_as_people_write_it(size, expected):
    assert parse_memory(size) == expected


@pytest.mark.parametrize("size", ["", "much", "2 XB", "-2GB", "1e9", "2GB!", "GB", 0, -1, "0", "0 GB", float("nan")])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(FippError, match="max_memory"):
        parse_memory(size)


def test_there_is_always_room_for_one_row():
    assert rows_per_block(10**12, "1 MB") == 1
    assert rows_per_block(0, "1 MB", at_most=7) == 7
    assert rows_per_block(100, 1050) == 10


@pytest.mark.parametrize("threads", [1, 2])
def test_results_come_in_order_although_later_ones_are_ready_first(threads):
    def work(i):
        time.sleep(0.01 if i % 2 == 0 else 0)
        return i * i

    with threadpool_limits(threads):
        assert list(ordered_map(work, range(20))) == [i * i for i in range(20)]


def test_work_is_done_by_several_threads_when_blas_may():
    with threadpool_limits(2):
        if n_threads() < 2:
            pytest.skip("BLAS has one thread here")
        together = threading.Barrier(2, timeout=60)
        # Nobody gets past the barrier alone.
        assert sorted(ordered_map(lambda _: together.wait(), range(2))) == [0, 1]


def test_each_thread_runs_blas_on_its_own():
    with threadpool_limits(2):
        assert set(ordered_map(lambda _: n_threads(), range(4))) == {1}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_the_work_reaches_the_caller_and_stops_the_rest(threads):
    done = []

    def work(i):
        if i == 3:
            raise KeyError("three")
        done.append(i)
        return i

    with threadpool_limits(threads):
        results = ordered_map(work, range(1000))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(KeyError, match="three"):
            next(results)
    assert len(done) < 100


@pytest.mark.parametrize("how", ["to the end", "half way", "with an error"])
def test_the_limit_on_blas_is_lifted_afterwards(how):
    with threadpool_limits(2):
        before = n_threads()
        results = ordered_map(lambda i: 1 // (i - 5), range(4 if how == "to the end" else 9))
        if how == "to the end":
            list(results)
        elif how == "half way":
            next(results)
            results.close()
        else:
            with pytest.raises(ZeroDivisionError):
                list(results)
        assert n_threads() == before


def test_the_limit_on_blas_is_lifted_after_the_last_of_two_maps_that_overlap():
    with threadpool_limits(2):
        before = n_threads()
        first, second = ordered_map(str, range(9)), ordered_map(str, range(9))
        next(first), next(second)
        list(first)
        assert single_threaded_blas.active
        list(second)
        assert not single_threaded_blas.active
        assert n_threads() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_workers_do_not_warn_of_the_invalid_flag_that_blas_kernels_may_raise(threads):
    infinite = np.array([np.inf], dtype=np.float32)
    with threadpool_limits(threads), np.errstate(invalid="raise"):
        for difference in ordered_map(lambda _: infinite - infinite, range(9)):
            assert np.isnan(difference).all()
            # The state of the caller is its own.
            assert np.geterr()["invalid"] == "raise"


def test_no_work_is_no_results():
    assert list(ordered_map(str, [])) == []
