"""A fitted aligner as named arrays and a description that JSON can hold, and back. Nothing is ever pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from fipp import preprocess
from fipp.aligners import METHODS, BaseAligner
from fipp.exceptions import FippError
from fipp.linalg import Objective

_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *map(type, METHODS.values()),
        preprocess.Centre,
        preprocess.Isotropic,
        preprocess.IterativeNormalization,
        preprocess.UnitLength,
        preprocess.Unchanged,
    )
}


def to_state(estimator: Any) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Take a fitted estimator apart.

    Parameters
    ----------
    estimator : aligner or transformer of fipp
        Also a pipeline of such transformers.

    Returns
    -------
    arrays : dict
        Fitted arrays; the names of those of nested estimators are joined by dots.
    description : dict
        Class, parameters and the other fitted attributes.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> to_state(Centre().fit([[1.0, 2.0]]))
    ({'mean_': array([1., 2.], dtype=float32)}, {'class': 'Centre', 'params': {}, 'fitted': {'n_features_in_': 2}})
    """
    if isinstance(estimator, Pipeline):
        arrays, steps = {}, []
        for number, (_, step) in enumerate(estimator.steps):
            step_arrays, description = to_state(step)
            arrays.update({f"{number}.{name}": array for name, array in step_arrays.items()})
            steps.append(description)
        return arrays, {"class": "Pipeline", "steps": steps}

    cls = type(estimator)
    name = cls.__name__
    if _CLASSES.get(name) is not cls:
        raise FippError(f"a model with {estimator!r} cannot be saved: only fipp's own methods and preprocessing can")
    fitted: dict[str, Any] = {}
    arrays = {}
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
            raise FippError(f"a model with {value!r} cannot be saved: only fipp's own methods and preprocessing can")
    params = {key: _describe_param(value) for key, value in estimator.get_params(deep=False).items()}
    return arrays, {"class": name, "params": params, "fitted": fitted}


def from_state(arrays: Mapping[str, NDArray], description: Mapping[str, Any]) -> Any:
    """Put an estimator together again from what `to_state` gave.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> from_state(*to_state(Centre().fit([[1.0, 2.0]]))).transform([[1.0, 3.0]])
    array([[0., 1.]], dtype=float32)
    """
    try:
        estimator = _from_state(arrays, description)
        if isinstance(estimator, BaseAligner):
            _check_shapes(estimator)
        return estimator
    except (KeyError, TypeError, AttributeError) as error:
        raise FippError(f"the model's description is damaged or of a newer fipp: {error!r}") from None


def _check_shapes(aligner: BaseAligner) -> None:
    if hasattr(aligner, "aligner_"):
        return _check_shapes(aligner.aligner_)
    k = aligner.n_features_out_ if aligner.target_map_ is None else aligner.map_.shape[1]
    expected = {
        "map_": (aligner.n_features_in_, k),
        "target_map_": (aligner.n_features_out_, k),
        "offset_": (k,),
        "target_offset_": (k,),
    }
    for name, shape in expected.items():
        array = getattr(aligner, name)
        if array is not None and array.shape != shape:
            raise FippError(f"the model is damaged: its {name.removesuffix('_')} is {array.shape}, not {shape}")


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
