"""`fipp shift` shows which items changed their neighbourhoods."""

import json

import numpy as np
import pytest

from fipp import Vectors


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))[np.arange(300) % 30] + 0.3 * rng.standard_normal((300, 6))
    Y = X + 0.02 * rng.standard_normal(X.shape)
    Y[4] = X[5] + 0.01
    words = [f"word{row}" for row in range(300)]
    paths = tmp_path / "old.vec", tmp_path / "new.vec"
    for path, matrix in zip(paths, (X, Y), strict=True):
        Vectors(words, matrix).save(path)
    return paths


def test_shift_prints_neighbours_lost_and_gained(files, run):
    done = run("shift", *files, "-n", 3, "-k", 8)
    assert done.exit_code == 0 and "word4" in done.stdout and "lost" in done.stdout and "gained" in done.stdout
    assert "300 items" in done.stdout


def test_shift_prints_json_and_takes_a_null(files, run):
    done = run("shift", *files, "-n", 3, "-k", 8, "--null", files[0], files[0], "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["items"][0]["item"] == "word4" and told["from_null"] and len(told["items"]) == 3


def test_mistakes_end_with_code_2(files, run, tmp_path):
    Vectors(["a", "b"], np.eye(2)).save(tmp_path / "few.vec")
    done = run("shift", files[0], tmp_path / "few.vec")
    assert done.exit_code == 2 and "only 0 items" in done.stderr
    assert run("shift", files[0], tmp_path / "none.vec").exit_code == 2
