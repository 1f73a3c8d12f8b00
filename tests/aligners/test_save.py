"""Aligners are saved and loaded without words: whatever was aligned, it can be kept."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from fipp import FIPP, Alignment, FippError, FippWarning, Procrustes, Ridge, Spectral, Vectors
from fipp.aligners import BaseAligner, LowRank, SelfLearning
from fipp.io import read_model, write_model


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


@pytest.mark.parametrize("what", ["no aligner", "a transformer", "nothing fitted", "another shape", "not a dict"])
def test_a_damaged_file_is_refused_in_words(spaces, tmp_path, what):
    path = tmp_path / "model.fipp"
    Procrustes().fit(*spaces).save(path)
    tensors, header = read_model(path)
    if what == "no aligner":
        del header["aligner"]
    elif what == "a transformer":
        header["aligner"] = header["aligner"]["fitted"]["source_preprocess_"]
    elif what == "nothing fitted":
        header["aligner"]["fitted"] = {}
    elif what == "another shape":
        tensors["aligner.map_"] = tensors["aligner.map_"][:-1]
    else:
        header["aligner"] = ["Procrustes"]
    write_model(path, tensors, header)
    with pytest.raises(FippError, match="damaged"):
        BaseAligner.load(path)
