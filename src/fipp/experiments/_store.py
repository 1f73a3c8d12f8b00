"""Results as JSON lines: each is written as soon as it is known, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError

Record = dict[str, Any]
"""A result that JSON can hold. ``"key"`` identifies it; ``"error"`` says why it failed."""


def result_key(described: Mapping[str, Any], *rows: NDArray[np.int64] | None) -> str:
    """Return a SHA-256 of everything that a result depends on.

    Parameters
    ----------
    described : dict
        Settings, checksums and the version of fipp, as JSON can hold them.
    *rows : ndarray or None
        Row numbers.

    Examples
    --------
    >>> result_key({"lam": 1.0, "epsilon": 0.1}) == result_key({"epsilon": 0.1, "lam": 1.0})
    True
    """
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for each in rows:
        digest.update(b"none" if each is None else np.ascontiguousarray(each, dtype=np.int64).tobytes())
    return digest.hexdigest()


def read_results(path: str | os.PathLike[str]) -> dict[str, Record]:
    r"""Return the finished records of a file by key, the last one of each key; none if there is no such file.

    Failed records are not finished. An incomplete last line, left by a run that was killed, is ignored.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "results.jsonl")
    >>> _ = path.write_text('{"key": "a", "n": 1}\n{"key": "b", "error": "no pairs"}\n{"key": "c", "n"')
    >>> read_results(path)
    {'a': {'key': 'a', 'n': 1}}
    """
    path = Path(path)
    if not path.exists():
        return {}
    *lines, _incomplete = path.read_bytes().split(b"\n")
    records: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            key = record["key"]
        except (ValueError, TypeError, KeyError):
            raise FippError(
                f"line {number} of {path} is not a result written by fipp; choose another file, or remove this one"
            ) from None
        if "error" not in record:
            records[key] = record
    return records


@contextmanager
def appending(path: str | os.PathLike[str] | None) -> Iterator[Callable[[Record], None]]:
    """Return a function that adds a record to the file and does not return before it is on disk."""
    if path is None:
        yield lambda record: None
        return
    _drop_incomplete_line(Path(path))
    with open(path, "ab") as file:

        def keep(record: Record) -> None:
            file.write(json.dumps(record, ensure_ascii=False, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

        yield keep


def _drop_incomplete_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)
