"""Damaged model files: small models of every method, ways to change them, and what a loaded one must stand.

Used by tests/aligners/test_model_fuzz.py, quickly, and by scripts/fuzz_models.py, for long.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from copy import deepcopy
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save
from sklearn.base import clone

from cheap_methods import CHEAP, EXTRAS
from fipp import Alignment, Vectors
from fipp.aligners import BaseAligner
from fipp.cli._vectors import info
from fipp.exceptions import FippError
from fipp.io import is_model
from fipp.io._model import _checksum

N_WORDS, N_PAIRS, D1, D2 = 260, 220, 5, 6
ROWS = np.random.default_rng(0).standard_normal((7, 12)).astype(np.float32)
ROWS[3] = 0

Model = tuple[dict[str, np.ndarray], dict[str, Any]]


def spaces(d2: int) -> tuple[Vectors, Vectors]:
    """Two related vocabularies."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_WORDS, D1))
    turn = np.linalg.qr(rng.standard_normal((d2, d2)))[0]
    Y = np.hstack([X, X])[:, :d2] @ turn + 0.05 * rng.standard_normal((N_WORDS, d2))
    return Vectors([f"s{i}" for i in range(N_WORDS)], X), Vectors([f"t{i}" for i in range(N_WORDS)], Y)


def write_corpus(folder: Path) -> None:
    """Fit every method that can be fitted here, and save it with words and without."""
    for name, method in CHEAP.items():
        if name in EXTRAS and not find_spec(EXTRAS[name]):
            continue
        aligner = clone(method)
        if name == "mlp":
            aligner.set_params(hidden=8, n_epochs=3)
        # A coupling needs spaces of the same shape.
        source, target = spaces(D1 if name == "gwa" else D2)
        with warnings.catch_warnings(action="ignore"):
            aligner.fit(source.matrix, target.matrix, [(i, i) for i in range(N_PAIRS)])
            alignment = Alignment(aligner, source, target, seed={"found": N_PAIRS, "total": 300, "coverage": 0.73})
            alignment.evaluate([(f"s{i}", f"t{i}") for i in range(N_PAIRS, N_WORDS)])
        alignment.save(folder / f"{name}.fipp")
        aligner.save(folder / f"{name}.aligner")


class Case:
    """A damaged model, made from a number: the same number always makes the same file."""

    def __init__(self, corpus: dict[str, bytes], seed: int, number: int) -> None:
        self.rng = np.random.default_rng((seed, number))
        self.name = sorted(corpus)[number % len(corpus)]
        self.content = self._damaged(corpus[self.name])

    def _damaged(self, content: bytes) -> bytes:
        if self.rng.random() < 0.2:
            if self.rng.random() < 0.5:  # without a checksum, damage is found by other means or not at all
                content = encoded(*decoded(content), checksum="none")
            return self._damaged_bytes(bytearray(content))
        tensors, header = decoded(content)
        if self.rng.random() < 0.25:
            self._change_values(tensors, header)
            return encoded(tensors, header, checksum="right")
        for _ in range(self._any([1, 1, 1, 2, 3])):
            if self.rng.random() < 0.35:
                self._damage_tensors(tensors)
            else:
                self._damage_header(header)
        return encoded(tensors, header, checksum=self._any(["right", "right", "right", "none", "stale"]))

    def _any(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def _damaged_bytes(self, content: bytearray) -> bytes:
        # Half of the damage is in the header, which is smaller than the arrays in most models.
        end = self._any([len(content), min(len(content), 8 + int.from_bytes(content[:8], "little"))])
        where = int(self.rng.integers(end))
        kind = self._any(["flip", "flip", "flip", "cut", "insert", "remove", "length"])
        if kind == "flip":
            for place in self.rng.integers(end, size=self.rng.integers(1, 5)):
                content[place] ^= 1 << int(self.rng.integers(8))
        elif kind == "cut":
            del content[where:]
        elif kind == "insert":
            content[where:where] = self.rng.bytes(int(self.rng.integers(1, 20)))
        elif kind == "remove":
            del content[where : where + int(self.rng.integers(1, 20))]
        else:
            content[:8] = self._any([0, 1, end, 2**31, 2**63, len(content)]).to_bytes(8, "little")
        return bytes(content)

    def _change_values(self, tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        """Give some arrays and entries other values of the same type, which may well make a model that loads."""
        for name in self.rng.choice(sorted(tensors), self.rng.integers(4)):
            array = tensors[name]
            if array.dtype.kind == "f":
                noise = self.rng.standard_normal(array.shape) * 10.0 ** self.rng.integers(-45, 38)
                tensors[name] = np.where(self.rng.random(array.shape) < self._any([0.1, 1]), noise, array).astype("f4")
                tensors[name] = tensors[name].astype(array.dtype)
            else:
                tensors[name] = array.reshape(-1)[self.rng.permutation(array.size)].reshape(array.shape)
        places = [(holder, key) for holder, key in _places(header) if not isinstance(holder[key], (dict, list))]
        for _ in range(self.rng.integers(3)):
            holder, key = self._any(places)
            if key not in ("class", "format"):
                alike = [value for value in VALUES if type(value) is type(holder[key])]
                holder[key] = self._any(alike) if alike else holder[key]

    def _damage_tensors(self, tensors: dict[str, np.ndarray]) -> None:
        if not tensors:
            return
        name, other = self._any(sorted(tensors)), self._any(sorted(tensors))
        array = tensors[name]
        kind = self._any(["drop", "rename", "swap", "shape", "shape", "type", "numbers", "numbers", "add"])
        if kind == "drop":
            del tensors[name]
        elif kind == "rename":
            del tensors[name]
            tensors[self._tensor_name(name)] = array
        elif kind == "swap":
            tensors[name], tensors[other] = tensors[other], array
        elif kind == "shape":
            tensors[name] = self._any(SHAPES)(array)
        elif kind == "type":
            with np.errstate(all="ignore"):
                tensors[name] = array.astype(self._any(["f2", "f4", "f8", "i4", "i8", "u8", "u1", "?"]))
        elif kind == "numbers":
            with np.errstate(all="ignore"):
                tensors[name] = self._other_numbers(array)
        else:
            tensors[self._tensor_name(name)] = array

    def _tensor_name(self, name: str) -> str:
        start = name.rpartition(".")[0]
        return self._any([f"{start}.{self._any(NAMES)}", f"{name}.{self._any(NAMES)}", self._any(NAMES), name[:-1]])

    def _other_numbers(self, array: np.ndarray) -> np.ndarray:
        value = self._any([0, 1, -1, 1e38, -1e38, 1e-45, 3e4, 0.5, 1e8, 7, 2**31, 2**63 - 1, np.nan, np.inf])
        if array.dtype.kind in "iu" and not np.isfinite(value):
            value = 0
        changed = array.copy()
        if self.rng.random() < 0.5 or not array.size:
            changed[...] = np.array(value).astype(array.dtype)
        else:
            changed.flat[self.rng.integers(array.size)] = np.array(value).astype(array.dtype)
        return changed

    def _damage_header(self, header: dict[str, Any]) -> None:
        places = list(_places(header))
        if not places:
            return
        holder, key = self._any(places)
        other_holder, other_key = self._any(places)
        value = holder[key]
        kind = self._any(["drop", "value", "value", "value", "rename", "copy", "copy", "nest", "add"])
        if kind == "drop":
            del holder[key]
        elif kind == "value":
            holder[key] = self._value()
        elif kind == "rename" and isinstance(holder, dict):
            holder[self._any([*NAMES, key[:-1], f"{key}_"])] = holder.pop(key)
        elif kind == "copy":
            holder[key] = _copied(other_holder[other_key])
        elif kind == "nest":
            for _ in range(self._any([1, 2, 5, 30, 100])):
                value = self._any(NESTS)(value)
            holder[key] = value
        elif isinstance(holder, dict):
            holder[self._any(NAMES)] = self._any([self._value(), _copied(value)])

    def _value(self) -> Any:
        return deepcopy(self._any(VALUES))  # further damage must not change the list


def _places(header: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [header]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


SHAPES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda array: array.T.copy(),
    lambda array: array[None],
    lambda array: array.reshape(-1),
    lambda array: array[:-1] if array.ndim else array,
    lambda array: array[:0] if array.ndim else array,
    lambda array: array[..., :-1] if array.ndim else array,
    lambda array: np.concatenate([array, array]) if array.ndim else array,
    lambda array: np.concatenate([array, array], axis=-1) if array.ndim else array,
    lambda array: np.zeros((), array.dtype),
    lambda array: np.zeros((0, *array.shape), array.dtype),
]
NAMES = [
    *["transform", "transform_target", "fit", "__class__", "__dict__", "__init__", "_seed", "_sample_weight", "map_"],
    *["target_map_", "offset_", "target_offset_", "pairs_", "induced_pairs_", "aligner_", "aligner"],
    *["n_features_in_", "n_features_out_", "source_preprocess_", "preprocess", "target_preprocess_", "mean_"],
    *["means_", "components_", "steps", "class", "params", "fitted", "chosen_", "trials_", "starts_", "start_"],
    *["skipped_", "anchors_", "linear", "learns_from", "objective_", "random_state", "0", "1", "version", "seed"],
    *["scores", "source", "target", "checksum", "format", "é", ""],
]
VALUES = [
    *[None, True, False, 0, 1, -1, 2, 5, 6, 7, 1000, 2**31, 2**63, -(2**64), 10**400, 0.5, -0.5, 1e308, 1e-320],
    *[float("nan"), float("inf"), "", "x", "fipp", "auto", "9" * 5000, "[/bold]", "\ud800", "\x1b[2J", "é\u202e"],
    *["unit", "isotropic:99", "isotropic:" + "9" * 5000, "+".join(["unit"] * 300), "iterative:0", "published"],
    *["Pipeline", "Procrustes", "Auto", "Local", "Objective", "Isotropic", "RandomState(MT19937) at 0x7F"],
    *[[], {}, [[]], [{}], ["x"], [1, 2], {"class": "Pipeline", "steps": []}, {"class": "Procrustes", "params": {}}],
    {"class": "Pipeline", "steps": [{"class": "UnitLength", "params": {}, "fitted": {"n_features_in_": 5}}] * 200},
    {"class": "Centre", "params": {}, "fitted": {"n_features_in_": 5}},
    {"class": "UnitLength", "params": {}, "fitted": {"n_features_in_": 5}},
    {"class": "UnitLength", "params": {}, "fitted": {"n_features_in_": 6}},
]
NESTS: list[Callable[[Any], Any]] = [
    lambda value: [value],
    lambda value: {"x": value},
    lambda value: {"class": "Pipeline", "steps": [value]},
    lambda value: {"class": "SelfLearning", "params": {"aligner": value}, "fitted": {}},
    lambda value: {"class": "Local", "params": {}, "fitted": {"aligner_": value}},
]


def decoded(content: bytes) -> Model:
    """Return the arrays and the header of a sound model, the header as it is in the file."""
    length = int.from_bytes(content[:8], "little")
    entries = json.loads(content[8 : 8 + length])
    header = json.loads(entries.pop("__metadata__")["fipp"])
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
    tensors = {}
    for name, entry in entries.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(content[start:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors, header


def encoded(tensors: dict[str, np.ndarray], header: Any, *, checksum: str) -> bytes:
    """Return a model file without checking anything, with a checksum that is right, stale or missing."""
    arrays = {name: np.array(array, order="C") for name, array in tensors.items()}
    if isinstance(header, dict) and checksum != "stale":
        header = {key: value for key, value in header.items() if key != "checksum"}
        if checksum == "right":
            with suppress(ValueError):  # for numbers that JSON does not have
                header["checksum"] = _checksum(header, arrays)
    return save(arrays, metadata={"fipp": json.dumps(header)})


def outcome(path: Path, number: int, source: Vectors, target: Vectors) -> str:
    """Load a file in every way, use what was loaded, and return "refused" or "loaded"; anything else is raised."""
    with warnings.catch_warnings(action="ignore"):
        known = is_model(path)
        try:
            aligner = BaseAligner.load(path)
        except FippError as error:
            if path.name not in str(error):
                raise AssertionError(f"the error does not name the file: {error}") from error
            return "refused"
        if not known:
            raise AssertionError("a file that can be loaded is a model")
        sides = (aligner.transform, aligner.n_features_in_), (aligner.transform_target, aligner.n_features_out_)
        try:
            shapes = {transform(np.resize(ROWS, (7, d))).shape for transform, d in sides}
        except FippError:  # its numbers are so large that products leave the range of float32
            return "loaded"
        if len(shapes) != 1 or shapes.pop()[0] != 7:
            raise AssertionError("both sides must be mapped to the same space, row by row")
        repr(aligner), len(aligner.induced_pairs_), clone(aligner)
        try:
            alignment = Alignment.load(path)
        except FippError:
            return "loaded"  # as an aligner without words
        repr(alignment)
        if number % 4 == 0:
            _use_words(path, source, target)
        if number % 4 == 1:
            _show(path, as_json=bool(number % 8 == 1))
    return "loaded"


def _use_words(path: Path, source: Vectors, target: Vectors) -> None:
    with suppress(FippError):
        alignment = Alignment.load(path, source, target)
        alignment.translate("s1", k=2, retrieval="csls")
        alignment.evaluate([("s1", "t1"), ("s2", "t2"), ("s250", "t250")])


def _terminal() -> TextIOWrapper:
    return TextIOWrapper(BytesIO(), "utf-8", errors="surrogatepass")


def _show(path: Path, as_json: bool) -> None:
    with suppress(FippError), redirect_stdout(_terminal()), redirect_stderr(_terminal()):
        info(path, as_json=as_json)
