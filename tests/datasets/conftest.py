from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from faulty_server import Server

from fipp.datasets import _fetch


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_fetch, "PAUSE", 0.001)
    monkeypatch.setattr(_fetch, "_BLOCK", 4096)  # small files come in several blocks too
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield running
        running.stopping.set()
        running.shutdown()
        thread.join()
