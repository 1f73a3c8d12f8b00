"""Several languages in one space: pairs without a dictionary are found through the hub."""

import numpy as np
import pytest

import fipp
from fipp import FippError, Vectors


@pytest.fixture(scope="module")
def languages():
    """Four rotations of the same vectors with a little noise, one of them with more dimensions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 12)) * np.geomspace(1, 0.3, 12)
    vectors = {}
    for name, d in (("en", 12), ("fr", 12), ("fi", 16), ("ru", 12)):
        omega = np.linalg.qr(rng.standard_normal((d, d)))[0][:12]
        noise = 0.02 * rng.standard_normal((600, d))
        vectors[name] = Vectors([f"{name}{row}" for row in range(600)], X @ omega + noise)
    return vectors


def pairs(first, second, rows):
    return [(f"{first}{row}", f"{second}{row}") for row in rows]


def test_languages_without_a_dictionary_are_found_through_the_hub(languages):
    known = {("en", name): pairs("en", name, range(200)) for name in ("fr", "fi", "ru")}
    hub = fipp.align_many(languages, known, "procrustes")
    assert hub.hub == "en" and hub.names == ["en", "fr", "fi", "ru"]
    for pair in (("fi", "fr"), ("ru", "fi"), ("fr", "en")):
        assert hub.evaluate(pairs(*pair, range(300, 600)), *pair).p_at_1 > 0.95
    assert hub.translate("FI400", "fi", "ru", k=1, retrieval="csls")[0].word == "ru400"


def test_the_rotations_are_as_good_as_one_rotation_solved_by_scipy(languages):
    from scipy.linalg import orthogonal_procrustes

    same = {name: languages[name] for name in ("en", "fr", "ru")}
    hub = fipp.align_many(same, {("en", name): pairs("en", name, range(200)) for name in ("fr", "ru")}, "spectral")
    H = languages["en"].matrix
    spaces = [hub.aligners[name].transform_target(H) for name in ("fr", "ru")]
    first, second = (space / np.linalg.norm(space, axis=1, keepdims=True) for space in spaces)
    omega, _ = orthogonal_procrustes(first, second)
    ours = np.linalg.norm(first @ hub.rotations["fr"] - second @ hub.rotations["ru"])
    assert ours == pytest.approx(np.linalg.norm(first @ omega - second), rel=1e-3)


def test_a_dictionary_with_another_language_is_carried_over_to_the_hub(languages):
    known = {("en", "fr"): pairs("en", "fr", range(200)), ("fi", "fr"): pairs("fi", "fr", range(150, 400))}
    three = {name: languages[name] for name in ("en", "fr", "fi")}
    hub = fipp.align_many(three, known, "procrustes", hub="en")
    assert 200 < hub.n_pairs["fi"] <= 250
    assert hub.evaluate(pairs("fi", "en", range(400, 600)), "fi", "en").p_at_1 > 0.95


def test_a_saved_hub_maps_to_the_same_vectors(languages, tmp_path):
    three = {name: languages[name] for name in ("en", "fr", "fi")}
    known = {("en", name): pairs("en", name, range(200)) for name in ("fr", "fi")}
    hub = fipp.align_many(three, known, "procrustes")
    hub.save(tmp_path / "hub.fipp")
    again = fipp.Hub.load(tmp_path / "hub.fipp", {"fi": languages["fi"]})
    for name in hub.names:
        np.testing.assert_array_equal(again.transform(name, three[name].matrix), hub.transform(name).matrix)
    with pytest.raises(FippError, match="the vectors of 'fr' are needed"):
        again.translate("fi1", "fi", "fr")
    with pytest.raises(FippError, match="hub of several languages"):
        fipp.Alignment.load(tmp_path / "hub.fipp")


def test_mistakes_are_named(languages):
    known = {("en", "fr"): pairs("en", "fr", range(200))}
    with pytest.raises(FippError, match="no dictionary connects fi, ru with the hub en"):
        fipp.align_many(languages, known, "procrustes")
    with pytest.raises(FippError, match="there are no vectors for 'de'"):
        fipp.align_many(languages, {("en", "de"): []}, "procrustes")
    with pytest.raises(FippError, match="at least two"):
        fipp.align_many({"en": languages["en"]}, {}, "procrustes")
