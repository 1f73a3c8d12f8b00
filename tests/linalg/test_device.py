"""Products on a device: torch on the processor stands for all others, which are not here."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fipp
from fipp.exceptions import FippError
from fipp.linalg import product, unit_rows, use_device
from fipp.retrieve import neighbours

torch = pytest.importorskip("torch")

TOLERANCE = 1e-4  # as the docstring of `use_device` says, of cosines


def vectors(n, dimensions, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dimensions)).astype(np.float32)


@pytest.fixture
def spied(monkeypatch):
    """Count the products that torch makes."""
    calls, multiply = [], torch.matmul
    monkeypatch.setattr(torch, "matmul", lambda *args: calls.append(None) or multiply(*args))
    return calls


def test_a_product_on_the_device_is_that_of_float64_within_rounding(spied):
    A, B = vectors(70, 30), vectors(30, 50, 1)
    read_only = A.copy()
    read_only.flags.writeable = False
    out = np.empty((70, 50), np.float32)
    with use_device("cpu"):
        assert np.allclose(product(A, B), A.astype(float) @ B, atol=1e-5)
        assert np.allclose(product(A[::-1].T, A), A[::-1].T.astype(float) @ A, atol=1e-5)
        assert np.allclose(product(read_only, B), A.astype(float) @ B, atol=1e-5)
        assert product(A, B, out) is out
    assert np.allclose(out, A.astype(float) @ B, atol=1e-5)
    assert len(spied) == 4


def test_float64_stays_with_numpy(spied):
    wide = vectors(20, 20).astype(np.float64)
    with use_device("cpu"):
        assert np.array_equal(product(wide, wide), wide @ wide)
    assert not spied


def cosines(aligner, X, Y):
    aligner.fit(X, Y)
    return unit_rows(aligner.transform(X)) @ unit_rows(aligner.transform_target(Y)).T


@pytest.mark.parametrize("aligner", [fipp.FIPP(), fipp.FIPP(solver="eigen"), fipp.Procrustes(), fipp.Spectral()])
def test_maps_are_those_of_numpy_within_the_documented_tolerance(aligner, spied):
    X = vectors(700, 20)
    Y = X @ vectors(20, 24, 1) + 0.3 * vectors(700, 24, 2)
    here = cosines(aligner, X, Y)
    assert not spied
    with use_device("cpu"):
        there = cosines(aligner, X, Y)
    assert spied
    assert np.abs(here - there).max() < TOLERANCE


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_searches_find_exactly_the_same(retrieval, spied):
    X, Y = vectors(400, 16), np.concatenate([vectors(300, 16, 1)] * 2)  # with copies, which tie
    here = neighbours(X, Y, 5, retrieval=retrieval)
    with use_device("cpu"):
        there = neighbours(X, Y, 5, retrieval=retrieval)
    assert spied
    assert np.array_equal(here.indices, there.indices)
    assert np.array_equal(here.scores, there.scores)


def test_settings_of_torch_and_the_device_before_are_restored(spied):
    threads, precision, A = torch.get_num_threads(), torch.get_float32_matmul_precision(), vectors(30, 30)
    with use_device("cpu"):
        assert torch.get_num_threads() == 1
        with use_device(None):
            product(A, A)
            assert not spied
        product(A, A)
    product(A, A)
    assert len(spied) == 1
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (threads, precision)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(FippError, match=f"torch cannot use the device '{device}'"), use_device(device):
        pass


WORK = """
import sys, numpy as np
from fipp import FIPP
from fipp.retrieve import neighbours
X = np.random.default_rng(0).standard_normal((60, 5))
neighbours(FIPP().fit(X, X).transform(X), X, 2)
print("torch" in sys.modules)
"""


def run(device):
    environment = {**os.environ, "FIPP_DEVICE": device}
    return subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True, text=True)


def test_only_a_device_imports_torch():
    assert run("").stdout.split() == ["False"]


def test_the_environment_names_a_device():
    assert run("cpu").stdout.split() == ["True"]
    assert "torch cannot use the device 'nonsense'" in run("nonsense").stderr
