"""What a person sees when something goes wrong."""

import os
import signal
import sys
import time
import warnings

import pytest
import typer

from fipp.cli import _console
from fipp.cli._app import readable_failures
from fipp.exceptions import FippError, FippWarning


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FippError("two\nlines"), "error: two lines\n"),
        (FileNotFoundError(2, "No such file or directory", "x.vec"), "error: x.vec: No such file or directory\n"),
        (PermissionError(13, "Permission denied", "x.vec"), "error: x.vec: Permission denied\n"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "error: this is not UTF-8 text: "),
        (MemoryError(), "error: not enough memory: "),
    ],
)
def test_mistakes_become_one_line_and_exit_code_2(capsys, error, message):
    with pytest.raises(typer.Exit) as end, readable_failures():
        raise error
    told = capsys.readouterr()
    assert end.value.exit_code == 2
    assert told.err.startswith(message) and told.err.count("\n") == 1 and told.out == ""


def test_defects_of_fipp_keep_their_traceback():
    with pytest.raises(ZeroDivisionError), readable_failures():
        raise ZeroDivisionError


def test_a_warning_is_one_line_without_source_code(capsys):
    with readable_failures():
        warnings.warn("look\nhere", FippWarning, stacklevel=1)
        warnings.warn("look\nhere", FippWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: look here\n" * 2


def test_an_interrupt_tells_what_was_written(capsys):
    with pytest.raises(typer.Exit) as end, readable_failures():
        _console.written.append("model.fipp")
        raise KeyboardInterrupt
    assert end.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted; model.fipp was written\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_ctrl_c_during_a_long_align_writes_nothing(start, large_space):
    space = large_space
    before = set(os.listdir(space.folder))
    slowly = ("--method", "fipp", "--set", "solver=sgd")
    process = start("align", space.source, space.target, "--dict", space.seed, "-o", space.model, *slowly)
    for line in process.stderr:
        if "pairs found" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "interrupted; nothing was written\n" and output == ""
    assert set(os.listdir(space.folder)) == before
