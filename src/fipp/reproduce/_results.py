"""Results as JSON lines: each is written as it comes, and a line that was cut off is no obstacle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from fipp.exceptions import FippError

Record = dict[str, Any]


class Keep(Protocol):
    """Keeps a record."""

    def __call__(self, record: Mapping[str, Any]) -> None: ...


def read_results(path: str | Path) -> dict[str, Record]:
    r"""Return the finished records of a file by their key, the last of each; none if there is no file.

    Records of failures are not finished. A last line without its end was being written when the run was killed.

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
    *lines, _cut = path.read_bytes().split(b"\n")
    records: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            key = record["key"]
        except (ValueError, TypeError, KeyError):
            raise FippError(
                f"line {number} of {path} is not a result that fipp kept there; name another file, or remove it"
            ) from None
        if "error" not in record:
            records[key] = record
    return records


@contextmanager
def appending(path: str | Path | None) -> Iterator[Keep]:
    """Return a function that adds a record to the file, so that it survives whatever happens next."""
    if path is None:
        yield lambda record: None
        return
    _drop_cut_line(Path(path))
    with open(path, "ab") as file:

        def keep(record: Mapping[str, Any]) -> None:
            file.write(json.dumps(record, ensure_ascii=False, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

        yield keep


def _drop_cut_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)
