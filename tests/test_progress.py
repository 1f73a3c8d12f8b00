"""Progress tells what is being done and how long it will take, as far as that is known."""

import io
import json

import pytest
from rich.console import Console

import fipp
from fipp._progress import Steps, stages
from fipp._progress_bar import Pace, ProgressBar


class Told(list):
    """Keeps the shares and the names of stages that are reported."""

    def __call__(self, done, total):
        self.append(done / total)

    stage = list.append


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still until it is set."""
    now = [1000.0]
    monkeypatch.setattr("fipp._progress_bar.time.monotonic", lambda: now[0])
    return now


def shown(bar):
    """Return the line that a terminal shows now."""
    screen = io.StringIO()
    Console(file=screen, force_terminal=False, width=120).print(bar)
    return " ".join(screen.getvalue().split())


def test_time_left_follows_from_the_speed_so_far_and_counts_down_between_reports():
    pace = Pace()
    pace.report(0.0, now=10.0)
    assert pace.left(now=12.0) is None
    pace.report(0.2, now=20.0)  # 10 seconds for a fifth
    assert pace.left(now=20.0) == pytest.approx(40)
    assert pace.left(now=25.0) == pytest.approx(35)
    pace.report(0.4, now=40.0)  # 30 seconds for two fifths
    assert pace.left(now=40.0) == pytest.approx(45)
    assert pace.left(now=200.0) == pytest.approx(-115)


def test_what_was_done_before_does_not_count_as_speed():
    """A download that goes on after an interruption is not fast because half of it is there."""
    pace = Pace()
    pace.report(0.5, now=0.0)
    assert pace.left(now=1.0) is None
    pace.report(0.6, now=10.0)
    assert pace.left(now=10.0) == pytest.approx(40)


def test_another_pass_has_its_own_speed():
    pace = Pace()
    for share, now in [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.1, 11.0)]:
        pace.report(share, now)
    assert pace.left(now=11.0) == pytest.approx(90)


def test_the_line_has_stage_share_and_times(clock):
    bar = ProgressBar("aligning", Console(file=io.StringIO()))
    with bar as progress:
        clock[0] += 3
        assert shown(bar) == "aligning 0:03 elapsed"  # no bar that pretends to know
        progress.stage("self-learning")
        progress(0, 4)
        clock[0] += 60
        progress(1, 4)
        assert shown(bar).startswith("aligning: self-learning ") and "25 % 1:03 elapsed about 3:00 left" in shown(bar)
        clock[0] += 200
        assert "25 % 4:23 elapsed longer than expected" in shown(bar)
        progress(4, 4)
        assert "left" not in shown(bar) and "100 %" in shown(bar)


def test_a_name_from_a_file_cannot_move_the_cursor():
    bar = ProgressBar("reading \x1b[2J[red]x", Console(file=io.StringIO()))
    bar.stage("\x1b]0;title\x07")
    with bar:
        assert "\x1b" not in shown(bar) and "[red]x" in shown(bar)


def test_without_a_terminal_nothing_is_written():
    screen = io.StringIO()
    with ProgressBar("aligning", Console(file=screen, force_terminal=False)) as progress:
        progress(1, 2)
    assert screen.getvalue() == ""


def test_stages_take_their_share_and_tell_their_names_through_parts():
    told = Told()
    for part in stages(Steps(told, 2).part(), {"a": 2, "b": 3}):
        inner = Steps(part, 2)
        inner.stage("inner")
        inner()
    assert told == ["a", 0.0, "inner", 0.1, 0.2, "b", "inner", 0.35, 0.5]


def test_progress_without_stages_is_a_plain_function():
    told = []
    for part in stages(lambda done, total: told.append(done / total), {"a": 1, "b": 1}):
        part(1, 1)
    assert told == [0.0, 0.5, 1.0]


def test_reading_and_writing_tell_how_much_is_done(tmp_path, rng):
    vectors = fipp.Vectors([f"w{i}" for i in range(20_000)], rng.standard_normal((20_000, 60)))
    for name in ("x.vec", "x.vec.gz", "x.npy", "x.safetensors"):
        told = Told()
        vectors.save(tmp_path / name, progress=told)
        assert told == sorted(told) and told[-1] == 1 and len(told) > 1, name
    for name in ("x.vec", "x.vec.gz"):
        told = Told()
        fipp.Vectors.load(tmp_path / name, cache=False, progress=told)
        assert told == sorted(told) and told[-1] == 1 and len(told) > 3, name


def test_a_notebook_shows_the_line():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    client = pytest.importorskip("nbclient", reason="nbclient, which runs notebooks, is not installed")
    for name in ("ipykernel", "ipywidgets"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    code = """import fipp
with fipp.ProgressBar("aligning") as progress:
    progress.stage("ranking")
    progress(0, 4)
    progress(1, 4)
    progress._live.refresh()"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    told = []
    runner = client.NotebookClient(notebook, timeout=120, kernel_name="python3")
    handle = runner.process_message
    runner.process_message = lambda message, *rest: (told.append(message["content"]), handle(message, *rest))[1]
    runner.execute()
    assert "aligning: ranking" in json.dumps(told, default=str) and "25 %" in json.dumps(told, default=str)
