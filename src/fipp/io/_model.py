"""Model files: named arrays and a JSON header in one safetensors file, with a checksum. Nothing is ever pickled."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._stream import check_readable, explained

FORMAT = 1
"""The version of the format; increased when an older fipp could not read a file correctly."""

# Far beyond any model, and small enough that no header takes long or much memory.
MOST_HEADER_BYTES = 4 << 20
MOST_TENSORS = 1000
DEEPEST_HEADER = 32

_KEY = "fipp"
# The header's own entries, beside those of its writer; older files have no checksum.
_FORMAT_KEY, _CHECKSUM_KEY = "format", "checksum"
_NOT_WHOLE = "is not a whole safetensors file"
_ERRORS = (SafetensorError, OSError, TypeError, ValueError, AttributeError, OverflowError, MemoryError)

Array = npt.NDArray[Any]
AnyPath = str | os.PathLike[str]


def write_model(path: AnyPath, tensors: Mapping[str, npt.ArrayLike], header: Mapping[str, Any]) -> None:
    """Write finite arrays and a JSON header to a safetensors file, atomically; equal input gives equal bytes."""
    arrays = {name: _checked(name, np.asarray(array), path) for name, array in tensors.items()}
    if len(arrays) > MOST_TENSORS:
        raise FippError(f"the model {path} would have {len(arrays):,} arrays; {MOST_TENSORS:,} is the most")
    # One metadata key only: safetensors does not promise an order for several.
    contents = save(arrays, metadata={_KEY: _encode_header(header, arrays, path)})
    if int.from_bytes(contents[:8], "little") > MOST_HEADER_BYTES:
        raise FippError(f"the header of the model {path} would be longer than {MOST_HEADER_BYTES:,} bytes")
    with atomic_path(path) as temporary:
        temporary.write_bytes(contents)


def read_model(path: AnyPath) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the arrays and the header that `write_model` wrote, in this version of fipp or an older one.

    Everything here is finite, of a limited depth and number, and, unless the file is older than checksums, as written.
    Whether it describes a model is for the caller to check.
    """
    path = Path(path)
    check_readable(path)
    # safe_open checks sizes against the file before any array is made.
    with explained(path, _NOT_WHOLE, *_ERRORS), _opened(path) as file:
        header = _decode_header((file.metadata() or {}).get(_KEY), path)
        names = file.keys()
        if len(names) > MOST_TENSORS:
            raise FippError(f"{path} is damaged: it has {len(names):,} arrays; {MOST_TENSORS:,} is the most")
        tensors = {name: _checked(name, file.get_tensor(name), path) for name in names}
    checksum = header.pop(_CHECKSUM_KEY, None)
    if checksum is not None and checksum != _checksum(header, tensors):
        raise FippError(f"{path} is damaged: its contents do not have the checksum that they were written with")
    del header[_FORMAT_KEY]
    return tensors, header


def is_model(path: AnyPath) -> bool:
    """Return whether a file is a model that fipp wrote; only its header is read, and nothing is ever raised."""
    try:
        with _opened(Path(path)) as file:
            return _KEY in (file.metadata() or {})
    except (FippError, *_ERRORS):
        return False


def _opened(path: Path) -> Any:
    """Open a safetensors file, unless its header is longer than that of any model."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if MOST_HEADER_BYTES < length <= path.stat().st_size:
        raise FippError(f"{path} is not a model: its header has {length:,} bytes; {MOST_HEADER_BYTES:,} is the most")
    return safe_open(path, framework="numpy")


def _checked(name: str, array: Array, path: AnyPath) -> Array:
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise FippError(f"the array {name!r} of the model {path} must be real numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise FippError(f"the array {name!r} of the model {path} has a NaN or an infinity")
    # asarray, unlike ascontiguousarray, leaves a single number without an axis.
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _checksum(header: Mapping[str, Any], tensors: Mapping[str, Array]) -> str:
    """Return a digest of the whole header, except the checksum itself, and of all arrays."""
    digest = hashlib.blake2b(_dumped(header).encode(), digest_size=16)
    for name, array in sorted(tensors.items()):
        digest.update(f"\n{name!r} {array.dtype.str[1:]} {array.shape}\n".encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _encode_header(header: Mapping[str, Any], tensors: Mapping[str, Array], path: AnyPath) -> str:
    for own in (_FORMAT_KEY, _CHECKSUM_KEY):
        if own in header:
            raise FippError(f"the header of a model must not have the key {own!r}: it is the file's own")
    try:
        # What is read back is what the checksum is taken of: tuples become lists, numbers as keys become text.
        plain = json.loads(_dumped({_FORMAT_KEY: FORMAT, **header}))
        _check_header(plain)
        return _dumped({**plain, _CHECKSUM_KEY: _checksum(plain, tensors)})
    except (TypeError, ValueError, RecursionError) as error:
        raise FippError(f"the header of the model {path} cannot be written as JSON: {error}") from error


def _dumped(header: Mapping[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is not a JSON value")


def _decode_header(text: str | None, path: Path) -> dict[str, Any]:
    """Return the header, with the entries that are the file's own."""
    if text is None:
        raise FippError(f"{path} is not a model: this safetensors file was not written by fipp")
    try:
        header = json.loads(text)
        version = header[_FORMAT_KEY]
        _check_header(header)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FippError(f"{path} is damaged: its header cannot be read ({error})") from error
    if not isinstance(version, int) or version < 1:
        raise FippError(f"{path} is damaged: its header has the format number {version!r}")
    if version > FORMAT:
        raise FippError(
            f"{path} was written by a newer fipp (format {version}, this one reads {FORMAT}): pip install -U fipp"
        )
    return dict(header)


def _check_header(header: Any) -> None:
    """Raise a ValueError for numbers that no model has, and for nesting that later steps could not follow."""
    level: list[Any] = [header]
    for _ in range(DEEPEST_HEADER):
        for value in level:
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError("it has a NaN or an infinity")
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise ValueError("it has a whole number of more than 64 bits")
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEEPEST_HEADER} levels")
