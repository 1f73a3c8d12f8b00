"""`Local`: what a linear map gets wrong near known pairs is mended."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fipp import FIPP, Alignment, Local, Procrustes, Ridge, SelfLearning, Spectral, Vectors
from fipp.evaluate import bli

INNER = [None, Procrustes(), FIPP(), Ridge(), Spectral(target="fixed"), SelfLearning(Procrustes())]
N, SEED = 1500, 600


def pairs(start, stop):
    return np.stack([np.arange(start, stop)] * 2, axis=1)


def bent(rng, d1=10, d2=10):
    """Return two spaces, the second turned and then bent: the same way for words that are near each other."""
    hidden = rng.standard_normal((N, 5))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0][:5] for d in (d1, d2)]
    bend = 0.5 * np.sin(1.5 * hidden @ rng.standard_normal((5, d2)))
    return (hidden @ turns[0]).astype(np.float32), (hidden @ turns[1] + bend).astype(np.float32)


@pytest.fixture
def spaces(rng):
    return bent(rng)


def mrr(aligner, X, Y):
    held_out = np.arange(SEED, N)
    return bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr


@pytest.mark.parametrize("inner", INNER[:4], ids=str)
def test_a_planted_bend_is_mended_for_words_that_were_held_out(inner, spaces):
    plain = clone(Spectral() if inner is None else inner).fit(*spaces, pairs(0, SEED))
    mended = Local(inner, strength=1.0).fit(*spaces, pairs(0, SEED))
    assert mrr(mended, *spaces) > 1.2 * mrr(plain, *spaces)


def test_a_planted_rotation_needs_no_mending_and_gets_none(rng):
    X = rng.standard_normal((400, 8)).astype(np.float32)
    Y = X @ np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    aligner = Local(Procrustes()).fit(X, Y, pairs(0, 200))
    np.testing.assert_allclose(aligner.corrections_, 0, atol=1e-5)
    held_out = np.arange(200, 400)
    assert bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr == 1


@pytest.mark.parametrize("settings", [{}, {"strength": 0.9, "n_neighbours": 5, "beta": 3.0}], ids=str)
def test_the_formula_is_that_of_a_loop_over_words_and_pairs(settings, spaces):
    X, Y = spaces
    aligner = Local(Procrustes(), **settings).fit(X, Y, pairs(0, 50))
    plain = Procrustes().fit(X, Y, pairs(0, 50))

    def unit(v):
        return v.astype(float) / np.linalg.norm(v)

    sources, targets = plain.transform(X[:50]), plain.transform_target(Y[:50])
    found = aligner.transform(X[200:240])
    for row, word in enumerate(plain.transform(X[200:240])):
        z = unit(word)
        cosines = sorted(((z @ unit(p), j) for j, p in enumerate(sources)), reverse=True)[: aligner.n_neighbours]
        weights = [np.exp(aligner.beta * cosine) for cosine, _ in cosines]
        pull = sum(w * (unit(targets[j]) - unit(sources[j])) for w, (_, j) in zip(weights, cosines, strict=True))
        expected = z + aligner.strength * max(cosines[0][0], 0) * pull / sum(weights)
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_no_strength_leaves_the_map_at_unit_length(spaces):
    X, Y = spaces
    mapped = Procrustes().fit(X, Y, pairs(0, SEED)).transform(X)
    found = Local(Procrustes(), strength=0).fit(X, Y, pairs(0, SEED)).transform(X)
    np.testing.assert_allclose(found, mapped / np.linalg.norm(mapped, axis=1, keepdims=True), atol=1e-6)


def test_a_known_word_that_is_nearest_to_itself_alone_goes_to_its_translation(spaces):
    X, Y = spaces
    aligner = Local(Procrustes(), strength=1.0, n_neighbours=1).fit(X, Y, pairs(0, SEED))
    targets = Y[:SEED] / np.linalg.norm(Y[:SEED], axis=1, keepdims=True)
    np.testing.assert_allclose(aligner.transform(X[:SEED]), targets, atol=1e-4)


def test_the_target_is_that_of_the_aligner_that_is_corrected(spaces):
    X, Y = spaces
    aligner = Local().fit(X, Y, pairs(0, SEED))
    np.testing.assert_array_equal(aligner.transform_target(Y), aligner.aligner_.transform_target(Y))


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_rows_of_zeros_stay_zero(inner, spaces):
    X, Y = spaces
    aligner = Local(inner).fit(X, Y, pairs(0, SEED))
    mixed = X[:4].copy()
    mixed[2] = 0
    found = aligner.transform(mixed)
    assert not found[2].any() and found[[0, 1, 3]].any(axis=1).all()


def test_words_that_point_away_from_all_known_pairs_are_left_alone():
    X = np.float32([[1, 0], [0.9, 0.1], [-1, 0]])
    aligner = Local(Procrustes()).fit(X, X[:, ::-1], [(0, 1), (1, 0)])
    expected = aligner.aligner_.transform(X[2:])
    np.testing.assert_allclose(aligner.transform(X[2:]), expected, atol=1e-6)


def test_more_neighbours_than_pairs_are_all_pairs(spaces):
    X, Y = spaces
    all_pairs, more = (Local(n_neighbours=n).fit(X, Y, pairs(0, 40)).transform(X) for n in (40, 4000))
    np.testing.assert_array_equal(all_pairs, more)


def test_an_aligner_fitted_on_more_pairs_is_corrected_at_those_that_are_known(spaces):
    X, Y = spaces
    fitted = Procrustes().fit(X, Y, pairs(0, SEED))
    aligner = Local.correcting(fitted, X, Y, pairs(0, 30))
    assert aligner.aligner_ is fitted and len(aligner.anchors_) == len(aligner.pairs_) == 30
    whole = Local.correcting(fitted, X, Y, pairs(0, SEED))
    np.testing.assert_array_equal(whole.transform(X), Local(Procrustes()).fit(X, Y, pairs(0, SEED)).transform(X))


def test_the_result_has_the_same_bits_whatever_the_number_of_threads(spaces):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(Local().fit(*spaces, pairs(0, SEED)).transform(spaces[0]))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize(("d1", "d2"), [(10, 13), (13, 10)])
def test_different_dimensions_are_mapped_saved_and_loaded(inner, d1, d2, rng, tmp_path):
    X, Y = bent(rng, d1, d2)
    aligner = Local(inner).fit(X, Y, pairs(0, SEED))
    assert mrr(aligner, X, Y) > 15 * np.mean(1 / np.arange(1, N + 1))
    words = [str(i) for i in range(N)]
    Alignment(aligner, Vectors(words, X), Vectors(words, Y)).save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))


def test_settings_of_the_inner_aligner_can_be_reached_and_cloned():
    aligner = Local(Spectral()).set_params(aligner__ridge=0.7, strength=0.2)
    copied = clone(aligner)
    assert copied.aligner is not aligner.aligner
    assert copied.get_params()["aligner__ridge"] == 0.7 and copied.strength == 0.2


@pytest.mark.parametrize("wrong", [{"strength": -1}, {"n_neighbours": 0}, {"beta": -1}], ids=str)
def test_invalid_settings_are_refused_and_named(wrong, spaces):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Local(**wrong).fit(*spaces)
