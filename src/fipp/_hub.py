"""Several languages or models in one space: each is aligned with a hub, and the hub's own words join the results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._align import align
from fipp._alignment import Alignment, Translation
from fipp._inputs import LexiconLike, VectorsLike, as_lexicon, as_vectors, found_pairs
from fipp._probe import Probe, check_vectors
from fipp._progress import Progress, Steps
from fipp._version import __version__
from fipp.aligners import BaseAligner, below, from_state, to_state
from fipp.evaluate import BLIResult, bli
from fipp.exceptions import FippError
from fipp.io import Each, Lexicon, MismatchError, Sizes, Vectors, check_value, read_model, write_model
from fipp.linalg import cross_products, matmul_blocks, rotation, single_threaded_blas, unit_rows
from fipp.retrieve import corrects_hubs, mutual_neighbours, neighbours

# Rounds of generalised Procrustes. The spaces differ little, so that the first rounds do nearly everything.
_ROUNDS = 10
_HEADER = {
    "version": [str],
    "hub": [str],
    "names": Each([str]),
    "languages": Each([dict]),
    "vectors": Each([dict]),
}

Pair = tuple[str, str]


class Hub:
    r"""Several languages or models in one space. Use `align_many` or `load`.

    Each language L has an alignment with the hub, a_L for its own vectors and b_L for the hub's. The spaces of these
    alignments are rotated onto each other by the hub's words, which all of them have:

    .. math:: \min_{Z, Ω_L} \sum_L \|b_L(H) Ω_L - Z\|_F^2

    A vector x of L becomes a_L(x) Ω_L, and a vector of the hub becomes the mean of b_L(h) Ω_L. All have unit length
    before they are rotated.

    Attributes
    ----------
    hub : str
        The name of the hub.
    aligners : dict of aligners
        The aligner from each other language to the hub, by its name.
    rotations : dict of ndarray
        Ω_L.
    vectors : dict of Vectors
        The vocabularies, by name; empty in a hub that was read from a file without them.
    n_pairs : dict of int
        The number of pairs that each aligner was given, those that were carried over from other dictionaries included.
    """

    def __init__(
        self,
        hub: str,
        aligners: Mapping[str, BaseAligner],
        rotations: Mapping[str, NDArray[np.float32]],
        vectors: Mapping[str, Vectors] | None = None,
    ) -> None:
        self.hub, self.aligners, self.rotations = hub, dict(aligners), dict(rotations)
        self.vectors = dict(vectors or {})
        self._probes: dict[str, Probe] = {}
        self._shared: dict[str, NDArray[np.float32]] = {}

    def __repr__(self) -> str:
        return f"Hub({self.hub!r} with {', '.join(map(repr, self.aligners))}, {self.dim} dimensions)"

    @property
    def names(self) -> list[str]:
        """The names of all languages, that of the hub first."""
        return [self.hub, *self.aligners]

    @property
    def dim(self) -> int:
        """The dimension of the shared space."""
        return max(omega.shape[1] for omega in self.rotations.values())

    @property
    def n_pairs(self) -> dict[str, int]:
        """The number of pairs that each aligner was given."""
        return {name: len(aligner.pairs_) for name, aligner in self.aligners.items()}

    @overload
    def transform(self, name: str, vectors: Vectors | None = None) -> Vectors: ...

    @overload
    def transform(self, name: str, vectors: ArrayLike) -> NDArray[np.float32]: ...

    def transform(self, name: str, vectors: Vectors | ArrayLike | None = None) -> Vectors | NDArray[np.float32]:
        """Return vectors of a language in the shared space; its whole vocabulary by default.

        Parameters
        ----------
        name : str
            The language.
        vectors : Vectors or array of shape (n, d), optional
            Vectors of the same model as those of the language.

        Returns
        -------
        Vectors, or ndarray of shape (n, k) for an array
        """
        if vectors is None:
            return Vectors(self._vocabulary(name).words, self._in_shared_space(name))
        if isinstance(vectors, Vectors):
            return Vectors(vectors.words, self._mapped(name, vectors.matrix))
        return self._mapped(name, vectors)

    def translate(
        self, word: str, source: str, target: str, k: int = 5, *, retrieval: str = "cosine"
    ) -> list[Translation]:
        """Return the ``k`` words of one language that are nearest to a word of another.

        Parameters
        ----------
        word : str
            A word of the source, in any case.
        source, target : str
            Names of two languages. They need not have a dictionary with each other.
        k : int, default=5
            How many.
        retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
            How neighbours are scored; see `fipp.retrieve.neighbours`.

        Returns
        -------
        list of Translation
            Best first.
        """
        known, words = self._vocabulary(source), self._vocabulary(target).words
        row = int(known.find([word])[0])
        if row < 0:
            known.index(word)  # raises the error for an unknown word
        everything = self._in_shared_space(source)
        reference = everything if corrects_hubs(retrieval) else None
        found = neighbours(
            everything[[row]], self._in_shared_space(target), k, retrieval=retrieval, hub_reference=reference
        )
        return [Translation(words[i], float(s)) for i, s in zip(found.indices[0], found.scores[0], strict=True)]

    def evaluate(
        self,
        lexicon: LexiconLike,
        source: str,
        target: str,
        *,
        retrieval: str = "cosine",
        progress: Progress | None = None,
    ) -> BLIResult:
        """Measure how well the translations of a test dictionary are found.

        Parameters
        ----------
        lexicon : Lexicon, path or iterable of (str, str)
            Pairs of a source word and a target word that no aligner learned from.
        source, target : str
            Names of two languages.
        retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
            How target words are ranked.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        BLIResult
        """
        lexicon = as_lexicon(lexicon)
        rows = found_pairs(lexicon, self._vocabulary(source), self._vocabulary(target)).line_rows
        return bli(
            self._in_shared_space(source),
            self._in_shared_space(target),
            *rows.T,
            retrieval=retrieval,
            total=len({word for word, _ in lexicon}),
            progress=progress,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all maps to one file (safetensors with a JSON header), whole or not at all, without the vectors.

        Parameters
        ----------
        path : str or path-like
        """
        tensors: dict[str, NDArray[Any]] = {}
        described = []
        for place, (name, aligner) in enumerate(self.aligners.items()):
            arrays, description = to_state(aligner)
            described.append(description)
            tensors |= {f"{place}.aligner.{key}": array for key, array in arrays.items()}
            tensors[f"{place}.rotation"] = self.rotations[name]
        probes = self._probes or {name: Probe.of(self._vocabulary(name)) for name in self.names}
        tensors |= {f"probe.{place}": probes[name].matrix for place, name in enumerate(self.names)}
        header = {"version": __version__, "hub": self.hub, "names": list(self.aligners), "languages": described}
        header["vectors"] = [probes[name].described for name in self.names]
        write_model(path, tensors, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str], vectors: Mapping[str, VectorsLike] | None = None) -> Hub:
        """Read a hub. It can transform vectors; to translate and evaluate, it needs the vectors of both languages.

        Parameters
        ----------
        path : str or path-like
            A file that `save` wrote.
        vectors : mapping of str to Vectors or path, optional
            The vocabularies of some or all languages. Those of another language of the hub are refused; a warning is
            given if the maps were learned from others.

        Returns
        -------
        Hub
        """
        tensors, header = read_model(path)
        if "hub" not in header:
            raise FippError(f"{path} is a model of fipp, but no hub of several languages: use fipp.Alignment.load")
        try:
            hub = _restored(tensors, header)
        except MismatchError as mismatch:
            raise FippError(f"{path} is damaged, or was written by a newer fipp: {mismatch}") from None
        hub.vectors = {hub._known(name): as_vectors(each) for name, each in (vectors or {}).items()}
        check_vectors(hub._probes, hub.vectors, path)
        return hub

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise FippError(f"there is no language {name!r} in this hub; it has {', '.join(self.names)}")
        return name

    def _vocabulary(self, name: str) -> Vectors:
        if self._known(name) not in self.vectors:
            raise FippError(f"the vectors of {name!r} are needed: Hub.load(path, {{{name!r}: vectors}})")
        return self.vectors[name]

    def _in_shared_space(self, name: str) -> NDArray[np.float32]:
        if name not in self._shared:
            self._shared[name] = self._mapped(name, self._vocabulary(name).matrix)
        return self._shared[name]

    def _mapped(self, name: str, X: ArrayLike) -> NDArray[np.float32]:
        if self._known(name) != self.hub:
            return matmul_blocks(unit_rows(self.aligners[name].transform(X)), self.rotations[name])
        spaces = {each: unit_rows(aligner.transform_target(X)) for each, aligner in self.aligners.items()}
        return _mean(spaces, self.rotations)


def align_many(
    vectors: Mapping[str, VectorsLike],
    dictionaries: Mapping[Pair, LexiconLike],
    method: str | BaseAligner = "auto",
    *,
    hub: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Hub:
    """Bring several languages or models into one space.

    Each language is aligned with the hub. A dictionary between two other languages is carried over to the hub: the word
    of the language that was aligned first is replaced by the hub's word that translates it, known or found. Then the
    shared spaces of all alignments are rotated onto each other (`Hub`).

    Parameters
    ----------
    vectors : mapping of str to Vectors or path
        Two or more vocabularies by their names. Their dimensions may differ.
    dictionaries : mapping of (str, str) to Lexicon, path or pairs
        Known pairs for two names, words of the first before words of the second. Every language must be connected to
        the hub, directly or through others.
    method : str or aligner, default="auto"
        How each language is aligned with the hub; see `align`.
    hub : str, optional
        The name of the hub. By default, it is the language that most dictionaries share; if there are several, the one
        with the most pairs, or else the first by name.
    progress : callable, optional
        Called as ``progress(done, total)``.
    **options
        Settings of the method.

    Returns
    -------
    Hub
        The order of ``vectors`` and ``dictionaries`` does not change it.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> halves = {"a": demo.source.rows(range(0, 8000, 2)), "b": demo.source.rows(range(1, 8000, 2))}
    >>> dictionaries = {("a", "fr"): demo.seed, ("b", "fr"): demo.seed}
    >>> hub = fipp.align_many({**halves, "fr": demo.target}, dictionaries, "fipp")
    >>> hub
    Hub('fr' with 'a', 'b', 300 dimensions)
    >>> hub.translate("water", "a", "fr", k=1)[0].word
    'eau'
    >>> hub.transform("b")
    Vectors(4000 words, 300 dimensions)
    """
    loaded = {name: as_vectors(each) for name, each in vectors.items()}
    lexicons = {pair: as_lexicon(lexicon) for pair, lexicon in dictionaries.items()}
    _check_names(loaded, lexicons)
    hub = choose_hub(loaded, lexicons) if hub is None else hub
    order = _order(loaded, lexicons, hub)
    steps = Steps(progress, len(order) + 1)
    alignments: dict[str, Alignment] = {}
    for name in order:
        steps.stage(f"{name} to {hub}")
        seed = _seed(name, hub, lexicons, alignments)
        alignments[name] = align(loaded[name], loaded[hub], seed, method, progress=steps.part(), **options)
    steps.stage("joining")
    aligners = {name: alignment.aligner for name, alignment in alignments.items()}
    joined = Hub(hub, aligners, _rotations(aligners, loaded[hub].matrix), loaded)
    steps.finish()
    return joined


def choose_hub(names: Iterable[str], lexicons: Mapping[Pair, Sequence[Any] | Lexicon]) -> str:
    """Return the name that occurs in most dictionaries; of several, the one with most pairs, or the first by name.

    Examples
    --------
    >>> choose_hub(["en", "fi", "fr"], {("en", "fr"): [("cat", "chat")], ("fi", "fr"): [("kissa", "chat")]})
    'fr'
    """

    def rank(name: str) -> tuple[int, int]:
        sizes = [len(lexicon) for pair, lexicon in lexicons.items() if name in pair]
        return len(sizes), sum(sizes)

    return max(sorted(names), key=rank)


def _check_names(vectors: Mapping[str, Vectors], lexicons: Mapping[Pair, Lexicon]) -> None:
    if len(vectors) < 2:
        raise FippError("give the vectors of at least two languages")
    for pair in lexicons:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise FippError(f"a dictionary is between two names, such as ('en', 'fr'), not {pair!r}")
        for name in pair:
            if name not in vectors:
                raise FippError(
                    f"there are no vectors for {name!r}, which has a dictionary; known: {', '.join(vectors)}"
                )


def _order(vectors: Mapping[str, Vectors], lexicons: Mapping[Pair, Lexicon], hub: str) -> list[str]:
    """Return the order in which languages are aligned: by distance from the hub, by pairs with it, and by name."""
    if hub not in vectors:
        raise FippError(f"there are no vectors for the hub {hub!r}; known: {', '.join(vectors)}")
    reached, distances = {hub}, {hub: 0}
    while near := {name for pair in lexicons if reached & {*pair} for name in pair} - reached:
        distances |= dict.fromkeys(near, max(distances.values()) + 1)
        reached |= near
    missing = [name for name in vectors if name not in reached]
    if missing:
        raise FippError(f"no dictionary connects {', '.join(missing)} with the hub {hub}, directly or through others")

    def pairs(name: str) -> int:
        return sum(len(lexicon) for pair, lexicon in lexicons.items() if {*pair} == {name, hub})

    return sorted((name for name in vectors if name != hub), key=lambda name: (distances[name], -pairs(name), name))


def _seed(
    name: str, hub: str, lexicons: Mapping[Pair, Lexicon], alignments: Mapping[str, Alignment]
) -> list[tuple[str, str]]:
    """Return pairs with the hub: known ones, and for other words those that can be carried over."""
    known = _between(name, hub, lexicons)
    first = {source for source, _ in known}
    carried: dict[tuple[str, str], None] = {}
    for other, alignment in alignments.items():
        assert alignment.source is not None  # it was fitted here
        pairs = [pair for pair in _between(name, other, lexicons) if pair[0] not in first]
        if pairs:
            found = _found(alignment, _between(other, hub, lexicons))
            rows = alignment.source.find(via for _, via in pairs)
            carried |= {(word, found[row]): None for (word, _), row in zip(pairs, rows, strict=True) if row in found}
    if not known and not carried:
        raise FippError(f"none of the pairs of {name} can be carried over to {hub}: their words have no translation")
    return [*known, *carried]


def _between(first: str, second: str, lexicons: Mapping[Pair, Lexicon]) -> list[tuple[str, str]]:
    reverse = [(target, source) for source, target in lexicons.get((second, first), ())]
    return [*lexicons.get((first, second), ()), *reverse]


def _found(alignment: Alignment, known: list[tuple[str, str]]) -> dict[int, str]:
    """Return the hub's word for rows of another language: the known one, or its mutual neighbour."""
    source, target = alignment.source, alignment.target
    assert source is not None and target is not None  # it was fitted here
    mapped = alignment.aligner.transform(source.matrix), alignment.aligner.transform_target(target.matrix)
    rows = [*mutual_neighbours(*mapped, retrieval="csls").pairs, *Lexicon(known[::-1]).lookup(source, target).rows]
    return {int(i): target.words[j] for i, j in rows}


@single_threaded_blas
def _rotations(aligners: Mapping[str, BaseAligner], X: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Rotate the shared spaces onto each other by the hub's vectors in all of them (generalised Procrustes)."""
    spaces = {name: unit_rows(aligner.transform_target(X)) for name, aligner in aligners.items()}
    mean = max(spaces.values(), key=lambda space: space.shape[1])
    for _ in range(_ROUNDS if len(spaces) > 1 else 1):
        found = {name: rotation(cross_products(B, mean)).astype(np.float32) for name, B in spaces.items()}
        mean = _mean(spaces, found)
    return found


def _mean(
    spaces: Mapping[str, NDArray[np.float32]], rotations: Mapping[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the mean of the rotated spaces, in the order of their names."""
    total = np.zeros((), np.float32)
    for name, B in spaces.items():
        total = total + matmul_blocks(B, rotations[name])
    return total / np.float32(len(spaces))


def _restored(tensors: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Hub:
    """Return the hub of a file, all of whose parts are checked before they are used."""
    check_value(header, _HEADER, "its header", Sizes())
    names, described = header["names"], header["languages"]
    everyone = [header["hub"], *names]
    if not names or len({*everyone}) != len(everyone) or len(described) != len(names):
        raise MismatchError("its names do not belong to its languages")
    if {name.partition(".")[0] for name in tensors} - {"probe", *(str(place) for place in range(len(names)))}:
        raise MismatchError("it has arrays of no language")
    aligners: dict[str, BaseAligner] = {}
    rotations: dict[str, NDArray[np.float32]] = {}
    for place, (name, description) in enumerate(zip(names, described, strict=True)):
        own = below(tensors, str(place))
        aligners[name] = from_state(below(own, "aligner"), description)
        if not isinstance(aligners[name], BaseAligner):
            raise MismatchError(f"the map of {name!r} is no aligner")
        rest = {key: array for key, array in own.items() if not key.startswith("aligner.")}
        check_value(rest, {"rotation": "float d k"}, f"the language {name!r}", Sizes())
        rotations[name] = rest["rotation"]
        if aligners[name].transform(np.zeros((1, aligners[name].n_features_in_))).shape[1] != len(rotations[name]):
            raise MismatchError(f"the rotation of {name!r} does not fit its map")
    widths = {omega.shape[1] for omega in rotations.values()}
    inputs = {aligner.n_features_out_ for aligner in aligners.values()}
    if len(widths) > 1 or len(inputs) > 1:
        raise MismatchError("its languages are not in one space")
    hub = Hub(header["hub"], aligners, rotations)
    probes = below(tensors, "probe")
    if len(header["vectors"]) != len(everyone) or set(probes) != {str(place) for place in range(len(everyone))}:
        raise MismatchError("its vectors do not belong to its languages")
    for place, name in enumerate(everyone):
        hub._probes[name] = Probe(header["vectors"][place], probes[str(place)])
        hub._probes[name].check(name, aligners[name].n_features_in_ if place else inputs.pop())
    return hub
