"""Small spaces on disk: a target, and a source that is the same words turned, with some noise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner, Result

from fipp import Lexicon, Vectors
from fipp.cli import app

# All that is run here runs on one thread: several that wait for each other on busy cores take many times as long.


class Space(NamedTuple):
    folder: Path
    source: Path
    target: Path
    seed: Path
    test: Path
    model: Path


def make_space(folder: Path, d1: int = 12, d2: int = 8, max_words: int = 300) -> Space:
    rng = np.random.default_rng(0)
    d = min(d1, d2)
    turn_source, turn_target = (np.linalg.qr(rng.standard_normal((side, side)))[0][:d] for side in (d1, d2))
    target = rng.standard_normal((max_words, d)) @ turn_target
    source = target @ turn_target.T @ turn_source + 0.01 * rng.standard_normal((max_words, d1))
    pairs = [(f"e{i}", f"f{i}") for i in range(max_words)]
    space = Space(folder, *(folder / name for name in ("e.vec", "f.vec", "seed.tsv", "test.tsv", "e-f.fipp")))
    Vectors([word for word, _ in pairs], source).save(space.source)
    Vectors([word for _, word in pairs], target).save(space.target)
    Lexicon(pairs[:-100]).save(space.seed)
    Lexicon(pairs[-100:-40]).save(space.test)
    return space


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return make_space(tmp_path)


@pytest.fixture
def large_space(tmp_path: Path) -> Space:
    """Return a space on which the slowest solver takes minutes."""
    return make_space(tmp_path, d1=60, d2=60, max_words=2500)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Return a function that runs the command in this process; arguments may be paths."""

    def invoke(*arguments: object, stdin: str | None = None) -> Result:
        with threadpool_limits(1):
            return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return invoke


@pytest.fixture
def aligned(space: Space, run: Callable[..., Result]) -> Space:
    """Return a space whose model has been written."""
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", space.model, "--method", "fipp")
    assert result.exit_code == 0, result.stderr
    return space


def command_line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "fipp", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts the command and does not wait for it."""

    def invoke(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command_line(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            # A shell's background jobs ignore SIGINT, and their children with them.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    return invoke


@pytest.fixture
def execute() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the command as a user would, in a process of its own."""

    def invoke(
        *arguments: object, stdin: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(*arguments),
            input=stdin,
            cwd=cwd,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment(),
            timeout=300,
        )

    return invoke
