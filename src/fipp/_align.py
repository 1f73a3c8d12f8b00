"""From two vocabularies and known pairs to an alignment."""

from __future__ import annotations

from typing import Any

from fipp._alignment import Alignment
from fipp._inputs import (
    LexiconLike,
    VectorsLike,
    as_lexicon,
    as_vectors,
    found_pairs,
    make_aligner,
    words_spelled_alike,
)
from fipp.aligners import BaseAligner
from fipp.exceptions import FippError
from fipp.io import Lexicon
from fipp.linalg import Progress


def align(
    source: VectorsLike,
    target: VectorsLike,
    lexicon: LexiconLike | None = None,
    method: str | BaseAligner = "auto",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Alignment:
    """Bring two vocabularies together from pairs of words known to belong together.

    Parameters
    ----------
    source, target : Vectors or path
        The two vocabularies. Their dimensions may differ.
    lexicon : Lexicon, path or iterable of (str, str), optional
        Pairs of a source word and a target word; those not in both vocabularies are left out and counted. Methods that
        learn without pairs need none; ``"unsupervised"`` and ``"auto"`` then begin with words spelled alike.
    method : str or aligner, default="auto"
        How to align: a name in ``fipp.aligners.METHODS``, or an aligner with its settings. ``"auto"`` tries FIPP,
        Procrustes and others on held-out pairs and takes what is best for these vectors, which takes a minute or two,
        more for large vocabularies; ``aligner.chosen_`` says what it took. ``"fipp"`` takes about a second.
    progress : callable, optional
        Called as ``progress(done, total)`` during the long part.
    **options
        Settings of the method, such as ``epsilon`` and ``lam`` of ``"fipp"``.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(100), max_words=4000)
    >>> alignment.translate("house")[0].word
    'maison'
    >>> alignment.evaluate(demo.test).p_at_10 > 0.9
    True

    FIPP, with its settings:

    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp", epsilon=0.1)
    >>> [translation.word for translation in alignment.translate("house", k=3)]
    ['maison', 'appartement', 'grange']
    """
    source, target = as_vectors(source), as_vectors(target)
    aligner = make_aligner(method, options)
    if lexicon is None:
        guesses = None
        if aligner.takes_guesses:
            spelled_alike = Lexicon.identical if aligner.learns_from == "identical" else words_spelled_alike
            guesses = spelled_alike(source, target).lookup(source, target).rows
        elif aligner.learns_from == "pairs":
            raise FippError(f"{type(aligner).__name__} learns from known pairs: give a lexicon")
        aligner.fit(source.matrix, target.matrix, guesses=guesses, progress=progress)
        return Alignment(aligner, source, target)
    lookup = found_pairs(as_lexicon(lexicon), source, target)
    aligner.fit(source.matrix, target.matrix, lookup.rows, progress=progress)
    seed = {"found": lookup.found, "total": lookup.total, "coverage": lookup.coverage}
    learned = aligner.learns_from != "nothing"
    return Alignment(aligner, source, target, seed=seed, seed_pairs=lookup.rows if learned else lookup.rows[:0])
