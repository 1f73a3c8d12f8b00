"""The way in for arrays: what passes, and what the error says."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from fipp._validation import as_matrix, as_pairs
from fipp.exceptions import FippError


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"])
def test_floats_come_back_as_they_are(dtype):
    X = np.arange(6, dtype=dtype).reshape(3, 2)
    assert as_matrix(X, "X") is X


@pytest.mark.parametrize("X", [[[1, 2], [3, 4]], np.ones((2, 2), bool), np.array([[1, 2.5]], dtype=object)])
def test_other_numbers_become_float32(X):
    found = as_matrix(X, "X")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(X, dtype=np.float32))


def test_finite_numbers_whose_sum_is_infinite_are_fine():
    X = np.full((3, 2), 1.7e308)
    assert as_matrix(X, "X") is X


@given(st.integers(0, 9000), st.integers(0, 2), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_the_first_bad_row_is_named(row, column, value):
    X = np.zeros((9001, 3), dtype=np.float32)
    X[row, column] = X[9000, 2] = value
    expected = f"row {row} of vectors holds NaN or infinity \\(column {column if row < 9000 else '[0-2]'}\\)"
    with pytest.raises(FippError, match=expected):
        as_matrix(X, "vectors")


def test_infinities_of_both_signs_do_not_cancel():
    with pytest.raises(FippError, match="row 0 of X"):
        as_matrix(np.array([[np.inf, -np.inf]]), "X")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"X must be a matrix .*1-dimensional.*X\.reshape\(1, -1\)"),
        (3.0, "X must be a matrix .*0-dimensional"),
        (np.zeros((1, 1, 1)), "3-dimensional"),
        (np.zeros((0, 3)), "X has no rows"),
        (np.zeros((3, 0)), "X has no columns"),
        ([["a", "b"]], "X must hold numbers only"),
        ([[{}, 1]], "X must hold numbers only"),
        ([[None, 1]], "row 0 of X holds NaN"),
        ([[1, 2], [3]], "X must be a matrix whose rows all have the same length"),
        ([[1j, 2]], "Complex data"),
        (scipy.sparse.eye_array(3, format="csr"), r"sparse.*X\.toarray\(\)"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, message):
    with pytest.raises(FippError, match=message):
        as_matrix(X, "X")


def test_the_dimension_is_checked_when_it_is_known():
    assert as_matrix(np.ones((2, 3)), "X", n_columns=3).shape == (2, 3)
    with pytest.raises(FippError, match="Y has 3 features, but the model is expecting 4 features as input"):
        as_matrix(np.ones((2, 3)), "Y", n_columns=4)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=30))
def test_pairs_come_back_once_each_in_their_order(pairs):
    found = as_pairs(pairs, 7, 5)
    assert found.dtype == np.int64
    assert [tuple(pair) for pair in found.tolist()] == list(dict.fromkeys(pairs))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i4"])
def test_whole_numbers_of_any_type_are_pairs(dtype):
    found = as_pairs(np.array([[0, 1], [2, 0]], dtype=dtype), 3, 3)
    assert found.dtype == np.int64
    assert found.tolist() == [[0, 1], [2, 0]]


def test_without_pairs_row_i_belongs_to_row_i():
    assert as_pairs(None, 3, 3).tolist() == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(FippError, match="X has 3,000 rows and Y 4"):
        as_pairs(None, 3000, 4)


def test_errors_are_value_errors_too():
    with pytest.raises(ValueError, match="no pairs"):
        as_pairs([], 3, 3)
