"""gensim's KeyedVectors: objects can be converted both ways; gensim's own files are pickles and are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.io._ngrams import FastTextNgrams
from fipp.io._report import Inspector
from fipp.io._rows import as_floats
from fipp.io._table import Options, Table, assemble

PICKLE_MARKS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def refuse_pickle(path: Path, options: Options) -> NoReturn:
    """Explain why a pickle is not read, and what to do instead."""
    raise FippError(
        f"{path} is a pickle, which can run any program when it is opened, so fipp never does. If it is gensim's "
        f"and you trust it: KeyedVectors.load({path.name!r}).save_word2vec_format('x.bin', binary=True), or hand "
        "the loaded object to fipp.Vectors.from_gensim"
    )


def from_gensim(model: Any) -> Table:
    """Return the vectors of gensim's KeyedVectors or of a model that has them; see `Vectors.from_gensim`."""
    keyed = getattr(model, "wv", model)
    if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
        raise FippError(f"from_gensim takes KeyedVectors or a model with .wv, not {type(model).__name__}")
    words = [str(key) for key in keyed.index_to_key]
    matrix = as_floats(np.asarray(keyed.vectors)[: len(words)])
    table = assemble(words, matrix, Inspector(Path("gensim"), strict=False))
    ngrams = getattr(keyed, "vectors_ngrams", None)
    if ngrams is None:
        return table
    composer = FastTextNgrams(as_floats(ngrams), 0, int(keyed.bucket), int(keyed.min_n), int(keyed.max_n))
    return replace(table, composer=composer)


def to_gensim(table: Table) -> Any:
    """Return gensim's KeyedVectors; see `Vectors.to_gensim`."""
    keyed = require("gensim.models", "to_gensim").KeyedVectors(table.dim)
    keyed.add_vectors(list(table.words), np.array(table.matrix))
    return keyed
