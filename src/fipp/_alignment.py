"""The floor where words live: the `Alignment` of two vocabularies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._inputs import LexiconLike, VectorsLike, as_lexicon, as_vectors, found_pairs
from fipp._probe import Probe, check_vectors
from fipp._progress import Progress
from fipp.aligners import BaseAligner, from_model, to_model
from fipp.evaluate import (
    BLIResult,
    Induction,
    Slice,
    bli,
    induce,
    seed_keys,
    seen_queries,
    self_evaluate,
    side_of,
)
from fipp.exceptions import FippError, warn
from fipp.io import Lexicon, MismatchError, Sizes, Vectors, check_value, read_model, write_model
from fipp.retrieve import corrects_hubs, neighbours

# What a model has beside its aligner, as declared for `fipp.io.check_value`.
_WORDS = {"seed": [dict], "scores": [dict], "source": [dict], "target": [dict]}


class Translation(NamedTuple):
    """A word of the target and its score; higher is better."""

    word: str
    score: float


class Alignment:
    """A fitted aligner together with the words of both sides.

    Parameters
    ----------
    aligner : aligner
        Fitted on the matrices of ``source`` and ``target``.
    source, target : Vectors
        The two vocabularies.
    seed : dict, optional
        How many pairs of the seed dictionary were found: ``found``, ``total``, ``coverage``.
    scores : dict, optional
        Evaluations to keep with the model, by name.
    seed_pairs : ndarray of shape (c, 2), optional
        Row numbers of the seed pairs, by which `evaluate` notices that a test dictionary has some of them; the
        aligner's ``pairs_`` when left out.

    Attributes
    ----------
    aligner : aligner
        With its fitted attributes, such as ``map_``.
    source, target : Vectors or None
        None in a model that was read from a file without them.
    seed, scores : dict
        As given; `evaluate` adds to ``scores``.
    """

    def __init__(
        self,
        aligner: BaseAligner,
        source: Vectors | None = None,
        target: Vectors | None = None,
        *,
        seed: Mapping[str, Any] | None = None,
        scores: Mapping[str, Any] | None = None,
        seed_pairs: NDArray[np.int64] | None = None,
    ) -> None:
        self.aligner = aligner
        self.source, self.target = source, target
        self.seed, self.scores = dict(seed or {}), dict(scores or {})
        self._seed_pairs = seed_pairs
        self._seed_keys: NDArray[np.uint64] | None = None
        self._shared: dict[str, NDArray[np.float32]] = {}

    def __repr__(self) -> str:
        dimensions = f"{self.aligner.n_features_in_} to {self.aligner.n_features_out_} dimensions"
        return f"Alignment({type(self.aligner).__name__}, {dimensions}, {len(self.aligner.pairs_)} pairs)"

    @overload
    def transform(self, vectors: Vectors | None = None) -> Vectors: ...

    @overload
    def transform(self, vectors: ArrayLike) -> NDArray[np.float32]: ...

    def transform(self, vectors: Vectors | ArrayLike | None = None) -> Vectors | NDArray[np.float32]:
        """Return source vectors in the shared space; all of the source by default.

        Parameters
        ----------
        vectors : Vectors or array of shape (n, d1), optional
            Vectors of the same model as the source; the map need not have been learned from them.

        Returns
        -------
        Vectors, or ndarray of shape (n, k) for an array

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> fipp.align(demo.source, demo.target, demo.seed, "fipp").transform()
        Vectors(8000 words, 300 dimensions)
        """
        return _mapped(self._side("source") if vectors is None else vectors, self.aligner.transform)

    @overload
    def transform_target(self, vectors: Vectors | None = None) -> Vectors: ...

    @overload
    def transform_target(self, vectors: ArrayLike) -> NDArray[np.float32]: ...

    def transform_target(self, vectors: Vectors | ArrayLike | None = None) -> Vectors | NDArray[np.float32]:
        """Return target vectors in the shared space; all of the target by default.

        Parameters
        ----------
        vectors : Vectors or array of shape (m, d2), optional
            Vectors of the same model as the target.

        Returns
        -------
        Vectors, or ndarray of shape (m, k) for an array
        """
        return _mapped(self._side("target") if vectors is None else vectors, self.aligner.transform_target)

    def translate(
        self,
        word: str,
        k: int = 5,
        *,
        retrieval: str = "cosine",
        beta: float = 30.0,
        reverse: bool = False,
        max_memory: int | str | None = None,
    ) -> list[Translation]:
        """Return the ``k`` target words nearest to a source word.

        Parameters
        ----------
        word : str
            A word of the source, in any case.
        k : int, default=5
            How many.
        retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
            How neighbours are scored. ``"csls"``, ``"isf"`` and ``"dualis"`` avoid words that are near to everything,
            and need the whole source for that. See `fipp.retrieve.neighbours`.
        beta : float, default=30
            β of the inverted softmax, ``"isf"`` and ``"dualis"``.
        reverse : bool, default=False
            Translate a word of the target into the source instead.
        max_memory : int or str, optional
            Working memory.

        Returns
        -------
        list of Translation
            Best first.

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
        >>> alignment.translate("water", k=1)[0].word, alignment.translate("eau", k=1, reverse=True)[0].word
        ('eau', 'water')
        """
        searching: dict[str, Any] = {"retrieval": retrieval, "beta": beta, "max_memory": max_memory}
        return self.translate_all([word], k, reverse=reverse, **searching)[0]

    def translate_all(
        self,
        words: Iterable[str],
        k: int = 5,
        *,
        retrieval: str = "cosine",
        beta: float = 30.0,
        reverse: bool = False,
        max_memory: int | str | None = None,
        progress: Progress | None = None,
    ) -> list[list[Translation]]:
        """Translate many words at once; otherwise as `translate`.

        Parameters
        ----------
        words : iterable of str
            Words of the source, in any case.
        k, retrieval, beta, reverse, max_memory
            As for `translate`.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        list of list of Translation
        """
        words = list(words)
        asked, answers = ("target", "source") if reverse else ("source", "target")
        known, found_in = self._side(asked), self._side(answers)
        if not words:
            return []
        rows = known.find(words)
        for word, row in zip(words, rows, strict=True):
            if row < 0:
                known.index(word)  # raises the error for an unknown word
        everything = corrects_hubs(retrieval)
        transform = self.aligner.transform_target if reverse else self.aligner.transform
        queries = self._in_shared_space(asked)[rows] if everything else transform(known.matrix[rows])
        found = neighbours(
            queries,
            self._in_shared_space(answers),
            k,
            retrieval=retrieval,
            beta=beta,
            hub_reference=self._in_shared_space(asked) if everything else None,
            max_memory=max_memory,
            progress=progress,
        )
        return [
            [Translation(found_in.words[i], float(score)) for i, score in zip(indices, scores, strict=True)]
            for indices, scores in zip(found.indices, found.scores, strict=True)
        ]

    def evaluate(
        self,
        lexicon: LexiconLike | None = None,
        *,
        retrieval: str = "cosine",
        labels: Sequence[str] | None = None,
        beta: float = 30.0,
        max_memory: int | str | None = None,
        progress: Progress | None = None,
    ) -> BLIResult:
        """Measure how well the translations of a test dictionary are found: MAP, MRR, P@1, P@5, P@10, and coverage.

        Pairs that were in the seed are recognised by their words, also in a model that was read from a file. A warning
        says how many there are, and `BLIResult.unseen` holds the scores without them.

        Without a test dictionary, the seed pairs are cross-validated and mutual nearest neighbours counted, and the
        result says so (`BLIResult.evaluated_on`). Methods that learned from no given pairs are refused.

        Parameters
        ----------
        lexicon : Lexicon, path or iterable of (str, str), optional
            Pairs that the map was not learned from.
        retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
            How target words are ranked. ``"dot"`` is the published evaluation of FIPP.
        labels : sequence of str, optional
            A label for each pair of the lexicon, such as the part of speech, for `BLIResult.by_label`.
        beta : float, default=30
            β of the inverted softmax, ``"isf"`` and ``"dualis"``.
        max_memory : int or str, optional
            Working memory.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        BLIResult

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> result = fipp.align(demo.source, demo.target, demo.seed, "fipp").evaluate(demo.test)
        >>> result.n_queries, result.coverage, result.retrieval
        (200, 1.0, 'cosine')
        """
        if lexicon is None:
            if labels is not None:
                raise FippError("labels are for the pairs of a test dictionary, but none was given")
            return self._evaluate_seed(retrieval, max_memory, progress)
        lexicon = as_lexicon(lexicon)
        source, target = self._side("source"), self._side("target")
        lookup = found_pairs(lexicon, source, target)
        if labels is not None and len(labels) != len(lexicon):
            raise FippError(f"there are {len(lexicon)} pairs but {len(labels)} labels; each pair takes one")
        result = bli(
            self._in_shared_space("source"),
            self._in_shared_space("target"),
            *lookup.line_rows.T,
            retrieval=retrieval,
            beta=beta,
            total=len({word for word, _ in lexicon}),
            labels=None if labels is None else [str(labels[place]) for place in lookup.lines],
            max_memory=max_memory,
            progress=progress,
        )
        asked = source.find(dict.fromkeys(word for word, _ in lexicon))
        result = replace(
            result,
            words=tuple(source.words[row] for row in np.unique(lookup.rows[:, 0])),
            missed=np.setdiff1d(asked[asked >= 0], lookup.rows[:, 0]),
            parts=_with_totals(result.parts, lexicon, labels),
            seen=seen_queries(self._known(), source, target, lookup.rows),
        )
        if result.seen_pairs:
            warn(str(result.seed_note()))
        self.scores[result.retrieval] = result.as_dict()
        return result

    def known_pairs(self) -> NDArray[np.int64]:
        """Return the row numbers of the seed pairs; none if the vectors are not, row by row, those of the fit.

        Returns
        -------
        ndarray of int64, shape (c, 2)

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> fipp.align(demo.source, demo.target, demo.seed, "fipp").known_pairs().shape
        (2262, 2)
        """
        pairs = self.aligner.pairs_ if self._seed_pairs is None else self._seed_pairs
        here = seed_keys(self._side("source"), self._side("target"), pairs)
        return pairs if np.array_equal(here, self._known()) else pairs[:0]

    def _known(self) -> NDArray[np.uint64]:
        """Return the keys of the seed pairs; those of the file in a model that was read from one."""
        if self._seed_keys is None:
            pairs = self.aligner.pairs_ if self._seed_pairs is None else self._seed_pairs
            self._seed_keys = seed_keys(self._side("source"), self._side("target"), pairs)
        return self._seed_keys

    def _evaluate_seed(self, retrieval: str, max_memory: int | str | None, progress: Progress | None) -> BLIResult:
        source, target = self._side("source"), self._side("target")
        searching: dict[str, Any] = {"retrieval": retrieval, "max_memory": max_memory, "progress": progress}
        result = self_evaluate(self.aligner, source.matrix, target.matrix, **searching)
        assert result.queries is not None  # a cross-validation knows its queries
        result = replace(result, words=tuple(source.words[row] for row in result.queries))
        self.scores[f"seed, {result.retrieval}"] = result.as_dict()
        return result

    def induce(
        self,
        *,
        precision: float | None = None,
        max_memory: int | str | None = None,
        progress: Progress | None = None,
    ) -> Induction:
        """Find a whole dictionary: the words that are each other's nearest neighbour by CSLS.

        How likely a pair is to be right is learned from the seed pairs, which are held out in turn
        (`fipp.evaluate.induce_pairs`).

        Parameters
        ----------
        precision : float, optional
            Keep as many pairs as this estimated share of right ones allows. By default, pairs are kept that are more
            likely right than wrong.
        max_memory : int or str, optional
            Working memory.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        Induction

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> found = fipp.align(demo.source, demo.target, demo.seed, "fipp").induce(precision=0.9)
        >>> ("water", "eau") in found.lexicon.pairs, found.precision >= 0.9
        (True, True)
        """
        source, target = self._side("source"), self._side("target")
        return induce(self.aligner, source, target, precision, max_memory=max_memory, progress=progress)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one small file (safetensors with a JSON header).

        It holds the map, the preprocessing, the settings, the scores so far, and checksums of both inputs and of the
        words of the seed pairs, but not the vectors themselves.

        Parameters
        ----------
        path : str or path-like
            Written whole or not at all.

        Examples
        --------
        >>> import fipp, tempfile, pathlib
        >>> demo = fipp.datasets.load_demo()
        >>> path = pathlib.Path(tempfile.mkdtemp(), "en-fr.fipp")
        >>> fipp.align(demo.source, demo.target, demo.seed, "fipp").save(path)
        >>> fipp.Alignment.load(path)
        Alignment(FIPP, 300 to 300 dimensions, 2262 pairs)
        """
        tensors, header = to_model(self.aligner)
        header |= {"seed": self.seed, "scores": self.scores}
        tensors["seed"] = self._known()
        for side in ("source", "target"):
            header[side], tensors[f"{side}.probe"] = Probe.of(self._side(side))
        write_model(path, tensors, header)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        source: VectorsLike | None = None,
        target: VectorsLike | None = None,
    ) -> Alignment:
        """Read a model. It can transform vectors; to translate and evaluate it needs the vectors of both sides.

        Parameters
        ----------
        path : str or path-like
            A file that `save` wrote.
        source, target : Vectors or path, optional
            The vocabularies. They are refused if they are swapped; a warning is given if the map was learned from
            others.

        Returns
        -------
        Alignment
        """
        tensors, header = read_model(path)
        if "hub" in header:
            raise FippError(f"{path} is a hub of several languages: use fipp.Hub.load")
        aligner = from_model(tensors, header, path)
        if "seed" not in tensors and set(header) == {"version", "aligner"}:
            name = type(aligner).__name__
            raise FippError(f"{path} holds an aligner without words: use fipp.{name}.load to read it")
        if "migration" in header:
            raise FippError(f"{path} is a migration between embedding models: use `fipp migrate`, or Migration.load")
        try:
            _check_words(aligner, tensors, header)
        except MismatchError as mismatch:
            raise FippError(f"{path} is damaged: {mismatch}") from None
        alignment = cls(aligner, seed=header["seed"], scores=header["scores"])
        alignment._seed_keys = tensors["seed"]
        sides = (("source", source), ("target", target))
        given = {side: as_vectors(vectors) for side, vectors in sides if vectors is not None}
        check_vectors({side: Probe(header[side], tensors[f"{side}.probe"]) for side, _ in sides}, given, path)
        alignment.source, alignment.target = given.get("source"), given.get("target")
        return alignment

    def _side(self, side: str) -> Vectors:
        return side_of(self, side).vectors

    def _in_shared_space(self, side: str) -> NDArray[np.float32]:
        if side not in self._shared:
            vectors, transform = side_of(self, side)
            assert transform is not None  # an alignment maps both sides
            self._shared[side] = transform(vectors.matrix)
        return self._shared[side]


def _mapped(vectors: Vectors | ArrayLike, transform: Callable[..., NDArray[np.float32]]) -> Any:
    """Return the vectors in the shared space, with their words if they have any."""
    return Vectors(vectors.words, transform(vectors.matrix)) if isinstance(vectors, Vectors) else transform(vectors)


def _check_words(aligner: BaseAligner, tensors: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Raise a MismatchError unless all that a model file has beside its aligner is as `Alignment.save` wrote it."""
    described = {name: value for name, value in header.items() if name not in ("version", "aligner")}
    check_value(described, _WORDS, "its header", Sizes())
    beside = {name: array for name, array in tensors.items() if not name.startswith("aligner.")}
    for side, dimensions in (("source", aligner.n_features_in_), ("target", aligner.n_features_out_)):
        if f"{side}.probe" not in beside:
            raise MismatchError(f"it has no vectors of its {side}")
        Probe(header[side], beside.pop(f"{side}.probe")).check(side, dimensions)
    check_value(beside, {"seed": "uint64 c 2"}, "the file", Sizes())


def _with_totals(parts: Mapping[str, Slice], lexicon: Lexicon, labels: Sequence[str] | None) -> dict[str, Slice]:
    """Count the source words of each part of a lexicon, whether they were found or not."""
    words: dict[str, set[str]] = {}
    for (word, _), label in zip(lexicon, labels or (), strict=labels is not None):
        words.setdefault(str(label), set()).add(word)
    return {label: part._replace(total=len(words[label])) for label, part in parts.items()}
