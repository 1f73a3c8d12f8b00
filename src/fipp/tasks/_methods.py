"""The same measurement for every method of alignment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from fipp._align import align
from fipp._alignment import Alignment
from fipp.aligners import METHODS
from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors

NOT_ALIGNED = "none"
"""The name that stands for using the vectors as they are."""

Result = TypeVar("Result")
_FAILURES = (FippError, np.linalg.LinAlgError, ValueError, ArithmeticError, ImportError, NotImplementedError)


class Outcome(NamedTuple, Generic[Result]):
    """The result of a method, or the reason why there is none; and the processor time of both steps."""

    method: str
    result: Result | None
    error: str | None
    align_seconds: float
    seconds: float


def each_method(
    source: Vectors,
    target: Vectors,
    lexicon: Lexicon,
    methods: Iterable[str],
    measure: Callable[[str, Alignment | tuple[Vectors, Vectors]], Result],
) -> Iterator[Outcome[Result]]:
    """Align by each method with its default settings, and measure the outcome.

    Parameters
    ----------
    source, target : Vectors
        The two vocabularies.
    lexicon : Lexicon
        The seed.
    methods : iterable of str
        Names as `fipp.align` knows them; ``"none"`` uses the vectors as they are.
    measure : callable
        Called with the method's name and the alignment, or the pair of vectors.

    Yields
    ------
    Outcome
        One for each method; a failing method does not stop the others.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> def found(name, space):
    ...     return space.translate("house", k=1)[0].word
    >>> for outcome in each_method(demo.source, demo.target, demo.seed, ["procrustes", "magic"], found):
    ...     print(outcome.method, outcome.result, outcome.error)
    procrustes maison None
    magic None there is no method 'magic'; known are ...
    """
    for method in methods:
        started = aligned = time.process_time()
        result, error = None, None
        try:
            space = (source, target) if method == NOT_ALIGNED else _align(source, target, lexicon, method)
            aligned = time.process_time()
            result = measure(method, space)
        except _FAILURES as failure:
            error = " ".join(str(failure).split()) or type(failure).__name__
        yield Outcome(method, result, error, aligned - started, time.process_time() - aligned)


def _align(source: Vectors, target: Vectors, lexicon: Lexicon, method: str) -> Alignment:
    # A method that finds its pairs by their spelling is given none, or it would be a different method.
    finds_pairs = method in METHODS and METHODS[method].learns_from == "identical"
    return align(source, target, None if finds_pairs else lexicon, method)


def check_methods(methods: Iterable[str] | None) -> list[str]:
    """Return each of these names once, or all names if it is None; refuse an unknown name."""
    known = [NOT_ALIGNED, *METHODS]
    chosen = list(dict.fromkeys(known if methods is None else methods))
    for method in chosen:
        if method not in known:
            raise FippError(f"there is no method {method!r}; known are {', '.join(known)}")
    return chosen
