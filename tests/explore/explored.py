"""A small session of the explorer, and a client that asks its API as a browser would."""

import time
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import fipp
from fipp.exceptions import FippWarning

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from starlette.testclient import TestClient

from fipp.explore import Session, make_app

ADDRESS = "http://127.0.0.1:8000"
HOSTILE = "<img src=x onerror=alert(1)>"


def small_space():
    """Return two vocabularies in which row i translates row i, and a seed of 120 pairs, the last of which is wrong."""
    rng = np.random.default_rng(0)
    target = rng.standard_normal((300, 20)).astype(np.float32)
    rotation = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    source = target @ rotation + 0.05 * rng.standard_normal((300, 20))
    names = [f"word{i}" for i in range(300)], [f"mot{i}" for i in range(300)]
    names[0][4], names[1][4], names[1][5] = "Straße", "مرحبا", "こんにちは"
    names[1][6] = HOSTILE
    seed = [(names[0][i], names[1][i]) for i in range(119)] + [(names[0][200], names[1][250])]
    test = [(names[0][i], names[1][i]) for i in range(130, 180)]
    vectors = fipp.Vectors(names[0], source), fipp.Vectors(names[1], target)
    return *vectors, fipp.Lexicon(seed), fipp.Lexicon(test)


def new_session(with_test=True, second=False, folder=None, **options):
    source, target, seed, test = small_space()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        alignment = fipp.align(source, target, seed, "fipp")
        other = fipp.align(source, target, seed, "procrustes") if second else None
    test = test if with_test else None
    return Session(alignment, other, test=test, names=("en", "fr"), folder=folder, **options)


@contextmanager
def serving(session, **options):
    with TestClient(make_app(session, **options), base_url=ADDRESS) as client:
        yield client


def wait_for(condition):
    """Wait until a condition holds; the time limit only ends a test that would never end."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def prepared(client):
    wait_for(lambda: client.get("/api/status").json()["csls_progress"] == 1)


def refitted(client, method="fipp"):
    """Refit, wait for the end, and return the status."""
    assert client.post("/api/refit", json={"method": method}).status_code == 202
    wait_for(lambda: client.get("/api/refit").json()["state"] != "running")
    return client.get("/api/status").json()
