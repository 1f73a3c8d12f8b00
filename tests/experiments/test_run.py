"""Measurements run in this process or in others; what fails is recorded, what is finished is kept."""

import json
import os
import subprocess
import sys
import time

import pytest

from fipp import FippError
from fipp.exceptions import warn
from fipp.experiments import attempt, read_results, result_key, run_cells, run_in_subprocess


def test_an_attempt_records_warnings_once_and_errors_in_one_line():
    def measure(fails):
        for _ in range(2):
            warn("few pairs")
        if fails:
            raise FippError("too\n  few")
        return {"score": 1}

    assert attempt(measure, False) == {"score": 1, "warnings": ["few pairs"]}
    assert attempt(measure, True) == {"error": "too few", "warnings": ["few pairs"]}


def test_a_subprocess_that_ends_or_takes_too_long_is_an_error_and_prints_nothing_to_stdout(capfd):
    def speak():
        sys.stdout.write("noise")
        sys.stdout.flush()
        return {"process": os.getpid()}

    assert run_in_subprocess(speak)["process"] != os.getpid()
    assert capfd.readouterr().out == ""
    assert "EXIT(3)" in run_in_subprocess(os._exit, 3)["error"]
    assert run_in_subprocess(time.sleep, 60, timeout=0.2) == {"error": "it was stopped after 0.2 seconds"}


def test_a_script_without_a_guard_is_not_run_again_in_a_subprocess(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from fipp.experiments import run_in_subprocess\n"
        "print('once')\n"
        "class Mine:\n    value = 7\n"
        "def measure(mine):\n    return {'value': mine.value}\n"
        "print(run_in_subprocess(measure, Mine()))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["once", "{'value': 7}"]


def process_of(cell):
    return {"cell": cell, "process": os.getpid()}


def test_cells_run_in_several_processes_group_by_group_in_order(tmp_path):
    cells = {f"{group}{number}": (group, number) for group in "ab" for number in range(4)}
    records = run_cells(
        cells, process_of, n_jobs=2, group=lambda cell: cell[0], results_path=tmp_path / "results.jsonl"
    )
    assert records.keys() == cells.keys() and os.getpid() not in {record["process"] for record in records.values()}
    kept = [json.loads(line)["key"] for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [key for key in kept if key[0] == "a"] == ["a0", "a1", "a2", "a3"]


def test_what_is_kept_is_not_run_again_but_reported_and_failures_are_tried_again(tmp_path):
    path, seen = tmp_path / "results.jsonl", []
    run_cells({"a": 1, "b": 0}, lambda n: attempt(lambda: {"inverse": 1 / n}), results_path=path)
    assert list(read_results(path)) == ["a"]
    records = run_cells({"a": 1, "b": 0}, lambda n: {"tried": n}, results_path=path, on_result=seen.append)
    assert records == {"a": {"key": "a", "inverse": 1.0}, "b": {"key": "b", "tried": 0}}
    assert seen == list(records.values())


def test_runs_may_add_to_the_same_results_and_mend_what_a_killed_one_left(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "first"}\n{"key": "half')
    program = (
        "import sys\n"
        "from fipp.experiments import run_cells\n"
        "cells = {f'{sys.argv[2]}{number}': number for number in range(100)}\n"
        "run_cells(cells, lambda n: {'long': 'x' * 50_000}, results_path=sys.argv[1])\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in "ab"]
    assert [run.wait() for run in runs] == [0, 0]
    assert read_results(path).keys() == {"first"} | {f"{name}{number}" for name in "ab" for number in range(100)}
    assert len(path.read_bytes().splitlines()) == 201


def test_what_does_not_fit_on_the_disk_leaves_only_whole_results(tmp_path, monkeypatch):
    path, write = tmp_path / "results.jsonl", os.write
    run_cells({"a": 1}, process_of, results_path=path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:5]))
    with pytest.raises(FippError, match="the disk is full"):
        run_cells({"b": 1}, process_of, results_path=path)
    assert path.read_bytes() == before


def test_fewer_jobs_than_one_are_refused():
    with pytest.raises(FippError, match="at least 1, not 0"):
        run_cells({}, process_of, n_jobs=0)


def test_the_key_of_a_result_does_not_depend_on_the_order_of_its_settings():
    assert result_key({"lam": 1.0, "epsilon": 0.1}) == result_key({"epsilon": 0.1, "lam": 1.0})
    assert result_key({"lam": 1.0}) != result_key({"lam": 1.0}, None)
