"""What all tests share."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from browser import chromium

# The same examples on every run and every machine; nothing is timed, because cores are shared.
settings.register_profile(
    "fipp", deadline=None, derandomize=True, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fipp")

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Caches of parsed vectors go to a temporary folder, not to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIPP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """Tables are as wide as they are without a terminal, whatever runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def full_disk(monkeypatch):
    """Let everything that `atomic_path` writes go to a device that is always full."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")

    def create(target):
        temporary = target.with_name(f".{target.name}.0123456789ab.part")
        temporary.symlink_to("/dev/full")
        return temporary, os.open("/dev/full", os.O_RDWR)

    monkeypatch.setattr("fipp.io._atomic._create_beside", create)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real vectors and dictionaries, which is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real vectors and dictionaries are not here: there is no {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="module")
def browser():
    """A real browser, for tests of pages."""
    with chromium() as running:
        yield running
