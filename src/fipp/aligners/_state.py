"""A fitted aligner as named arrays and a description that JSON can hold, and back. Nothing is ever pickled.

`to_state` and `from_state` serve any of fipp's estimators. `to_model` and `from_model` are the part of a model file
that belongs to the aligner, whether words are kept beside it (`Alignment.save`) or not (`BaseAligner.save`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from fipp import preprocess
from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.linalg import Objective

# The prefix of an aligner's tensors in a model file, and the key of its description in the header.
_ALIGNER = "aligner"

_OWN_ONLY = "only fipp's own methods and preprocessing can"
_CLASSES: dict[str, type] = {}


def register(*classes: type) -> None:
    """Allow estimators of these classes to be saved and loaded; a file can name no other."""
    _CLASSES.update({cls.__name__: cls for cls in classes})


register(
    preprocess.Centre,
    preprocess.Isotropic,
    preprocess.IterativeNormalization,
    preprocess.UnitLength,
    preprocess.Unchanged,
)


def to_state(estimator: Any) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return what an aligner, a transformer of fipp or a pipeline of such transformers holds.

    This is a dictionary of fitted arrays, with the names of those of nested estimators joined by dots, and a
    description of everything else: the class, the parameters and the other fitted attributes.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> to_state(Centre().fit([[1.0, 2.0]]))
    ({'mean_': array([1., 2.], dtype=float32)}, {'class': 'Centre', 'params': {}, 'fitted': {'n_features_in_': 2}})
    """
    if isinstance(estimator, Pipeline):
        parts = [to_state(step) for _, step in estimator.steps]
        arrays = {f"{place}.{name}": array for place, part in enumerate(parts) for name, array in part[0].items()}
        return arrays, {"class": "Pipeline", "steps": [description for _, description in parts]}

    cls = type(estimator)
    if _CLASSES.get(cls.__name__) is not cls:
        raise FippError(f"a model with {estimator!r} cannot be saved: {_OWN_ONLY}")
    for attribute in getattr(cls, "calculated_before_saving", ()):
        getattr(estimator, attribute, None)
    arrays, fitted = _fitted(estimator)
    params = {key: _describe_param(value) for key, value in estimator.get_params(deep=False).items()}
    return arrays, {"class": cls.__name__, "params": params, "fitted": fitted}


def _fitted(estimator: Any) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the fitted attributes: arrays, and everything else that JSON can hold."""
    arrays: dict[str, NDArray] = {}
    fitted: dict[str, Any] = {}
    for attribute, value in vars(estimator).items():
        if not attribute.endswith("_") or attribute.startswith("_"):
            continue
        if isinstance(value, np.ndarray):
            arrays[attribute] = value
        elif isinstance(value, BaseEstimator):
            nested, fitted[attribute] = to_state(value)
            arrays.update({f"{attribute}.{key}": array for key, array in nested.items()})
        elif isinstance(value, Objective):
            fitted[attribute] = {"class": "Objective", **value._asdict()}
        elif isinstance(value, (bool, int, float, str, list)):
            fitted[attribute] = value
        else:
            raise FippError(f"a model with {value!r} cannot be saved: {_OWN_ONLY}")
    return arrays, fitted


def from_state(arrays: Mapping[str, NDArray], description: Mapping[str, Any]) -> Any:
    """Return the estimator that `to_state` took apart.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> from_state(*to_state(Centre().fit([[1.0, 2.0]]))).transform([[1.0, 3.0]])
    array([[0., 1.]], dtype=float32)
    """
    try:
        return _from_state(arrays, description)
    except (KeyError, TypeError, AttributeError) as error:
        raise FippError(f"the model's description is damaged or of a newer fipp: {error!r}") from None


def to_model(aligner: Any) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the tensors and the header of a model file for a fitted aligner."""
    arrays, description = to_state(aligner)
    tensors = {f"{_ALIGNER}.{name}": array for name, array in arrays.items()}
    return tensors, {"version": __version__, _ALIGNER: description}


def from_model(tensors: Mapping[str, NDArray], header: Mapping[str, Any]) -> Any:
    """Return the aligner of a model file, checked; other tensors and keys of the header are left alone.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> aligner = Procrustes().fit([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> from_model(*to_model(aligner)).map_
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    if _ALIGNER not in header:
        raise FippError("the model is damaged: its header describes no aligner")
    aligner = from_state(below(tensors, _ALIGNER), header[_ALIGNER])
    try:
        aligner._check_shapes()
    except (TypeError, AttributeError) as error:
        raise FippError(f"the model's description is damaged or of a newer fipp: {error!r}") from None
    return aligner


def _from_state(arrays: Mapping[str, NDArray], description: Mapping[str, Any]) -> Any:
    name = description["class"]
    if name == "Pipeline":
        steps = description["steps"]
        return Pipeline([(str(i), _from_state(below(arrays, str(i)), step)) for i, step in enumerate(steps)])
    if name == "Objective":
        return Objective(*(description[term] for term in Objective._fields))
    if name not in _CLASSES:
        raise FippError(f"the model needs {name!r}, which this fipp does not know: pip install -U fipp")
    estimator = _CLASSES[name](**{key: _restore_param(value) for key, value in description["params"].items()})
    for attribute, value in description.get("fitted", {}).items():
        nested = isinstance(value, Mapping)
        setattr(estimator, attribute, _from_state(below(arrays, attribute), value) if nested else value)
    for attribute, array in arrays.items():
        if "." not in attribute:
            setattr(estimator, attribute, array)
    return estimator


def below(arrays: Mapping[str, NDArray], prefix: str) -> dict[str, NDArray]:
    """Return the arrays whose names begin with ``prefix`` and a dot, under the rest of their names."""
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}


def _describe_param(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return to_state(value)[1]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def _restore_param(value: Any) -> Any:
    return _from_state({}, value) if isinstance(value, Mapping) else value
