"""Model files: named arrays and a JSON header in one safetensors file. Nothing is ever pickled."""

from __future__ import annotations

import json
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

_KEY = "fipp"

Array = npt.NDArray[Any]


def write_model(path: str | os.PathLike[str], tensors: Mapping[str, npt.ArrayLike], header: Mapping[str, Any]) -> None:
    """Write finite arrays and a JSON header to a safetensors file, atomically; equal input gives equal bytes."""
    arrays = {name: _checked(name, np.asarray(array), path) for name, array in tensors.items()}
    # One metadata key only: safetensors does not promise an order for several.
    contents = save(arrays, metadata={_KEY: _encode_header(header, path)})
    with atomic_path(path) as temporary:
        temporary.write_bytes(contents)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the arrays and the header that `write_model` wrote, in this version of fipp or an older one."""
    path = Path(path)
    check_readable(path)
    errors = (SafetensorError, OSError, TypeError, AttributeError)
    # safe_open checks sizes against the file before any array is made.
    with explained(path, "is not a whole safetensors file", *errors), safe_open(path, framework="numpy") as file:
        header = _decode_header((file.metadata() or {}).get(_KEY), path)
        tensors = {name: _checked(name, file.get_tensor(name), path) for name in file.keys()}  # noqa: SIM118
    return tensors, header


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model that fipp wrote; only its header is read."""
    try:
        with safe_open(Path(path), framework="numpy") as file:
            return _KEY in (file.metadata() or {})
    except (SafetensorError, OSError):
        return False


def _checked(name: str, array: Array, path: str | os.PathLike[str]) -> Array:
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise FippError(f"the array {name!r} of the model {path} must be real numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise FippError(f"the array {name!r} of the model {path} has a NaN or an infinity")
    # asarray, unlike ascontiguousarray, leaves a single number without an axis.
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _encode_header(header: Mapping[str, Any], path: str | os.PathLike[str]) -> str:
    if "format" in header:
        raise FippError("the header of a model must not have the key 'format': it is the file's own")
    try:
        return json.dumps(
            {"format": FORMAT, **header}, sort_keys=True, allow_nan=False, ensure_ascii=False, default=_plain
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise FippError(f"the header of the model {path} cannot be written as JSON: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is not a JSON value")


def _decode_header(text: str | None, path: Path) -> dict[str, Any]:
    if text is None:
        raise FippError(f"{path} is not a model: this safetensors file was not written by fipp")
    try:
        header = json.loads(text)
        version = header.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FippError(f"{path} is damaged: its header cannot be read") from error
    if not isinstance(version, int) or version < 1:
        raise FippError(f"{path} is damaged: its header has the format number {version!r}")
    if version > FORMAT:
        raise FippError(
            f"{path} was written by a newer fipp (format {version}, this one reads {FORMAT}): pip install -U fipp"
        )
    return dict(header)
