"""The heat map of a grid of settings."""

import sys

import numpy as np
import pytest

import fipp
from fipp.experiments import SettingScore, Tuning, combinations
from fipp.report import heat_maps, plot_grid


def make_tuning(grid, scores, error=0.001):
    best = max(scores)
    table = tuple(
        SettingScore(params, score, 0.01, best - score, error)
        for params, score in zip(combinations(grid), scores, strict=True)
    )
    chosen = max(table, key=lambda score: score.mrr)
    return Tuning("FIPP", grid, table, chosen, None, "cosine", 100, 20, None)


def test_the_last_two_settings_that_vary_are_the_axes():
    grid = {"components": [1, 2], "solver": ["linear"], "epsilon": [0.1, None], "lam": [0.5, 1.0, 2.0]}
    panels = heat_maps(make_tuning(grid, list(np.arange(12) / 20)))
    assert [panel.title for panel in panels] == [
        "components removed 1, solver linear",
        "components removed 2, solver linear",
    ]
    assert panels[0].rows == ["0.1", "none"] and panels[0].columns == ["0.5", "1", "2"]
    np.testing.assert_allclose(panels[1].scores, [[0.3, 0.35, 0.4], [0.45, 0.5, 0.55]])
    assert panels[0].best is None and panels[1].best == (1, 2)
    assert panels[1].shades[1, 2] == 1 and panels[0].shades[0, 0] == 0


def test_axes_that_do_not_stand_side_by_side_in_the_grid_are_read_rightly():
    grid = {"epsilon": [0.1, 0.2], "solver": ["linear"], "lam": [0.5, 1.0]}
    (panel,) = heat_maps(make_tuning(grid, [0.1, 0.2, 0.3, 0.4]))
    assert panel.title == "solver linear" and panel.scores.tolist() == [[0.1, 0.2], [0.3, 0.4]]


def test_one_setting_is_one_row():
    (panel,) = heat_maps(make_tuning({"lam": [0.5, 1.0]}, [0.2, 0.1]))
    assert panel.scores.shape == (1, 2) and panel.best == (0, 0) and panel.row_name == ""


def test_differences_within_the_error_do_not_look_large():
    (panel,) = heat_maps(make_tuning({"lam": [0.5, 1.0]}, [0.5, 0.4999], error=0.01))
    assert np.ptp(panel.shades) < 0.01


@pytest.mark.parametrize("grid", [{"lam": [0.5]}, {"lam": [0.5, 1.0]}, {"components": [1, 2, 3, 4], "lam": [1.0, 2.0]}])
def test_the_same_tuning_gives_the_same_bytes(tmp_path, grid):
    count = int(np.prod([len(values) for values in grid.values()]))
    for name in ("a.png", "b.png"):
        plot_grid(make_tuning(grid, list(np.linspace(0.2, 0.3, count))), tmp_path / name)
    first = (tmp_path / "a.png").read_bytes()
    assert first == (tmp_path / "b.png").read_bytes() and first.startswith(b"\x89PNG") and len(first) > 5_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(fipp.FippError, match=r"pip install 'fipp\[plot\]'"):
        plot_grid(make_tuning({"lam": [1.0]}, [0.5]), tmp_path / "grid.png")
    assert list(tmp_path.iterdir()) == []
