"""One run of the explorer: models, seed pairs and their edits, refits and scores; every change can be undone."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, RLock, Thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._alignment import Alignment
from fipp._inputs import make_aligner
from fipp.aligners import FEWEST_TO_JUDGE, BaseAligner, held_out_parts, pair_cosines
from fipp.evaluate import BLIResult, compare_results
from fipp.exceptions import FippError, FippWarning
from fipp.explore._edits import Edit, ImpossibleError, SeedPairs
from fipp.explore._models import Pair, View, WordList, score
from fipp.io import Lexicon, Vectors
from fipp.retrieve import MeanCosines

METHODS = ("same", "fipp", "spectral", "auto")
"""The methods by which a model can be learned again; ``"same"`` is that of the model, with its settings."""

DICTIONARY, MODEL = "dictionary.tsv", "model.fipp"
"""The names of exported files."""

_FOLDS = 5
# With more, a score would take longer than the fit.
_MOST_QUESTIONS = 1000
_TO_BEGIN_WITH = 6


class _StopWork(BaseException):
    """Leaves long work from the inside of its progress report."""


class Suspects(NamedTuple):
    """Seed pairs with their cosines under maps that were learned without them, the most suspicious first."""

    cosines: dict[Pair, float]
    n_suspicious: int


class Refitted(NamedTuple):
    """What a refit replaced, to which it can be undone."""

    alignment: Alignment
    hubs: MeanCosines | None
    comparison: dict[str, Any] | None


@dataclass
class Refit:
    """The state of the last refit."""

    state: str = "none"  # none, running, done, failed or stopped
    method: str | None = None
    progress: float = 0.0
    message: str | None = None
    stop: Event = field(default_factory=Event)

    def report(self, done: int, total: int) -> None:
        """Note how much is done; leave the work if it is to stop."""
        if self.stop.is_set():
            raise _StopWork
        self.progress = max(self.progress, min(done / max(total, 1), 1.0))


class Session:
    """Models of two vocabularies, and everything that a user changes.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    second : Alignment, optional
        Another model of the same vectors, shown beside the first.
    test : Lexicon, optional
        Pairs to measure with. Without them, a fifth of the seed's source words is held out to measure with.
    names : (str, str)
        What to call source and target.
    folder : Path, optional
        Where `save` writes.
    """

    def __init__(
        self,
        alignment: Alignment,
        second: Alignment | None = None,
        *,
        test: Lexicon | None = None,
        names: tuple[str, str] = ("source", "target"),
        folder: Path | None = None,
    ) -> None:
        source, target = alignment.source, alignment.target
        if source is None or target is None:
            raise FippError("the explorer needs the vectors of both sides: Alignment.load(path, source=…, target=…)")
        self.source, self.target = WordList(names[0], source), WordList(names[1], target)
        self.view, self.second = View(alignment), None if second is None else View(second)
        self.pairs = SeedPairs(_as_pairs(alignment.known_pairs()))
        self.examples = {
            "source": _some_words(self.source, [pair[0] for pair in self.pairs.given]),
            "target": _some_words(self.target, [pair[1] for pair in self.pairs.given]),
        }
        self.history: list[Edit | Refitted] = []
        self.refit, self.folder = Refit(), folder
        self.comparison: dict[str, Any] | None = None
        self.hubs_progress = 0.0
        self._test = None if test is None else set(_as_pairs(test.lookup(source, target).require().rows))
        self._held_out = _held_out_words(self.pairs.all)
        self._lock, self._closing = RLock(), Event()
        self._suspects: Suspects | None = None
        self._judging = Lock()
        self._work: Thread | None = None
        self._measuring = Thread(target=self._measure_hubs, name="fipp-hubs", daemon=True)
        self._changed = Event()
        self._changed.set()
        self._measuring.start()

    @property
    def vectors(self) -> tuple[Vectors, Vectors]:
        """The vectors of both sides."""
        return self.source.vectors, self.target.vectors

    def side(self, name: str) -> WordList:
        """Return the words of a side."""
        return self.source if name == "source" else self.target

    def edit(self, edit: Edit) -> None:
        """Change the seed pairs."""
        with self._lock:
            self.pairs.apply(edit)
            self.history.append(edit)

    def undo(self) -> None:
        """Undo the last edit or refit."""
        with self._lock:
            if not self.history:
                raise ImpossibleError("there is nothing to undo")
            if isinstance(self.history[-1], Refitted):
                if self.refit.state == "running":
                    raise ImpossibleError("a refit is running: stop it first")
                last = self.history.pop()
                assert isinstance(last, Refitted)
                self._show(View(last.alignment, last.hubs), last.comparison)
            else:
                self.pairs.revert(self.history.pop())  # type: ignore[arg-type]  # the last one is an edit

    def start_refit(self, method: str) -> None:
        """Learn the model again from the pairs as they are now, in the background."""
        with self._lock:
            if self.refit.state == "running":
                raise ImpossibleError("a refit is running: wait until it has ended, or stop it")
            pairs = self.pairs.right
            if not pairs:
                raise ImpossibleError("there are no seed pairs to learn from: add some first")
            self.refit = Refit("running", method)
            self._work = Thread(target=self._refit, args=(self.refit, pairs), name="fipp-refit", daemon=True)
            self._work.start()

    def stop_refit(self) -> None:
        """Ask a running refit to stop; the model stays as it is."""
        if self.refit.state != "running":
            raise ImpossibleError("no refit is running")
        self.refit.stop.set()

    def evaluate(self) -> dict[str, Any] | None:
        """Measure the model on the test dictionary or on held-out seed pairs; None if there are none."""
        alignment = self.view.alignment
        pairs = _as_pairs(alignment.known_pairs())
        result = score(self._judged(alignment.aligner, pairs), *self.vectors, self._questions(pairs))
        return None if result is None else {**self._about(result), **_figures(result)}

    def suspects(self) -> Suspects:
        """Return the seed pairs, the most suspicious first; none if there are too few to judge."""
        with self._judging:
            if self._suspects is None:
                self._suspects = self._judge()
            return self._suspects

    def _judge(self) -> Suspects:
        pairs = np.array(list(self.pairs.given), dtype=np.int64).reshape(-1, 2)
        if len(np.unique(pairs[:, 0])) < FEWEST_TO_JUDGE:
            return Suspects({}, 0)
        source, target = self.vectors
        found = pair_cosines(source.matrix, target.matrix, pairs)
        order = np.argsort(found.cosines, kind="stable")
        cosines = zip(_as_pairs(pairs[order]), found.cosines[order].tolist(), strict=True)
        return Suspects(dict(cosines), int(found.suspicious.sum()))

    def dictionary(self) -> Lexicon:
        """Return the pairs that are not wrong, as words."""
        with self._lock:
            right = self.pairs.right
        return Lexicon([(self.source.words[s], self.target.words[t]) for s, t in right])

    def export(self, name: str) -> bytes:
        """Return a file to download."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            self._write(path)
            return path.read_bytes()

    def save(self) -> list[str]:
        """Write dictionary and model to the folder of the session, each whole or not at all; return their names."""
        if self.folder is None:
            raise ImpossibleError("no folder to save to was given when the explorer was started: use the downloads")
        for name in (DICTIONARY, MODEL):
            self._write(self.folder / name)
        return [DICTIONARY, MODEL]

    def close(self) -> None:
        """Stop all work."""
        self._closing.set()
        self.refit.stop.set()
        self._changed.set()
        for thread in (self._work, self._measuring):
            if thread is not None:
                thread.join()

    def _write(self, path: Path) -> None:
        try:
            self.dictionary().save(path) if path.name == DICTIONARY else self.view.alignment.save(path)
        except FippError as error:  # whoever asks need not know where this disk has what
            raise ImpossibleError(str(error).replace(str(path.parent), "the folder")) from None

    def _refit(self, refit: Refit, pairs: list[Pair]) -> None:
        try:
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always", FippWarning)
                alignment = self._learn(refit, pairs)
                view, comparison = View(alignment), self._compare(alignment.aligner, pairs)
                refit.report(1, 1)
            with self._lock:
                old = self.view
                self.history.append(Refitted(old.alignment, old.index.hubs, self.comparison))
                self._show(view, comparison)
            refit.message = "; ".join(dict.fromkeys(str(warning.message) for warning in noted)) or None
            refit.progress, refit.state = 1.0, "done"
        except _StopWork:
            refit.state = "stopped"
        except FippError as error:
            refit.message, refit.state = str(error), "failed"
        except Exception:
            refit.message, refit.state = (
                "the refit failed because of a defect of fipp; the model is as it was",
                "failed",
            )
            raise

    def _learn(self, refit: Refit, pairs: list[Pair]) -> Alignment:
        source, target = self.vectors
        assert refit.method is not None
        rows = np.array(pairs, dtype=np.int64)
        fresh = _unfitted(self.view.alignment.aligner) if refit.method == "same" else make_aligner(refit.method, {})
        aligner = fresh.fit(source.matrix, target.matrix, rows, progress=refit.report)
        seed = {"found": len(pairs), "total": len(pairs), "coverage": 1.0}
        return Alignment(aligner, source, target, seed=seed, seed_pairs=rows)

    def _show(self, view: View, comparison: dict[str, Any] | None) -> None:
        self.view, self.comparison = view, comparison
        self._changed.set()

    def _compare(self, new: BaseAligner, pairs: list[Pair]) -> dict[str, Any] | None:
        """Return the score of the current model and of a new one on the same questions, which neither learned from."""
        old, before = self.view.alignment.aligner, _as_pairs(self.view.alignment.known_pairs())
        questions = self._questions(before) & self._questions(pairs)
        if not questions:
            return None
        first, second = (
            score(self._judged(aligner, known), *self.vectors, questions)
            for aligner, known in ((old, before), (new, pairs))
        )
        assert first is not None and second is not None  # there are questions
        found = compare_results(second, first, "p@1")
        difference = {"difference": found.difference, "low": found.low, "high": found.high}
        return {**self._about(second), "before": _figures(first), "after": _figures(second), **difference}

    def _judged(self, aligner: BaseAligner, pairs: list[Pair]) -> BaseAligner:
        """Return the aligner itself if there is a test dictionary, otherwise one learned without held-out words."""
        if self._test is not None:
            return aligner
        rest = np.array([pair for pair in pairs if pair[0] not in self._held_out], dtype=np.int64)
        source, target = self.vectors
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FippWarning)
            return _unfitted(aligner).fit(source.matrix, target.matrix, rest)

    def _questions(self, known: list[Pair]) -> set[Pair]:
        """Return the pairs to measure with: none that the model was learned from, none that a user has changed."""
        if self._test is not None:
            asked = self._test - set(known)
        else:
            asked = {pair for pair in known if pair[0] in self._held_out and pair in self.pairs.given}
            asked -= self.pairs.wrong
        rows = sorted({pair[0] for pair in asked})[:_MOST_QUESTIONS]
        return {pair for pair in asked if pair[0] in set(rows)}

    def _about(self, result: BLIResult) -> dict[str, Any]:
        measured_on = "held-out seed pairs" if self._test is None else "test dictionary"
        return {"measured_on": measured_on, "retrieval": result.retrieval, "n_questions": result.n_queries}

    def _measure_hubs(self) -> None:
        """Prepare CSLS for the models that are shown, whenever they change, until the session ends."""
        while self._changed.wait() and not self._closing.is_set():
            self._changed.clear()
            for view in (self.view, self.second):
                if view is None or view.index.hubs is not None:
                    continue

                def report(done: int, total: int) -> None:
                    if self._changed.is_set() or self._closing.is_set():
                        raise _StopWork
                    self.hubs_progress = done / total

                self.hubs_progress = 0.0
                try:
                    view.measure_hubs(report)
                except _StopWork:
                    break


def _unfitted(aligner: BaseAligner) -> BaseAligner:
    """Return an aligner with the same settings; for `Auto`, one of the kind that it chose."""
    same: BaseAligner = clone(aligner.aligner_ if hasattr(aligner, "chosen_") else aligner)
    return same


def _as_pairs(rows: NDArray[np.int64]) -> list[Pair]:
    return [(source, target) for source, target in rows.tolist()]


def _some_words(words: WordList, known: list[int]) -> list[str]:
    """Return a few words to begin with, from frequent to rare, of the seed if there is one."""
    rows = np.unique(known) if known else np.arange(len(words.words))
    # Neither the most frequent ones, which mean little, nor the rarest ones.
    places = np.linspace(0, len(rows) - 1, _TO_BEGIN_WITH + 2).astype(np.int64)[1:-1]
    return [words.words[row] for row in np.unique(rows[places]).tolist()]


def _held_out_words(pairs: list[Pair]) -> frozenset[int]:
    rows = np.array([pair[0] for pair in pairs], dtype=np.int64)
    if len(np.unique(rows)) < _FOLDS:
        return frozenset()
    return frozenset(rows[held_out_parts(rows, folds=_FOLDS, random_state=0)[0]].tolist())


def _figures(result: BLIResult) -> dict[str, float]:
    return {name: float(getattr(result, name)) for name in ("map", "mrr", "p_at_1", "p_at_5", "p_at_10")}
