"""Spaces, pairs and settings at the edge of what numbers can hold, and what must hold for every one of them.

`make_case` takes every decision through ``choose``, a function that returns one of several options. So a test can let
hypothesis choose, which then finds the simplest case that fails, and `scripts/fuzz_numbers.py` can let a random
generator choose, whose seed then is the whole case.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions

from cheap_methods import CHEAP
from fipp import Alignment, FippError, FippWarning, Procrustes, Ridge, Spectral, Vectors
from fipp.aligners import FIPP, BaseAligner

Option = TypeVar("Option")
Choose = Callable[[Sequence[Any]], Any]

RETRIEVALS = ("cosine", "dot", "csls", "isf", "dualis")
PREPROCESS = (None, "unit", "centre", "iterative", "isotropic", "isotropic-textbook:0", "unit+centre+unit")
INNER = (None, Spectral(preprocess=None), Procrustes(), Procrustes(preprocess=None), FIPP(), Ridge(preprocess="centre"))
# Settings that say how much work is done, not with which numbers.
WORK = {
    "budget",
    "deadline",
    "growth",
    "initial_share",
    "tolerance",
    "window",
    "n_steps",
    "mode",
    "start",
    "max_memory",
}
LARGE = (1e3, 1e12, 1e300)
SMALL = (1e-300, 5e-324)

CONTENTS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "ordinary": lambda rng, n, d: rng.standard_normal((n, d)),
    "constant": lambda rng, n, d: np.full((n, d), 0.5),
    "zeros": lambda rng, n, d: np.zeros((n, d)),
    "one row": lambda rng, n, d: np.eye(n, 1) * rng.standard_normal(d),
    "one column": lambda rng, n, d: rng.standard_normal((n, 1)) * np.eye(1, d),
    "same row": lambda rng, n, d: np.ones((n, 1)) * rng.standard_normal(d),
    "duplicates": lambda rng, n, d: rng.standard_normal((n, d))[rng.integers(0, max(1, n // 3), n)],
    "rank one": lambda rng, n, d: np.outer(rng.standard_normal(n), rng.standard_normal(d)),
    "one-hot": lambda rng, n, d: np.eye(d)[np.arange(n) % d],
    "opposites": lambda rng, n, d: np.where(np.arange(n)[:, None] % 2, 1, -1) * rng.standard_normal(d),
    "few zeros": lambda rng, n, d: rng.standard_normal((n, d)) * (rng.random((n, 1)) < 0.7),
    "small integers": lambda rng, n, d: rng.integers(-2, 3, (n, d)),
    "long row": lambda rng, n, d: rng.standard_normal((n, d)) * np.where(np.arange(n)[:, None] == n // 2, 1e30, 1),
    "short row": lambda rng, n, d: rng.standard_normal((n, d)) * np.where(np.arange(n)[:, None] == n // 2, 1e-30, 1),
    "long column": lambda rng, n, d: rng.standard_normal((n, d)) * np.where(np.arange(d) == 0, 1e30, 1),
    "long": lambda rng, n, d: rng.standard_normal((n, d)) * 1e30,
    "rather long": lambda rng, n, d: rng.standard_normal((n, d)) * 1e7,
    "short": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-30,
    "rather short": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-12,
    "denormal": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-42,
    "all scales": lambda rng, n, d: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-37, 37, (n, d)),
    "far from zero": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-3 + 1e4,
    "largest float32": lambda rng, n, d: np.full((n, d), np.finfo(np.float32).max, dtype=np.float64),
    "beyond float32": lambda rng, n, d: rng.standard_normal((n, d)) * 1e300,
    "below float32": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-300,
}
WRONG_CONTENTS = {
    "NaN": lambda rng, n, d: np.where(np.arange(n * d).reshape(n, d) == n * d // 2, np.nan, 1.0),
    "infinity": lambda rng, n, d: np.where(np.arange(n * d).reshape(n, d) == n * d // 2, -np.inf, 1.0),
    "no rows": lambda rng, n, d: np.zeros((0, d)),
    "no columns": lambda rng, n, d: np.zeros((n, 0)),
}
TYPES = ("f4", "f4", "f4", "f4", "f8", "f8", "f2", ">f8", "longdouble", "i1", "i8", "?", "O")
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "rows": lambda array: array,
    "Fortran": np.asfortranarray,
    "read-only": lambda array: _read_only(array),
    "every other": lambda array: np.repeat(np.repeat(array, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "memory map": lambda array: _memory_map(array),
    "lists": lambda array: array.tolist(),
}
WEIGHTS: dict[str, Callable[[int], np.ndarray]] = {
    "ones": np.ones,
    "one": lambda c: np.eye(1, c)[0],
    "large": lambda c: np.full(c, 1e12),
    "small": lambda c: np.full(c, 1e-12),
    "all scales": lambda c: np.logspace(10, -300, c),
}
WRONG_WEIGHTS: dict[str, Callable[[int], np.ndarray]] = {
    "zeros": np.zeros,
    "negative": lambda c: -np.ones(c),
    "huge": lambda c: np.full(c, 1e308),
    "tiny": lambda c: np.full(c, 1e-308),
    "NaN": lambda c: np.full(c, np.nan),
    "too many": lambda c: np.ones(c + 1),
}


@dataclass
class Case:
    """A fit and what is asked of it afterwards."""

    method: str
    X: Any
    Y: Any
    Z: Any  # new vectors of the source's dimensions
    pairs: np.ndarray | None
    weights: np.ndarray | None
    settings: dict[str, Any]
    k: int
    beta: float
    described: str

    def __str__(self) -> str:
        return self.described


def make_case(method: str, choose: Choose) -> Case:
    """Choose two spaces, pairs of their rows, and settings of a method; in one of eight cases, something is wrong."""
    rng = np.random.default_rng(choose(range(1000)))
    wrong = choose((None,) * 14 + ("space", "pairs"))
    n, d1, d2 = choose((1, 2, 3, 5, 12, 40)), choose((1, 2, 3, 8, 17)), choose((1, 2, 3, 8, 17))
    m = choose((n, n, 1, 2, 7, 33))
    X, source = make_space(choose, rng, n, d1)
    Y, target = make_space(choose, rng, m, d2, wrong=wrong == "space")
    Z, new = make_space(choose, rng, 3, d1)
    pairs, paired = make_pairs(choose, rng, n, m, wrong=wrong == "pairs")
    weights = weighting = None
    if CHEAP[method].takes_weights:
        makers = WRONG_WEIGHTS if wrong == "pairs" else WEIGHTS
        weighting = choose((None, *makers))
        weights = makers[weighting](n if pairs is None else len(pairs)) if weighting else None
    settings = make_settings(CHEAP[method], choose)
    k, beta = choose((1, 3, 50)), choose((30.0, 1e-300, 1e-3, 1e4, 1e30))
    spaces = (f"source {source}", f"target {target}", f"new {new}")
    parts = (method, *spaces, paired, f"weights {weighting}", str(settings), f"β {beta}")
    return Case(method, X, Y, Z, pairs, weights, settings, k, beta, ", ".join(parts))


def make_space(choose: Choose, rng: np.random.Generator, n: int, d: int, *, wrong: bool = False) -> tuple[Any, str]:
    """Choose a matrix of ``n`` vectors, and say what was chosen."""
    contents = WRONG_CONTENTS if wrong else CONTENTS
    content, kind, layout = choose(tuple(contents)), np.dtype(choose(TYPES)), choose(tuple(LAYOUTS))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = contents[content](rng, n, d)
        if kind.kind in "iu?" or kind.itemsize == 2:  # what these can hold
            values = values * (5 / max(np.abs(values).max(initial=0), 1e-300))
        matrix = LAYOUTS[layout](values.astype(kind))
    return matrix, f"{content} {n}×{d} {kind} {layout}"


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _memory_map(array: np.ndarray) -> np.ndarray:
    if array.dtype == object:
        return array
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "x.npy"), array)
        return np.load(Path(folder, "x.npy"), mmap_mode="r")  # a map outlives the name of its file


def make_pairs(
    choose: Choose, rng: np.random.Generator, n: int, m: int, *, wrong: bool = False
) -> tuple[np.ndarray | None, str]:
    """Choose pairs of row numbers, and say what was chosen."""
    same = np.stack([np.arange(min(n, m))] * 2, axis=1)
    drawn = np.stack([rng.integers(0, n, 30), rng.integers(0, m, 30)], axis=1)
    options = {
        "row by row": None if n == m else same,
        "one pair": drawn[:1],
        "the same pair often": np.repeat(drawn[:1], 5, axis=0),
        "one source word": drawn * (0, 1),
        "one target word": drawn * (1, 0),
        "at random": drawn,
        "small integers": drawn.astype(np.uint8),
    }
    if wrong:
        options = {"none": same[:0], "beyond": drawn + np.array([0, m]), "negative": drawn - 1, "fractions": drawn / 2}
    choice = choose(tuple(options))
    return options[choice], f"pairs {choice}"


def make_settings(aligner: BaseAligner, choose: Choose) -> dict[str, Any]:
    """Choose a preprocessing and up to two settings at the edge of what the aligner declares valid."""
    current, settings = aligner.get_params(deep=False), {}
    if "preprocess" in current and choose((True, False)):
        settings["preprocess"] = choose(PREPROCESS)
    if "aligner" in current and choose((True, False)):
        settings["aligner"] = choose(INNER)
    edges = {name: edge_values(aligner._parameter_constraints.get(name, [])) for name in set(current) - WORK}
    names = sorted(name for name, values in edges.items() if values)
    for _ in range(choose((0, 0, 1, 2))):
        name = choose(names) if names else None
        if name is not None:
            settings[name] = choose(edges[name])
    return settings


def edge_values(constraints: Sequence[Any]) -> list[Any]:
    """Return the extreme values that a setting may take; of whole numbers, only small ones."""
    values: list[Any] = []
    for constraint in constraints:
        if constraint is None:
            values.append(None)
        elif constraint == "boolean":
            values += [True, False]
        elif isinstance(constraint, StrOptions):
            values += sorted(constraint.options)
        elif isinstance(constraint, Interval):
            low, high = constraint.left, constraint.right
            whole = constraint.type.__name__ == "Integral"
            candidates = (low, low + 1, low + 2) if whole else (low, high, *(low + small for small in SMALL), *LARGE)
            values += [value for value in candidates if value is not None and value in constraint]
    return values


def check_case(case: Case, *, evaluate: bool = True) -> str:
    """Return ``"result"`` if everything about a fit is finite, or why it was refused; anything else is raised.

    What is asked of a fitted aligner may be refused too: new vectors may be too long, pairs too few for an evaluation.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FippWarning)
        try:
            aligner = clone(CHEAP[case.method]).set_params(**case.settings)
            weights = {} if case.weights is None else {"sample_weight": case.weights}
            aligner.fit(case.X, case.Y, case.pairs, **weights)
        except (FippError, InvalidParameterError) as error:  # the latter is scikit-learn's, for a setting out of range
            assert str(error), "the error says nothing"
            return str(error)
        require_finite(vars(aligner), "the fitted attributes")
        require_finite((aligner.map_, aligner.target_map_, aligner.offset_, aligner.target_offset_), "the maps")
        _check_induced(aligner.induced_pairs_, len(case.X), len(case.Y))
        alignment = Alignment(aligner, *(_with_words(side) for side in (case.X, case.Y)))
        _check_spaces(case, aligner)
        with suppress(FippError):
            require_finite(aligner.transform(case.Z), "new vectors, mapped,")
        for retrieval in RETRIEVALS:
            _check_translations(case, alignment, retrieval)
        with suppress(FippError):
            if evaluate:
                require_finite(alignment.evaluate(), "the self-evaluation")
    return "result"


def _check_induced(pairs: np.ndarray, n: int, m: int) -> None:
    assert pairs.shape == (len(pairs), 2)
    assert not pairs.size or (pairs.min() >= 0 and (pairs.max(axis=0) < (n, m)).all())


def _check_spaces(case: Case, aligner: BaseAligner) -> None:
    n, m = len(case.X), len(case.Y)
    mapped, target = aligner.transform(case.X), aligner.transform_target(case.Y)
    assert mapped.shape[1] == target.shape[1] and len(mapped) == n and len(target) == m
    require_finite((mapped, target), "the mapped vectors")
    both = min(n, m)
    assert 0 < aligner.score(case.X[:both], case.Y[:both]) <= 1


def _check_translations(case: Case, alignment: Alignment, retrieval: str) -> None:
    words = ["0", str(len(case.X) - 1)]
    translated = alignment.translate_all(words, case.k, retrieval=retrieval, beta=case.beta)
    assert all(len(row) == min(case.k, len(case.Y)) for row in translated)
    require_finite([[score for _, score in row] for row in translated], f"the scores by {retrieval}")


def _with_words(side: Any) -> Vectors:
    array = np.asarray(side)
    kind = np.float16 if array.dtype == np.float16 else np.float64
    return Vectors([str(row) for row in range(len(array))], array.astype(kind), dtype=kind)


def require_finite(value: Any, what: str) -> None:
    """Raise an AssertionError if there is NaN or infinity in arrays, numbers, containers, or what objects hold."""
    if isinstance(value, np.ndarray):
        assert value.dtype.kind not in "fc" or np.isfinite(value).all(), f"{what} are not finite"
    elif isinstance(value, (float, np.floating)):
        assert np.isfinite(value), f"{what} are not finite: {value}"
    elif isinstance(value, dict):
        for name, part in value.items():
            require_finite(part, f"{what}: {name}")
    elif isinstance(value, (list, tuple)):
        for part in value:
            require_finite(part, what)
    elif is_dataclass(value):
        for field in fields(value):
            require_finite(getattr(value, field.name), f"{what}: {field.name}")
    elif hasattr(value, "get_params") and hasattr(value, "__dict__"):
        fitted = {name: part for name, part in vars(value).items() if name.endswith("_")}
        require_finite(fitted, f"{what}: {type(value).__name__}")
