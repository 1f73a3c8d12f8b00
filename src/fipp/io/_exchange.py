"""Vectors from and to the objects of other libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fipp.io._vectors import Vectors


class Exchange:
    """The part of `Vectors` that knows other libraries; none of them is imported before it is needed."""

    @classmethod
    def from_gensim(cls, model: Any) -> Vectors:
        """Take the vectors of gensim's ``KeyedVectors``, or of a model that has them as ``.wv``.

        Those of gensim's fastText become `SubwordVectors`. gensim's own files are pickles, which fipp never opens.

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from fipp import Vectors
        >>> keyed = SimpleNamespace(index_to_key=["cat"], vectors=np.ones((1, 2)))  # gensim.models.KeyedVectors
        >>> Vectors.from_gensim(keyed)
        Vectors(1 words, 2 dimensions)
        """
        from fipp.io._gensim import from_gensim

        return from_gensim(model)

    def to_gensim(self) -> Any:
        """Return the vectors as gensim's ``KeyedVectors``, which have a copy of the matrix.

        Examples
        --------
        >>> from fipp import Vectors
        >>> keyed = Vectors(["cat", "dog"], [[1.0], [2.0]]).to_gensim()
        >>> keyed["dog"]
        array([2.], dtype=float32)
        """
        from fipp.io._gensim import to_gensim

        return to_gensim(self)  # type: ignore[arg-type]

    @classmethod
    def from_spacy(cls, pipeline: Any, words: Iterable[str] | None = None) -> Vectors:
        """Take the vectors of a loaded spaCy pipeline, or of its ``vocab``.

        A pipeline with floret vectors has no list of words: name those you want in ``words``.

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from fipp import Vectors
        >>> vectors = SimpleNamespace(data=np.ones((1, 2)), key2row={5439657043933447811: 0})
        >>> vocab = SimpleNamespace(vectors=vectors, strings={5439657043933447811: "cat"})  # spacy.load(...).vocab
        >>> Vectors.from_spacy(vocab).words
        ('cat',)
        """
        from fipp.io._spacy import from_spacy

        vectors = from_spacy(pipeline, words)
        return vectors if words is None else vectors._only(list(dict.fromkeys(words)))

    @classmethod
    def from_model2vec(cls, model: Any) -> Vectors:
        """Take the vectors of the tokens of a loaded model2vec ``StaticModel``.

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from fipp import Vectors
        >>> tokenizer = SimpleNamespace(get_vocab=lambda: {"cat": 0, "##s": 1})
        >>> model = SimpleNamespace(embedding=np.ones((2, 3)), tokenizer=tokenizer)  # StaticModel.from_pretrained(...)
        >>> Vectors.from_model2vec(model).words
        ('cat', '##s')
        """
        from fipp.io._model2vec import from_model2vec

        return from_model2vec(model)
