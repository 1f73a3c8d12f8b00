"""A few vectors that are kept with a model, so that its use with other vectors is noticed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError, warn
from fipp.io import Each, Sizes, Vectors, check_value

# How many words are kept, at equal distances in the vocabulary.
_PROBES = 16
# What the header of a model says of a vocabulary, as declared for `fipp.io.check_value`.
_DESCRIPTION = {"words": "n", "dimensions": "d", "checksum": [str], "probe": Each([str])}


class Probe(NamedTuple):
    """What a model remembers of a vocabulary: its size, its checksum, and a few of its words with their vectors."""

    described: dict[str, Any]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: Vectors) -> Probe:
        """Return the probe of a vocabulary.

        Examples
        --------
        >>> Probe.of(Vectors(["cat", "dog"], [[1.0], [2.0]])).described["probe"]
        ['cat', 'dog']
        """
        few = vectors.rows(np.unique(np.linspace(0, len(vectors) - 1, _PROBES).astype(int)))
        described = {"words": len(vectors), "dimensions": vectors.dim, "checksum": vectors.checksum}
        return cls({**described, "probe": list(few.words)}, few.matrix)

    def check(self, name: str, dimensions: int) -> None:
        """Raise a MismatchError unless this is as `of` makes it, for a map from so many dimensions."""
        check_value(self.described, _DESCRIPTION, f"its {name}", {"d": dimensions})
        kind = f"float {len(self.described['probe'])} {dimensions}"
        check_value({"probe": self.matrix}, {"probe": kind}, f"its {name}", Sizes())

    def matches(self, vectors: Vectors) -> bool:
        """Return whether these are the same vectors, perhaps more or fewer of them.

        Examples
        --------
        >>> known = Probe.of(Vectors(["cat", "dog"], [[1.0], [2.0]]))
        >>> known.matches(Vectors(["cat"], [[1.0]])), known.matches(Vectors(["cat"], [[5.0]]))
        (True, False)
        """
        if vectors.dim != self.described["dimensions"]:
            return False
        # Not by the checksum: another --limit gives the same vectors, only more or fewer of them.
        rows = vectors.find(self.described["probe"])
        found = rows >= 0
        difference = np.linalg.norm(vectors.matrix[rows[found]] - self.matrix[found])
        # Not to the last bit: the same vectors may have been stored with fewer digits.
        return bool(found.any() and difference <= 1e-2 * np.linalg.norm(self.matrix[found]))


def check_vectors(probes: Mapping[str, Probe], given: Mapping[str, Vectors], path: str | os.PathLike[str]) -> None:
    """Refuse vectors of another dimension or of another side of the model; warn of vectors it was not fitted on."""
    for name, vectors in given.items():
        own = probes[name]
        others = [other for other, probe in probes.items() if other != name and probe.matches(vectors)]
        if others and not own.matches(vectors):
            raise FippError(f"{path} was fitted on these {name} vectors as its {others[0]} vectors: are they swapped?")
        if vectors.dim != own.described["dimensions"]:
            raise FippError(
                f"{path} maps {name} vectors of {own.described['dimensions']} dimensions, but these have "
                f"{vectors.dim}: is it the right file, and are source and target in the right order?"
            )
        if not own.matches(vectors):
            warn(
                f"{path} was fitted on other {name} vectors than these: their dimension is the same, but not their "
                "values. What it gives for them means nothing unless they are of the same model"
            )
