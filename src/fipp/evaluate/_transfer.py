"""Two vocabularies in one space: what a model is trained on in the source language and tried on in the target's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fipp.evaluate._tokens import Map
from fipp.exceptions import FippError
from fipp.io import Vectors

if TYPE_CHECKING:
    from fipp._alignment import Alignment


class Side(NamedTuple):
    """A vocabulary, and how its vectors come into the shared space; None if they are there already."""

    vectors: Vectors
    transform: Map | None = None


def sides_of(space: Alignment | tuple[Vectors, Vectors]) -> tuple[Side, Side]:
    """Give source and target of an alignment, or of two sets of vectors taken as they are.

    Examples
    --------
    >>> one = Vectors(["cat"], [[1.0, 0.0]])
    >>> source, target = sides_of((one, one))
    >>> source.vectors.words, source.transform
    (('cat',), None)
    """
    if isinstance(space, tuple):
        source, target = space
        if source.dim != target.dim:
            raise FippError(
                f"vectors of {source.dim} and {target.dim} dimensions share no space as they are: align them first"
            )
        return Side(source), Side(target)
    for side in ("source", "target"):
        if getattr(space, side) is None:
            raise FippError(f"this needs the {side} vectors: Alignment.load(path, source=…, target=…)")
    assert space.source is not None and space.target is not None
    return Side(space.source, space.aligner.transform), Side(space.target, space.aligner.transform_target)
