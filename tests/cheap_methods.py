"""Every method of `METHODS` at settings that make a fit on a thousand words take no more than a second or so."""

from typing import Any

from sklearn.base import clone

from fipp.aligners import METHODS, BaseAligner

_SETTINGS: dict[str, dict[str, Any]] = {
    "vecmap-semi": {"window": 3, "growth": 4.0},
    "vecmap-identical": {"window": 3, "growth": 4.0},
    "vecmap-unsupervised": {"window": 3, "growth": 4.0},
    "muse-adversarial": {"n_steps": 30, "n_restarts": 1, "n_iterations": 2, "n_components": 10, "hidden": 16},
    "icp": {"n_starts": 4, "n_candidates": 2, "n_epochs": 1},
    "gwa": {"max_words": 150, "n_iterations": 5},
    "ranking": {"n_steps": 4},
    # From the pairs given, which it takes for guesses.
    "unsupervised": {"n_iterations": 1, "start": "spelling", "margin": 0.0},
}

CHEAP: dict[str, BaseAligner] = {
    name: clone(method).set_params(**_SETTINGS.get(name, {})) for name, method in METHODS.items()
}
"""An unfitted aligner for each name; clone it before fitting."""

EXTRAS = {"gwa": "ot", "muse-adversarial": "torch"}
"""What methods need that is not always installed, as module names."""
