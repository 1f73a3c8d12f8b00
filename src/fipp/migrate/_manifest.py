"""The record of a conversion: what is converted by which model to where, and which fragments are done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args

from sklearn.utils._param_validation import Interval, StrOptions

from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.io import Each, atomic_path, check_value, explain_failure, is_same_file, lock
from fipp.migrate._batches import DTYPES
from fipp.stores import Fragment

FORMAT = 1
State = Literal["converting", "finished", "switched"]

_TEXTS = ("version", "model", "model_checksum", "source", "sink", "column", "name", "before")
_COUNT, _SECONDS = ([Interval(kind, 0, None, closed="left")] for kind in (Integral, Real))
_CONTENT = {
    **{name: [str] for name in _TEXTS},
    "format": _COUNT, "key": [str, None], "dtype": [StrOptions(set(DTYPES))], "fragment_rows": "n", "total": _COUNT,
    "state": [StrOptions(set(get_args(State)))], "seconds": _SECONDS, "checksums": [dict],
}  # fmt: skip
_FRAGMENT = {
    "name": [str], "after": [object], "last": [object], "rows": _COUNT, "version": [str], "checksum": [str],
    "seconds": _SECONDS,
}  # fmt: skip


class _NewerError(FippError):
    """The manifest was written by a newer version of fipp."""


@dataclass
class Manifest:
    """What is known of a conversion: in its file, a line of JSON for the whole, and then one for each fragment.

    The whole is replaced or stays; a line of a fragment that was not written to its end counts for nothing.
    """

    path: Path
    model: str
    model_checksum: str
    source: str
    sink: str
    column: str
    key: str | None
    dtype: str
    fragment_rows: int
    total: int
    state: State = "converting"
    seconds: float = 0.0
    name: str = ""
    """The name that was switched to the converted collection, and what is needed to switch back."""
    before: str = ""
    checksums: dict[str, str] = field(default_factory=dict)
    fragments: dict[str, tuple[Fragment, str]] = field(default_factory=dict)
    """The fragments that are done by name, each with the checksum of what was written."""
    has_half_a_line: bool = False
    """Whether the process that wrote the last line of the file was killed, or the disk was full."""

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a manifest; raise a FippError if it is not one."""
        if not path.exists():
            raise FippError(
                f"no conversion is known: there is no manifest {path}. For a database it is in the folder where the "
                "conversion was started, unless --manifest named another place"
                if path.parent == Path()
                else f"no conversion is known: there is no manifest {path}"
            )
        try:
            header, *lines, tail = path.read_text(encoding="utf-8").split("\n")
            content = json.loads(header)
            if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] > FORMAT:
                raise _NewerError(f"{path} was written by a newer fipp: pip install -U fipp")
            check_value(content, _CONTENT, "it", {})
            check_value(list(content["checksums"].values()), Each([str]), "checksums", {})
            entries = [dict(zip(_FRAGMENT, json.loads(line), strict=True)) for line in lines]
            check_value(entries, Each(_FRAGMENT), "fragments", {})
        except _NewerError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            raise FippError(f"{path} is not a manifest of a conversion, or is damaged: {error}") from None
        known = {name: value for name, value in content.items() if name not in ("format", "version")}
        manifest = cls(path=path, **known, has_half_a_line=bool(tail))
        for entry in entries:
            checksum, seconds = entry.pop("checksum"), entry.pop("seconds")
            manifest._note(Fragment(**entry), checksum, seconds)
        return manifest

    def save(self) -> None:
        """Write everything to its file."""
        content = {name: getattr(self, name) for name in _CONTENT if name not in ("format", "version")}
        header = json.dumps({"format": FORMAT, "version": __version__, **content})
        lines = (_line(fragment, checksum, 0.0) for fragment, checksum in self.fragments.values())
        with atomic_path(self.path) as temporary:
            temporary.write_text("".join([f"{header}\n", *lines]), encoding="utf-8")
        self.has_half_a_line = False

    def has(self, fragment: Fragment) -> bool:
        """Return whether a fragment is done, and unchanged since."""
        return fragment.name in self.fragments and self.fragments[fragment.name][0] == fragment

    def record(self, fragment: Fragment, checksum: str, seconds: float) -> None:
        """Note that a fragment is done, by a line at the end of the file."""
        self._note(fragment, checksum, seconds)
        if self.has_half_a_line:
            self.save()
            return
        with explain_failure(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(_line(fragment, checksum, seconds))
            file.flush()
            os.fsync(file.fileno())

    def _note(self, fragment: Fragment, checksum: str, seconds: float) -> None:
        self.fragments[fragment.name] = (fragment, checksum)
        self.seconds += seconds

    def arrange(self, planned: list[Fragment]) -> list[Fragment]:
        """Put the fragments in the order of the source; return those that it no longer has, which are forgotten."""
        names = dict.fromkeys(fragment.name for fragment in planned)
        gone = [fragment for name, (fragment, _) in self.fragments.items() if name not in names]
        self.fragments = {name: self.fragments[name] for name in names}
        self.save()
        return gone

    @property
    def done(self) -> list[Fragment]:
        """The fragments that are done."""
        return [fragment for fragment, _ in self.fragments.values()]

    @property
    def rows(self) -> int:
        """How many rows are done."""
        return sum(fragment.rows for fragment in self.done)

    def status(self) -> dict[str, Any]:
        """Return what a person wants to know while a conversion runs."""
        rate = self.rows / self.seconds if self.seconds else 0.0
        left = max(0, self.total - self.rows) if self.state == "converting" else 0
        return {
            "state": self.state, "source": self.source, "sink": self.sink, "model": self.model, "column": self.column,
            "dtype": self.dtype, "rows": self.rows, "total": self.total, "fragments": len(self.fragments),
            "rows_per_second": round(rate, 1), "seconds_left": round(left / rate, 1) if rate else None,
            "switched": self.name or None,
        }  # fmt: skip

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second process that works on the same conversion."""
        place = self.path.with_name(f".{self.path.name}.lock")
        descriptor = os.open(place, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            if not lock(descriptor, wait=False) or not is_same_file(descriptor, place):
                raise FippError(f"another process works on {self.sink} at this moment")
            # Another process may have worked on it since it was read.
            vars(self).update(vars(Manifest.load(self.path)))
            yield
            place.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _line(fragment: Fragment, checksum: str, seconds: float) -> str:
    return json.dumps([*astuple(fragment), checksum, round(seconds, 6)]) + "\n"
