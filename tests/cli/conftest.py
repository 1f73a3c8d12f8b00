"""Fixtures that run commands on small spaces."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_space import Space, command_line, environment, make_space
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner, Result

from fipp.cli import app

# All that is run here runs on one thread: several that wait for each other on busy cores take many times as long.


class _Running(subprocess.Popen[str]):
    """A process that a failed test does not wait for."""

    def __exit__(self, kind: object, *details: object) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *details)  # type: ignore[arg-type]


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


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts the command and does not wait for it."""

    def invoke(*arguments: object) -> subprocess.Popen[str]:
        return _Running(
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
