"""A grid of settings: what it holds, how it is fitted, how it is shown."""

from fipp import FIPP, Procrustes
from fipp.experiments._grid import batches, check_grid, configure, format_settings


def test_the_default_grid_is_the_aligners_own():
    assert check_grid(Procrustes(), None, None) == {"preprocess": ["unit", "isotropic"]}


def test_components_change_the_preprocessing():
    configured = configure(FIPP(), {"components": 2, "lam": 0.5})
    assert repr(configured) == "FIPP(lam=0.5, preprocess=Isotropic(n_components=2))"


def test_settings_that_one_pass_can_fit_share_a_batch():
    grid = {"components": [1, 2], "lam": [0.5, 1.0]}
    assert [batch.places for batch in batches(FIPP(), grid)] == [(0, 1), (2, 3)]


def test_settings_are_shown_in_one_line():
    assert format_settings({"epsilon": 0.05, "lam": 1.0, "weighting": None}) == "epsilon 0.05, lam 1, weighting none"
