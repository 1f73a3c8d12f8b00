"""gensim's KeyedVectors: objects in memory both ways; its own files are pickles and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fipp.exceptions import FippError
from fipp.io._assemble import assemble
from fipp.io._ngrams import FastTextNgrams
from fipp.io._report import Inspector
from fipp.io._rows import as_float32
from fipp.io._stream import DEFAULT_MAX_BYTES
from fipp.io._subwords import SubwordVectors
from fipp.io._vectors import Vectors

_PICKLE_MARKS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def recognises_pickle(path: Path, opening: bytes) -> bool:
    """Tell whether a file is a pickle, as gensim's own files are."""
    return opening.startswith(_PICKLE_MARKS)


def refuse_pickle(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> NoReturn:
    """Say why a pickle is not read, and what to do instead."""
    raise FippError(
        f"{path} is a pickle, which can run any program when it is opened, so fipp never does. If it is gensim's "
        f"and you trust it: KeyedVectors.load({path.name!r}).save_word2vec_format('x.bin', binary=True), or hand "
        "the loaded object to fipp.Vectors.from_gensim"
    )


def from_gensim(model: Any) -> Vectors:
    """Take the vectors of gensim's KeyedVectors or of a model that has them; see `Vectors.from_gensim`."""
    keyed = getattr(model, "wv", model)
    if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
        raise FippError(f"from_gensim takes KeyedVectors or a model with .wv, not {type(model).__name__}")
    inspector = Inspector(Path("gensim"), strict=False)
    words = [str(key) for key in keyed.index_to_key]
    vectors = assemble(words, as_float32(np.asarray(keyed.vectors)[: len(words)]), inspector)
    ngrams = getattr(keyed, "vectors_ngrams", None)
    if ngrams is None:
        return vectors
    table = FastTextNgrams(as_float32(ngrams), 0, int(keyed.bucket), int(keyed.min_n), int(keyed.max_n))
    return SubwordVectors._with_composer(vectors, table)


def to_gensim(vectors: Vectors) -> Any:
    """Return the vectors as gensim's KeyedVectors; see `Vectors.to_gensim`."""
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise FippError("to_gensim needs gensim: pip install gensim") from error
    keyed = KeyedVectors(vectors.dim)
    keyed.add_vectors(list(vectors.words), np.array(vectors.matrix))
    return keyed
