"""What every command that writes does if it cannot, or if it is stopped: the old file stays, and nothing else does."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_space import Space, command_line, environment, make_space
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner
from writing_commands import commands, contents, prepare

from fipp.cli import _demo, app

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and devices are those of POSIX")

NAMES = list(commands(Space(*[Path("x")] * 6)))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a space with all that the commands read, and a model."""
    space = make_space(tmp_path_factory.mktemp("faults"))
    prepare(space)
    (space.folder / "out").mkdir()
    with threadpool_limits(1):
        align = ["align", space.source, space.target, "--dict", space.seed, "--method", "fipp", "-o", space.model]
        assert CliRunner().invoke(app, list(map(str, align))).exit_code == 0
    return space


@pytest.fixture
def space(prepared):
    """Return the same space with an empty folder for output."""
    shutil.rmtree(prepared.folder / "out")
    (prepared.folder / "out").mkdir()
    return prepared


def write_old(outputs):
    """Write old files: results that can be read, and others that only must stay."""
    for path in outputs:
        path.write_bytes(b'{"key": "old"}\n' if path.suffix == ".jsonl" else b"old")


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_exit_code_2_and_leaves_the_old_files(run, space, full_disk, name):
    command = commands(space)[name]
    write_old(command.outputs)
    result = run(*command.arguments)
    assert result.exit_code == 2, result.stderr
    assert "the disk is full" in result.stderr and "Traceback" not in result.stderr
    assert any(f"cannot write {path}" in result.stderr for path in command.outputs)
    left = contents(space.folder / "out")
    assert set(left) == {path.name for path in command.outputs}
    assert all(content.startswith((b"old", b'{"key": "old"}\n')) for content in left.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_where_a_folder_is_needed_is_exit_code_2_and_nothing_is_written(run, space, name):
    # Permissions do not stop root, so that a folder without them could not be tested everywhere.
    shutil.rmtree(space.folder / "out")
    (space.folder / "out").write_text("in the way")
    try:
        result = run(*commands(space)[name].arguments)
        assert result.exit_code == 2, result.stderr
        assert "Traceback" not in result.stderr and result.stderr.count("error:") == 1
        assert (space.folder / "out").read_text() == "in the way"
    finally:
        (space.folder / "out").unlink()
        (space.folder / "out").mkdir()


@pytest.mark.parametrize("name", NAMES)
def test_what_killed_runs_left_is_gone_after_the_next_run(run, space, name):
    command = commands(space)[name]
    for path in command.outputs:
        path.with_name(f".{path.name}.0123456789ab.part").write_bytes(b"half")
        if path.suffix == ".jsonl":
            path.write_bytes(b'{"key": "old"}\n{"key": "ha')
            path.with_name(f".{path.name}.0123456789ab.part").unlink()  # results are appended
    result = run(*command.arguments)
    assert result.exit_code == 0, result.stderr
    assert set(contents(space.folder / "out")) == {path.name for path in command.outputs}


def test_the_demo_on_a_full_disk_writes_nothing(run, tmp_path, monkeypatch, full_disk):
    monkeypatch.setattr(_demo, "_RIVALS", [rival for rival in _demo._RIVALS if rival[0] == "FIPP"])
    result = run("demo", "-o", tmp_path)
    assert result.exit_code == 2 and f"cannot write {tmp_path / 'en-fr.fipp'}: the disk is full" in result.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_removes_what_is_half_written_and_tells_its_exit_code(space, number, code):
    output = space.folder / "out" / "v.vec"
    output.write_text("old")
    # The signal comes when the first bytes have been written.
    script = (
        "import os, signal, sys\n"
        "from fipp.cli import main\n"
        "from fipp.io.formats import _text_writer\n"
        "rows = _text_writer.float32_rows\n"
        "def stopped(matrix):\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    yield from rows(matrix)\n"
        "_text_writer.float32_rows = stopped\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, "convert", str(space.source), "-o", str(output)]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        ),
    )
    assert result.returncode == code, result.stderr
    assert result.stderr.splitlines()[-1].endswith("nothing was written") and "Traceback" not in result.stderr
    assert contents(space.folder / "out") == {"v.vec": b"old"}


def test_a_closed_pipe_is_no_traceback(space):
    table = [*command_line("methods"), "--json"]
    process = subprocess.Popen(table, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1 and "Traceback" not in errors


@pytest.mark.parametrize("name", ["lexicon identical", "convert to v.vec"])
def test_without_a_locale_words_that_are_not_ascii_are_written_as_they_are(space, name):
    plain = {**environment(), "LC_ALL": "C", "LANG": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    plain.pop("PYTHONIOENCODING")
    command = commands(space)[name]
    arguments = [space.folder / "a.vec" if argument == space.source else argument for argument in command.arguments]
    result = subprocess.run(command_line(*arguments), capture_output=True, env=plain)
    assert result.returncode == 0, result.stderr
    assert "wörter7" in command.outputs[0].read_text(encoding="utf-8")
