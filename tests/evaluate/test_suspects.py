"""`suspects`: wrong pairs are told from right ones, named worst first, and counted."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fipp import FippError, Lexicon, Spectral, Vectors
from fipp.aligners import held_out_parts, pair_cosines
from fipp.evaluate import suspects

N = 400


@pytest.fixture
def spaces(rng):
    """Two noisy views of the same words."""
    hidden = rng.standard_normal((N, 15))
    views = [hidden @ rng.standard_normal((15, 20)) + 0.5 * rng.standard_normal((N, 20)) for _ in range(2)]
    return [view.astype(np.float32) for view in views]


def spoilt(share):
    pairs = np.stack([np.arange(N)] * 2, axis=1)
    n_wrong = round(share * N)
    pairs[:n_wrong, 1] = np.roll(pairs[:n_wrong, 1], 1)
    return np.random.default_rng(1).permutation(pairs)


def named(pairs):
    return Lexicon([(f"s{source}", f"t{target}") for source, target in pairs])


def vectors(spaces):
    return [Vectors([f"{side}{i}" for i in range(N)], X) for side, X in zip("st", spaces, strict=True)]


@pytest.mark.parametrize("share", [0, 0.1, 0.3, 0.5])
def test_the_share_of_wrong_pairs_is_estimated(spaces, share):
    found = suspects(*vectors(spaces), named(spoilt(share)))
    assert found.wrong_share == pytest.approx(share, abs=0.04) and found.n_pairs == N
    assert found.noisy == (share > 0) and f"{100 * found.wrong_share:.0f} %" in found.summary()


def test_wrong_pairs_are_suspicious_and_right_ones_are_not(spaces):
    pairs = spoilt(0.2)
    wrong = pairs[:, 0] != pairs[:, 1]
    found = pair_cosines(*spaces, pairs)
    assert roc_auc_score(wrong, -found.cosines) > 0.98
    assert found.suspicious[wrong].mean() > 0.9 and found.suspicious[~wrong].mean() < 0.1


def test_a_cosine_is_that_under_a_map_learned_without_the_pair(spaces):
    pairs = spoilt(0.1)
    found = pair_cosines(*spaces, pairs)
    part = held_out_parts(pairs[:, 0], folds=10)[3]
    fitted = Spectral().fit(*spaces, pairs[~part])
    A, B = fitted.transform(spaces[0][pairs[part, 0]]), fitted.transform_target(spaces[1][pairs[part, 1]])
    expected = (A * B).sum(axis=1) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1)
    np.testing.assert_allclose(found.cosines[part], expected, atol=1e-4)
    cosines = (A @ B.T) / np.linalg.norm(A, axis=1)[:, None] / np.linalg.norm(B, axis=1)
    others = cosines[~np.eye(len(A), dtype=bool)]
    assert np.quantile(found.chance, 0.95) == pytest.approx(np.quantile(others, 0.95), abs=0.1)


def test_suspicious_pairs_are_named_worst_first_with_their_cosines(spaces):
    pairs = spoilt(0.2)
    found = suspects(*vectors(spaces), Lexicon([("x", "y"), *named(pairs)]))
    cosines = pair_cosines(*spaces, pairs)
    order = np.argsort(cosines.cosines, kind="stable")[: cosines.suspicious.sum()]
    assert list(found.lexicon) == list(named(pairs[order]))
    np.testing.assert_allclose(found.lexicon.scores, cosines.cosines[order], atol=1e-4)


def test_too_few_pairs_are_not_judged(spaces):
    with pytest.raises(FippError, match=r"100 source words at least .* here there are 60"):
        suspects(*vectors(spaces), named(spoilt(0)[:60]))


def test_vectors_of_zeros_are_suspicious_and_do_no_harm(spaces):
    spaces[0][:3] = 0
    found = pair_cosines(*spaces, np.stack([np.arange(N)] * 2, axis=1))
    assert (found.cosines[:3] == 0).all() and found.suspicious[:3].all() and np.isfinite(found.chance).all()
