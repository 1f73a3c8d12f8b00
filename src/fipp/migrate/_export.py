"""Maps for other programs: ONNX, or a numpy archive with the few lines of Python that use it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fipp._optional import require
from fipp._version import __version__
from fipp.exceptions import FippError, warn
from fipp.io import atomic_path
from fipp.migrate import _adapter
from fipp.preprocess import UnitLength

if TYPE_CHECKING:
    from fipp.migrate._migration import Migration

# Old enough for every runtime in use; from opset 18 on, the axes of a reduction are an input.
_OPSET, _IR_VERSION = 17, 8
_INPUT, _OUTPUT = "vectors", "mapped"


def export(migration: Migration, path: str | os.PathLike[str]) -> list[Path]:
    """Write a map, preprocessing and length included, as ``.onnx``, or as ``.npz`` with its Python module beside it.

    Returns the files that were written.
    """
    path = Path(path)
    writers = {".onnx": _write_onnx, ".npz": _write_numpy}
    if path.suffix.lower() not in writers:
        raise FippError(f"{path} must end in .onnx, or in .npz for numpy")
    if not migration.n_queries and migration.direction == "queries":
        warn(
            "this query adapter was fitted without queries: real queries are shorter than documents, and it may find "
            "far less for them. Fit it again with queries embedded by both models"
        )
    return writers[path.suffix.lower()](migration, path)


def _parts(migration: Migration) -> dict[str, NDArray[Any]]:
    """Return the arrays of which the map consists, by the names in the formulas of `KernelRidge`."""
    aligner = migration.aligner
    if not isinstance(aligner.source_preprocess_, UnitLength):
        raise FippError(f"a map with the preprocessing {aligner.source_preprocess_!r} cannot be exported")
    return {
        "map": np.asarray(aligner.map_),
        "offset": np.asarray(aligner.offset_),
        "landmarks": aligner.landmarks_,
        "coefficients": aligner.coefficients_,
        "gamma": np.array(aligner.gamma, np.float32),
        "length": np.array(migration.target.length, np.float32),
    }


def _write_numpy(migration: Migration, path: Path) -> list[Path]:
    parts, module = _parts(migration), path.with_suffix(".py")
    source = Path(_adapter.__file__).read_text(encoding="utf-8")
    source = source.replace("from adapter import", f"from {module.stem} import").replace("adapter.npz", path.name)
    with atomic_path(module) as temporary:
        temporary.write_text(source, encoding="utf-8")
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **parts)  # type: ignore[arg-type]
    return [path, module]


def _write_onnx(migration: Migration, path: Path) -> list[Path]:
    onnx = require("onnx", "a map in ONNX", extra="onnx")
    model = _onnx_model(onnx, migration)
    onnx.checker.check_model(model)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))
    return [path]


def _onnx_model(onnx: Any, migration: Migration) -> Any:
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    graph = _Graph(onnx)
    _add_map(graph, _parts(migration))
    sides = (migration.source.dimensions, migration.target.dimensions)
    inputs, outputs = (
        [helper.make_tensor_value_info(name, float32, ["n", size])]
        for name, size in zip((_INPUT, _OUTPUT), sides, strict=True)
    )
    name = f"{migration.direction}: {migration.source.name} to {migration.target.name}"
    body = helper.make_graph(graph.nodes, name, inputs, outputs, graph.constants)
    model = helper.make_model(
        body, producer_name="fipp", producer_version=__version__, opset_imports=[helper.make_opsetid("", _OPSET)]
    )
    model.ir_version = _IR_VERSION
    helper.set_model_props(
        model, {"direction": migration.direction, "old": migration.old.name, "new": migration.new.name}
    )
    return model


def _add_map(graph: _Graph, parts: dict[str, NDArray[Any]]) -> None:
    """Add the nodes that map vectors: to unit length, p(x) + b, the kernel, and to the length of the target."""
    one = graph.constant(np.float32(1))
    norms = graph.add("ReduceL2", _INPUT, axes=[1], keepdims=1)
    filled = graph.add("Greater", norms, graph.constant(np.float32(0)))
    unit = graph.add("Div", _INPUT, graph.add("Where", filled, norms, one))
    mapped = graph.constant(parts["offset"])
    if parts["map"].any() or not len(parts["landmarks"]):
        mapped = graph.add("Add", graph.add("MatMul", unit, graph.constant(parts["map"])), mapped)
    if len(parts["landmarks"]):
        # ‖x − l‖² = 1 + ‖l‖² − 2x·l; rounding must not make it negative.
        squares = np.square(parts["landmarks"]).sum(axis=1) + 1
        products = graph.add("MatMul", unit, graph.constant(-2 * parts["landmarks"].T))
        squared = graph.add("Relu", graph.add("Add", products, graph.constant(squares)))
        kernel = graph.add("Exp", graph.add("Mul", squared, graph.constant(-parts["gamma"])))
        mapped = graph.add("Add", graph.add("MatMul", kernel, graph.constant(parts["coefficients"])), mapped)
    lengths = graph.add("ReduceL2", mapped, axes=[1], keepdims=1)
    positive = graph.add("Where", graph.add("Greater", lengths, graph.constant(np.float32(0))), lengths, one)
    scaled = graph.add("Mul", graph.add("Div", mapped, positive), graph.constant(parts["length"]))
    graph.add("Where", filled, scaled, graph.constant(np.float32(0)), name=_OUTPUT)


class _Graph:
    """Nodes and constants of an ONNX graph, named by their numbers."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(value, np.float32).reshape(np.shape(value))
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operation, list(inputs), [name], **attributes))
        return name
