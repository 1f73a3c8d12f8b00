"""Vectors by id in a folder that can be added to at any time: a killed writer loses what it had not finished, no more.

Three files: ``about.json`` has the number of dimensions, ``vectors.f32`` one vector after the other, and line i of
``ids.jsonl`` the id and the checksum of vector i. Vectors are on the disk before their lines are written, so that a
vector counts if its line is whole. Writers take turns by a lock; readers need none.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError, warn
from fipp.io import Sizes, atomic_path, check_value, explain_failure, locked

_FORMAT = 1
_ABOUT = {"format": "f", "dimensions": "d"}
_LONGEST_LINE = 1 << 16


class VectorStore(Protocol):
    """Where a cascade keeps what it has embedded."""

    def get(self, ids: Sequence[Any]) -> Mapping[Any, NDArray[np.float32]]:
        """Return the vectors of those ids that it has."""

    def put(self, ids: Sequence[Any], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of some ids; those that it has already may stay as they are."""


class _Row(NamedTuple):
    number: int
    checksum: int


class VectorFolder:
    """Vectors by id in a folder.

    Several processes may use it at once. It holds the ids in memory, and reads vectors from the disk.

    Parameters
    ----------
    path : str or path-like
        The folder; it is made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> folder = VectorFolder(tempfile.mkdtemp())
    >>> folder.put(["a", 7], np.eye(2))
    >>> len(VectorFolder(folder.path)), folder.get([7, "b"])
    (2, {7: array([0., 1.], dtype=float32)})
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with explain_failure(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self._about, self._vectors, self._ids = (
            self.path / name for name in ("about.json", "vectors.f32", "ids.jsonl")
        )
        self._rows: dict[Any, _Row] = {}
        # How many vectors, and how many bytes of their lines, are known so far.
        self._count = self._read = 0
        self.dimensions: int | None = None
        self._catch_up()

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, ids: Sequence[Any]) -> dict[Any, NDArray[np.float32]]:
        """Return the vectors of those ids that are here.

        Parameters
        ----------
        ids : sequence of str or int

        Returns
        -------
        dict
        """
        if any(key not in self._rows for key in ids):
            self._catch_up()
        wanted = {key: self._rows[key] for key in ids if key in self._rows}
        if not wanted:
            return {}
        assert self.dimensions is not None
        stored = np.memmap(self._vectors, "<f4", "r", shape=(self._count, self.dimensions))
        found = {}
        for key, row in wanted.items():
            vector = np.array(stored[row.number], np.float32)
            if zlib.crc32(vector.tobytes()) == row.checksum:
                found[key] = vector
            else:  # a power cut, or a bad disk: it will be embedded again
                warn(f"a vector in {self.path} is damaged and is left out (id {key!r})")
                del self._rows[key]
        return found

    def put(self, ids: Sequence[Any], vectors: NDArray[np.float32]) -> None:
        """Add vectors. Ids that are here already keep theirs.

        Parameters
        ----------
        ids : sequence of str or int
        vectors : array of shape (n, d)
        """
        for key in ids:
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise FippError(f"ids in a folder of vectors are text or whole numbers, not {key!r}")
        vectors = np.ascontiguousarray(vectors, "<f4")
        if vectors.ndim != 2 or len(vectors) != len(ids):
            raise FippError(f"there are {len(ids):,} ids for vectors of shape {vectors.shape}")
        with explain_failure(self.path), locked(self.path / "lock"):
            self._catch_up()
            self._check_dimensions(vectors.shape[1])
            fresh = {key: row for row, key in enumerate(ids) if key not in self._rows}
            added = [np.ascontiguousarray(vectors[row]).tobytes() for row in fresh.values()]
            lines = [json.dumps([key, zlib.crc32(each)]) for key, each in zip(fresh, added, strict=True)]
            if any(len(line) > _LONGEST_LINE for line in lines):
                raise FippError(f"an id is longer than {_LONGEST_LINE:,} bytes")
            _append(self._vectors, self._count * 4 * vectors.shape[1], b"".join(added))
            _append(self._ids, self._read, "".join(f"{line}\n" for line in lines).encode())
            self._catch_up()

    def _check_dimensions(self, dimensions: int) -> None:
        if self.dimensions is None:
            with atomic_path(self._about) as temporary:
                temporary.write_text(json.dumps({"format": _FORMAT, "dimensions": dimensions}), encoding="utf-8")
            self.dimensions = dimensions
        elif dimensions != self.dimensions:
            raise FippError(
                f"{self.path} has vectors of {self.dimensions} dimensions, not {dimensions}: another model?"
            )

    def _catch_up(self) -> None:
        """Learn what this or another process has added since."""
        if self.dimensions is None and self._about.exists():
            self.dimensions = self._read_about()
        if self.dimensions is None or not self._ids.exists():
            return
        whole = self._vectors.stat().st_size // (4 * self.dimensions)
        with self._ids.open("rb") as file:
            file.seek(self._read)
            for line in iter(lambda: file.readline(_LONGEST_LINE + 1), b""):
                if not line.endswith(b"\n") or self._count == whole:
                    return  # its writer was killed, or is not ready yet
                key, checksum = self._parse(line)
                self._rows[key] = _Row(self._count, checksum)
                self._count += 1
                self._read += len(line)

    def _read_about(self) -> int:
        try:
            about = json.loads(self._about.read_bytes()[:_LONGEST_LINE])
            check_value(about, _ABOUT, "its description", Sizes())
        except (ValueError, FippError, RecursionError) as error:
            raise FippError(f"{self._about} is damaged: {error}") from None
        if about["format"] != _FORMAT:
            raise FippError(f"{self.path} was written by a newer fipp")
        return int(about["dimensions"])

    def _parse(self, line: bytes) -> tuple[Any, int]:
        try:
            key, checksum = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            key = checksum = None
        if not isinstance(key, str | int) or not isinstance(checksum, int):
            raise FippError(f"line {self._count + 1:,} of {self._ids} is damaged: remove the folder to start again")
        return key, checksum


def _append(path: Path, at: int, data: bytes) -> None:
    """Write data behind what is whole of a file, over what a killed writer left, and wait until it is on the disk."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    with os.fdopen(descriptor, "r+b") as file:
        file.truncate(at)
        file.seek(at)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
