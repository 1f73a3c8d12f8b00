"""What tests of the downstream tasks share; each module has a ``sample`` of its own."""

import pytest

import fipp


@pytest.fixture(scope="module")
def aligned(sample):
    languages, _, _ = sample
    return fipp.align(languages.source, languages.target, languages.seed, "fipp")


@pytest.fixture
def torch():
    """PyTorch with one thread."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)
