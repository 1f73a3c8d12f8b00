"""Aligners are saved and loaded without words: whatever was aligned, it can be kept."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from fipp import FIPP, Alignment, FippError, FippWarning, Procrustes, Ridge, Spectral, Vectors
from fipp.aligners import BaseAligner, Local, LowRank, SelfLearning
from fipp.io import read_model, write_model
from fipp.preprocess import Isotropic


@pytest.fixture
def spaces(rng):
    hidden = rng.standard_normal((120, 8))
    return hidden[:, :6] + 0.2 * rng.standard_normal((120, 6)), hidden + 0.2 * rng.standard_normal((120, 8))


@pytest.mark.parametrize(
    "aligner",
    [FIPP(self_learning=5), FIPP.published(), Procrustes("unit+centre"), Ridge(), Spectral(), SelfLearning()],
    ids=lambda aligner: type(aligner).__name__,
)
def test_a_loaded_aligner_is_the_saved_one(aligner, spaces, tmp_path):
    X, Y = spaces
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        fitted = clone(aligner).fit(X, Y)
    fitted.save(tmp_path / "model.fipp")
    for again in (type(aligner).load(tmp_path / "model.fipp"), BaseAligner.load(str(tmp_path / "model.fipp"))):
        assert repr(again) == repr(fitted)
        np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
        np.testing.assert_array_equal(again.transform_target(Y), fitted.transform_target(Y))
        np.testing.assert_array_equal(again.pairs_, fitted.pairs_)
        np.testing.assert_array_equal(again.induced_pairs_, fitted.induced_pairs_)


def test_what_is_calculated_when_first_read_is_saved_if_the_method_says_so(spaces, tmp_path):
    fitted = FIPP().fit(*spaces)
    fitted.save(tmp_path / "unread.fipp")
    again = FIPP.load(tmp_path / "unread.fipp")
    assert again.deviation_ == fitted.deviation_
    np.testing.assert_array_equal(again.spectrum_, fitted.spectrum_)
    assert not hasattr(again, "objective_")
    _ = fitted.objective_
    fitted.save(tmp_path / "read.fipp")
    assert FIPP.load(tmp_path / "read.fipp").objective_ == fitted.objective_


def test_the_same_aligner_is_saved_as_the_same_bytes(spaces, tmp_path):
    for name in ("a", "b"):
        FIPP().fit(*spaces).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_methods_load_refuses_the_file_of_another(spaces, tmp_path):
    Procrustes().fit(*spaces).save(tmp_path / "model.fipp")
    with pytest.raises(FippError, match=r"model.fipp holds .* Procrustes, not FIPP: use Procrustes.load"):
        FIPP.load(tmp_path / "model.fipp")
    LowRank().fit(*spaces).save(tmp_path / "low.fipp")
    assert isinstance(Ridge.load(tmp_path / "low.fipp"), LowRank)


def test_the_aligner_of_an_alignment_can_be_loaded_alone_but_not_the_other_way_round(spaces, tmp_path):
    X, Y = spaces
    fitted = FIPP().fit(X, Y)
    words = [f"{row}" for row in range(len(X))]
    Alignment(fitted, Vectors(words, X), Vectors(words, Y)).save(tmp_path / "words.fipp")
    np.testing.assert_array_equal(FIPP.load(tmp_path / "words.fipp").transform(X), fitted.transform(X))
    fitted.save(tmp_path / "arrays.fipp")
    with pytest.raises(FippError, match=r"without words: use fipp.FIPP.load"):
        Alignment.load(tmp_path / "arrays.fipp")


def test_an_aligner_that_was_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        FIPP().save(tmp_path / "model.fipp")
    assert not list(tmp_path.iterdir())


def test_preprocessing_of_another_library_is_not_saved(spaces, tmp_path):
    with pytest.raises(FippError, match="only fipp's own"):
        FIPP(1.0, preprocess=StandardScaler()).fit(*spaces).save(tmp_path / "model.fipp")


class Mine(Procrustes):
    """A method of a user's own, which a file must not name."""


def test_a_class_that_fipp_does_not_know_is_neither_saved_nor_loaded(spaces, tmp_path):
    with pytest.raises(FippError, match="only fipp's own"):
        Mine().fit(*spaces).save(tmp_path / "model.fipp")
    Procrustes().fit(*spaces).save(tmp_path / "model.fipp")
    tensors, header = read_model(tmp_path / "model.fipp")
    header["aligner"]["class"] = "Mine"
    write_model(tmp_path / "model.fipp", tensors, header)
    with pytest.raises(FippError, match="'Mine', which this fipp does not know"):
        BaseAligner.load(tmp_path / "model.fipp")


def nested(step, depth):
    return step if depth == 0 else nested({"class": "Pipeline", "steps": [step, step]}, depth - 1)


def preprocess(tensors, header, description):
    header["aligner"]["fitted"]["source_preprocess_"] = description
    for name in ("mean_", "components_"):
        del tensors[f"aligner.source_preprocess_.{name}"]


UNIT = {"class": "UnitLength", "params": {}, "fitted": {"n_features_in_": 6}}
DAMAGE = {
    "its header has no aligner": lambda tensors, header: header.pop("aligner"),
    "needs 'Isotropic'": lambda tensors, header: header.update(
        aligner=header["aligner"]["fitted"]["source_preprocess_"]
    ),
    "has nothing fitted": lambda tensors, header: header["aligner"].pop("fitted"),
    "has no n_features_in_": lambda tensors, header: header["aligner"].update(fitted={}),
    "has no source_preprocess_": lambda tensors, header: header["aligner"]["fitted"].pop("source_preprocess_"),
    "has no map_": lambda tensors, header: tensors.pop("aligner.map_"),
    r"map_ is float32 of shape \(5, 8\), not float32 of shape \(6, 8\)": lambda tensors, header: tensors.update(
        {"aligner.map_": tensors["aligner.map_"][:-1]}
    ),
    "the map leads to 7 dimensions, the target has 8": lambda tensors, header: tensors.update(
        {"aligner.map_": tensors["aligner.map_"][:, :-1]}
    ),
    "map_ is float64": lambda tensors, header: tensors.update({"aligner.map_": tensors["aligner.map_"].astype("f8")}),
    r"source_preprocess_'s mean_ is float32 of shape": lambda tensors, header: tensors.update(
        {"aligner.source_preprocess_.mean_": np.zeros(3, np.float32)}
    ),
    "pairs_ has a row number below zero": lambda tensors, header: tensors.update(
        {"aligner.pairs_": -1 - tensors["aligner.pairs_"]}
    ),
    "aligner is .*, not an instance of": lambda tensors, header: header.update(aligner=["Procrustes"]),
    "params is": lambda tensors, header: header["aligner"].update(params=["isotropic"]),
    "has 'transform'": lambda tensors, header: tensors.update({"aligner.transform": tensors["aligner.map_"]}),
    "has '__class__'": lambda tensors, header: header["aligner"]["fitted"].update(__class__="Procrustes"),
    "has the array 'map_.more'": lambda tensors, header: tensors.update({"aligner.map_.more": np.zeros(1)}),
    "no preprocessing 'nonsense'": lambda tensors, header: header["aligner"]["params"].update(preprocess="nonsense"),
    "has 'strength'": lambda tensors, header: header["aligner"]["params"].update(strength=3),
    "nested deeper than 8": lambda tensors, header: preprocess(tensors, header, nested(UNIT, 10)),
    "more than 100 estimators": lambda tensors, header: preprocess(
        tensors, header, {"class": "Pipeline", "steps": [UNIT] * 200}
    ),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_a_damaged_file_is_refused_in_words(spaces, tmp_path, message):
    path = tmp_path / "model.fipp"
    Procrustes("isotropic").fit(*spaces).save(path)
    tensors, header = read_model(path)
    DAMAGE[message](tensors, header)
    write_model(path, tensors, header)
    with pytest.raises(FippError, match=rf"model\.fipp is damaged.*({message})"):
        BaseAligner.load(path)


def test_a_method_that_does_not_declare_what_it_holds_cannot_be_saved(spaces, tmp_path):
    aligner = Procrustes().fit(*spaces)
    aligner.angle_ = 0.5
    with pytest.raises(FippError, match=r"a model with Procrustes cannot be saved: .*'angle_'"):
        aligner.save(tmp_path / "model.fipp")
    del aligner.angle_
    aligner.map_ = aligner.map_.astype(np.float64)
    with pytest.raises(FippError, match=r"cannot be saved: .* map_ is float64"):
        aligner.save(tmp_path / "model.fipp")
    assert not list(tmp_path.iterdir())


def test_an_estimator_among_the_settings_is_saved_with_its_settings_only(spaces, tmp_path):
    X, Y = spaces
    given = Local(Procrustes(Isotropic(2)).fit(X, Y)).fit(X, Y)
    given.save(tmp_path / "model.fipp")
    again = Local.load(tmp_path / "model.fipp")
    assert repr(again) == repr(given) and not hasattr(again.aligner, "map_")
    np.testing.assert_array_equal(again.transform(X), given.transform(X))


def test_a_random_generator_among_the_settings_is_saved_as_none(spaces, tmp_path):
    path = tmp_path / "model.fipp"
    FIPP(random_state=np.random.RandomState(0)).fit(*spaces).save(path)
    assert FIPP.load(path).random_state is None
    # Older versions saved its repr.
    tensors, header = read_model(path)
    header["aligner"]["params"]["random_state"] = "RandomState(MT19937) at 0x7F00DEADBEEF"
    write_model(path, tensors, header)
    assert FIPP.load(path).random_state is None
