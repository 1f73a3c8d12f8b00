"""A fitted aligner as named arrays and a description that JSON can hold, and back. Nothing is ever pickled.

`to_state` and `from_state` serve any of fipp's estimators. `to_model` and `from_model` are the part of a model file
that belongs to the aligner, whether words are kept beside it (`Alignment.save`) or not (`BaseAligner.save`).

A file can name only the classes that are known here, with the settings that they take and the fitted attributes that
they declare in ``_fitted_constraints``, in the language of `fipp.io.check_value`. In addition, ``"preprocess d1"`` is a
fitted preprocessing of vectors of d1 dimensions, and ``"aligner d1 d2 k"`` a fitted aligner. A model is checked in the
same way before it is saved, so that whatever can be saved can be loaded.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import InvalidParameterError, StrOptions

from fipp import preprocess
from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.io import MismatchError, Sizes, check_size, check_value, kinds_of, shortened
from fipp.linalg import Objective
from fipp.preprocess import make_preprocess

# The prefix of an aligner's tensors in a model file, and the key of its description in the header.
_ALIGNER = "aligner"
_PREPROCESS = "preprocess"
_OWN_ONLY = "only fipp's own methods and preprocessing can"
_PREPROCESSORS = (
    preprocess.Centre,
    preprocess.Isotropic,
    preprocess.IterativeNormalization,
    preprocess.UnitLength,
    preprocess.Unchanged,
)
# The classes that a file can name, by their kind, which is also the name of the settings that take them.
_CLASSES: dict[str, dict[str, Any]] = {_PREPROCESS: {cls.__name__: cls for cls in _PREPROCESSORS}, _ALIGNER: {}}
# The sizes that an estimator of each kind shares with the one it belongs to.
_SIZES = {_PREPROCESS: ("d",), _ALIGNER: ("d1", "d2", "k")}
# What the header of a model has; what is optional here is for the floor where words live, and for migrations.
_BESIDE = ("seed", "scores", "source", "target", "migration")
_HEADER = {"version": [str], _ALIGNER: [dict], **{f"{part}?": [dict] for part in _BESIDE}}
_DESCRIPTION = {"class": [str], "params": [dict], "fitted?": [dict]}
_OBJECTIVE = {"class": [StrOptions({"Objective"})], **{term: [Real] for term in Objective._fields}}
# Far beyond any model that someone would make, and small enough that no file takes long.
_MOST_ESTIMATORS, _DEEPEST, _LONGEST_SETTING = 100, 8, 1000


def register(*classes: type) -> None:
    """Allow aligners of these classes to be saved and loaded; a file can name no other."""
    _CLASSES[_ALIGNER].update({cls.__name__: cls for cls in classes})


def to_state(estimator: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
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
    description = _described(estimator)
    for attribute in getattr(estimator, "calculated_before_saving", ()):
        getattr(estimator, attribute, None)
    arrays, fitted = _fitted(estimator)
    return arrays, {**description, "fitted": fitted}


def _described(estimator: Any) -> dict[str, Any]:
    """Return the class and the settings of an estimator, and nothing that it has learned."""
    if isinstance(estimator, Pipeline):
        return {"class": "Pipeline", "steps": [_described(step) for _, step in estimator.steps]}
    cls = type(estimator)
    if not any(known.get(cls.__name__) is cls for known in _CLASSES.values()):
        raise FippError(f"a model with {estimator!r} cannot be saved: {_OWN_ONLY}")
    return {
        "class": cls.__name__,
        "params": {key: _described_setting(value) for key, value in estimator.get_params(deep=False).items()},
    }


def _described_setting(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return _described(value)
    if isinstance(value, np.random.RandomState):
        return None  # its numbers are used up, and another fit draws others
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    raise FippError(f"a model with the setting {value!r} cannot be saved: {_OWN_ONLY}")


def _fitted(estimator: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the fitted attributes: arrays, and everything else that JSON can hold."""
    arrays: dict[str, NDArray[Any]] = {}
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


def to_model(aligner: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the tensors and the header of a model file for a fitted aligner, after checking that it can be loaded."""
    arrays, description = to_state(aligner)
    try:
        from_state(arrays, description)
    except MismatchError as mismatch:
        raise FippError(f"a model with {type(aligner).__name__} cannot be saved: {mismatch}") from None
    tensors = {f"{_ALIGNER}.{name}": array for name, array in arrays.items()}
    return tensors, {"version": __version__, _ALIGNER: description}


def from_model(tensors: Mapping[str, NDArray[Any]], header: Mapping[str, Any], path: str | os.PathLike[str]) -> Any:
    """Return the aligner of a model file, checked; what belongs to the words beside it is left alone.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> aligner = Procrustes().fit([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> from_model(*to_model(aligner), "rotation.fipp").map_
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    try:
        check_value(header, _HEADER, "its header", Sizes())
        return _Restoring().restore(below(tensors, _ALIGNER), header[_ALIGNER], _ALIGNER, "its aligner")[0]
    except MismatchError as mismatch:
        raise FippError(f"{path} is damaged, or was written by a newer fipp: {mismatch}") from None


def from_state(arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> Any:
    """Return the estimator that `to_state` took apart; raise a `MismatchError` if anything is not as it was declared.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> from_state(*to_state(Centre().fit([[1.0, 2.0]]))).transform([[1.0, 3.0]])
    array([[0., 1.]], dtype=float32)
    """
    name = description.get("class") if isinstance(description, Mapping) else None
    kind = _ALIGNER if name in _CLASSES[_ALIGNER] else _PREPROCESS
    return _Restoring().restore(arrays, description, kind, f"the {kind}")[0]


class _Restoring:
    """Estimators made from their descriptions, of which there may be only so many, and which may be only so deep."""

    def __init__(self) -> None:
        self._left = _MOST_ESTIMATORS

    def restore(
        self, arrays: Mapping[str, NDArray[Any]], description: Any, kind: str, owner: str, depth: int = 0
    ) -> tuple[Any, Sizes]:
        """Return a fitted estimator and its sizes; nothing is set that was not declared and checked."""
        if _is_pipeline(description, kind):
            return self._restore_pipeline(arrays, description, owner, depth)
        estimator = self._unfitted(description, kind, owner, depth)
        fitted = description.get("fitted")
        if not isinstance(fitted, Mapping):
            raise MismatchError(f"{owner} has nothing fitted")
        own = {name: array for name, array in arrays.items() if "." not in name}
        values, sizes = {**fitted, **own}, Sizes()
        kinds = kinds_of(values, estimator._fitted_constraints, owner)
        parts = {name: kind for name, kind in kinds.items() if isinstance(kind, str) and kind.split()[0] in _CLASSES}
        _check_tensors(arrays, own, parts, owner)
        for name, value in values.items():
            where = f"{owner}'s {name}"
            if name in parts:
                part, *letters = parts[name].split()
                values[name], inner = self.restore(below(arrays, name), value, part, where, depth + 1)
                for letter, of in zip(letters, _SIZES[part], strict=True):
                    check_size(letter, inner[of], f"the size {of} of {where}", sizes)
            elif kinds[name] is Objective:
                values[name] = _restored_objective(value, where)
            else:
                check_value(value, kinds[name], where, sizes)
        for name, value in values.items():
            setattr(estimator, name, value)
        try:
            estimator._check_fitted()
        except FippError as error:
            raise MismatchError(f"{owner}: {error}") from None
        return estimator, sizes

    def _restore_pipeline(
        self, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any], owner: str, depth: int
    ) -> tuple[Pipeline, Sizes]:
        steps, sizes = [], Sizes()
        described = self._steps(description, owner, depth)
        _check_tensors(arrays, (), [str(place) for place in range(len(described))], owner)
        for place, step in enumerate(described):
            where = f"step {place} of {owner}"
            restored, inner = self.restore(below(arrays, str(place)), step, _PREPROCESS, where, depth + 1)
            check_size("d", inner["d"], f"the size d of {where}", sizes)
            steps.append(restored)
        return _pipeline(steps), sizes

    def _unfitted(self, description: Any, kind: str, owner: str, depth: int) -> Any:
        """Return an estimator that has settings only, as it stands in the settings of another one."""
        if _is_pipeline(description, kind):
            steps = self._steps(description, owner, depth)
            return _pipeline([self._unfitted(step, _PREPROCESS, owner, depth + 1) for step in steps])
        self._count(depth)
        check_value(description, _DESCRIPTION, owner, Sizes())
        name, settings = description["class"], description["params"]
        if name not in _CLASSES[kind]:
            raise MismatchError(f"{owner} needs {shortened(name)}, which this fipp does not know")
        cls = _CLASSES[kind][name]
        kinds_of(settings, {f"{setting}?": None for setting in cls._get_param_names()}, f"{owner} ({name})")
        estimator = cls(**{key: self._setting(key, value, owner, depth) for key, value in settings.items()})
        try:
            estimator._validate_params()
            if "preprocess" in settings:
                make_preprocess(estimator.preprocess)
        except (FippError, InvalidParameterError) as error:
            raise MismatchError(f"{owner} has a setting that it cannot have: {error}") from None
        return estimator

    def _setting(self, name: str, value: Any, owner: str, depth: int) -> Any:
        if isinstance(value, Mapping) and name in _CLASSES:
            return self._unfitted(value, name, f"the setting {name} of {owner}", depth + 1)
        # Models of older versions have the repr of a generator, which cannot be restored.
        if name == "random_state" and isinstance(value, str) and value.startswith("RandomState("):
            return None
        plain = value is None or isinstance(value, (bool, int, float, str))
        if not plain or len(str(value)) > _LONGEST_SETTING or (name == _ALIGNER and value is not None):
            raise MismatchError(f"the setting {name} of {owner} is {shortened(value)}")
        return value

    def _steps(self, description: Mapping[str, Any], owner: str, depth: int) -> list[Any]:
        self._count(depth)
        steps = description.get("steps")
        if not isinstance(steps, list) or not steps or set(description) != {"class", "steps"}:
            raise MismatchError(f"{owner} is a pipeline without steps")
        return steps

    def _count(self, depth: int) -> None:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise MismatchError(
                f"it has more than {_MOST_ESTIMATORS} estimators, or they are nested deeper than {_DEEPEST}"
            )


def below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``prefix`` and a dot, under the rest of their names."""
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}


def _is_pipeline(description: Any, kind: str) -> bool:
    return kind == _PREPROCESS and isinstance(description, Mapping) and description.get("class") == "Pipeline"


def _pipeline(steps: Iterable[Any]) -> Pipeline:
    """Return a pipeline without others in it: scikit-learn's time grows exponentially with their depth."""
    flat = chain.from_iterable(step.named_steps.values() if isinstance(step, Pipeline) else [step] for step in steps)
    return Pipeline([(str(place), step) for place, step in enumerate(flat)])


def _check_tensors(arrays: Collection[str], own: Collection[str], parts: Collection[str], owner: str) -> None:
    """Refuse arrays that belong neither to an estimator itself nor to one of its parts."""
    for name in arrays:
        if name not in own and name.partition(".")[0] not in parts:
            raise MismatchError(f"{owner} has the array {shortened(name)}, which this version of fipp does not know")


def _restored_objective(value: Any, where: str) -> Objective:
    check_value(value, _OBJECTIVE, where, Sizes())
    return Objective(*(value[term] for term in Objective._fields))
