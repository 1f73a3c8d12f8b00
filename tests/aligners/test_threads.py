"""The same input gives the same file, whatever the number of threads."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from cheap_methods import CHEAP, EXTRAS
from fipp import Alignment, FippWarning, Vectors

# Large enough that BLAS shares its work among threads, decompositions and lengths of maps included.
N_WORDS, N_PAIRS, DIMENSIONS = 700, 400, 300
# What tries several of the other methods is not as wide, to be quicker.
FEWER_DIMENSIONS = {"auto": 110}


@pytest.fixture(scope="module")
def spaces():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(N_WORDS, DIMENSIONS)) * np.linspace(2, 0.3, DIMENSIONS)
    turned = X @ np.linalg.qr(rng.standard_normal((DIMENSIONS, DIMENSIONS)))[0]
    # So much noise that methods with steps take some.
    return X.astype(np.float32), (turned + 3 * rng.standard_normal(X.shape)).astype(np.float32)


def fitted_and_saved(name, X, Y, path):
    words, pairs = [str(i) for i in range(N_WORDS)], np.stack([np.arange(N_PAIRS)] * 2, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        aligner = clone(CHEAP[name]).fit(X, Y, pairs)
    Alignment(aligner, Vectors(words, X), Vectors(words, Y)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", CHEAP)
def test_a_method_gives_the_same_file_for_any_number_of_threads(name, spaces, tmp_path):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{name} needs {EXTRAS[name]}")
    sides = [side[:, : FEWER_DIMENSIONS.get(name, DIMENSIONS)] for side in spaces]
    files = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            files.append(fitted_and_saved(name, *sides, tmp_path / "model.fipp"))
    assert files[1] == files[0] and files[2] == files[0]
