"""Several languages in one space: pairs without a dictionary are found through the hub."""

import numpy as np
import pytest

import fipp
from fipp import FippError, FippWarning, Vectors


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
    assert hub.hub == "en" and hub.names == ["en", "fi", "fr", "ru"]
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


def test_the_order_of_languages_and_dictionaries_changes_nothing(languages):
    known = {("en", name): pairs("en", name, range(200)) for name in ("fr", "fi", "ru")}
    known |= {("fi", "fr"): pairs("fi", "fr", range(150, 400)), ("ru", "fi"): pairs("ru", "fi", range(100, 250))}
    first = fipp.align_many(languages, known, "spectral")
    turned = [dict(reversed(each.items())) for each in (languages, known)]
    second = fipp.align_many(*turned, "spectral")
    assert first.names == second.names and first.n_pairs == second.n_pairs
    for name in languages:
        np.testing.assert_array_equal(first.transform(name).matrix, second.transform(name).matrix)


def test_of_equal_hubs_the_one_with_most_pairs_is_chosen_then_the_first_by_name(languages):
    few, many = pairs("en", "fr", range(50)), pairs("fr", "fi", range(60))
    for order in (["en", "fi", "fr"], ["fr", "fi", "en"]):
        three = {name: languages[name] for name in order}
        assert fipp.align_many(three, {("en", "fr"): few, ("fr", "fi"): many}, "procrustes").hub == "fr"
        triangle = {("en", "fr"): few, ("fr", "fi"): many, ("fi", "en"): pairs("fi", "en", range(70))}
        assert fipp.align_many(three, triangle, "procrustes").hub == "fi"
        two = {name: languages[name] for name in order if name != "fi"}
        assert fipp.align_many(two, {("en", "fr"): few}, "procrustes").hub == "en"


def test_a_loaded_hub_notices_other_vectors(languages, tmp_path):
    three = {name: languages[name] for name in ("en", "fr", "fi")}
    fipp.align_many(three, {("en", name): pairs("en", name, range(200)) for name in ("fr", "fi")}, "procrustes").save(
        tmp_path / "hub.fipp"
    )
    fewer = languages["fr"].rows(range(100))
    assert fipp.Hub.load(tmp_path / "hub.fipp", {"fr": fewer, "en": languages["en"]}).translate("fr1", "fr", "en")
    with pytest.raises(FippError, match="these fr vectors as its en vectors"):
        fipp.Hub.load(tmp_path / "hub.fipp", {"fr": languages["en"]})
    with pytest.raises(FippError, match="maps fi vectors of 16 dimensions"):
        fipp.Hub.load(tmp_path / "hub.fipp", {"fi": languages["ru"]})
    with pytest.warns(FippWarning, match="other fr vectors"):
        fipp.Hub.load(tmp_path / "hub.fipp", {"fr": Vectors(languages["fr"].words, -languages["fr"].matrix)})
    again = fipp.Hub.load(tmp_path / "hub.fipp")
    again.save(tmp_path / "copy.fipp")
    assert (tmp_path / "copy.fipp").read_bytes() == (tmp_path / "hub.fipp").read_bytes()


def test_mistakes_are_named(languages):
    known = {("en", "fr"): pairs("en", "fr", range(200))}
    with pytest.raises(FippError, match="no dictionary connects fi, ru with the hub en"):
        fipp.align_many(languages, known, "procrustes")
    with pytest.raises(FippError, match="there are no vectors for 'de'"):
        fipp.align_many(languages, {("en", "de"): []}, "procrustes")
    with pytest.raises(FippError, match="at least two"):
        fipp.align_many({"en": languages["en"]}, {}, "procrustes")
