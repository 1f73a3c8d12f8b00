"""Evaluation without a test dictionary, against loops over folds and neighbours."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import fipp
from fipp import FIPP, Procrustes
from fipp.evaluate import bli, self_evaluate
from fipp.exceptions import FippError


@pytest.fixture
def spaces(rng):
    Y = rng.standard_normal((250, 10)).astype(np.float32)
    X = Y @ np.linalg.qr(rng.standard_normal((10, 10)))[0] + 0.4 * rng.standard_normal((250, 10))
    return X.astype(np.float32), Y


def test_every_seed_pair_is_looked_up_once_by_a_map_learned_without_it(spaces):
    X, Y = spaces
    pairs = np.stack([np.arange(100), np.arange(100)], axis=1)
    aligner = Procrustes().fit(X, Y, pairs)
    result = self_evaluate(aligner, X, Y, folds=100)
    ranks = []
    for row in range(100):
        without = clone(aligner).fit(X, Y, np.delete(pairs, row, axis=0))
        ranks.append(bli(without.transform(X), without.transform_target(Y), [row], [row]).ranks[0])
    assert result.ranks.tolist() == ranks and result.queries.tolist() == list(range(100))
    assert result.mrr == pytest.approx(np.mean(1 / np.array(ranks)))


def test_pairs_of_one_source_word_stay_together(spaces):
    X, Y = spaces
    seen = []

    class Listening(Procrustes):
        def fit(self, X, Y, pairs=None, *, progress=None):
            seen.append(set(np.asarray(pairs)[:, 0].tolist()))
            return super().fit(X, Y, pairs, progress=progress)

    pairs = [(i // 2, i) for i in range(80)]
    result = self_evaluate(Listening().fit(X, Y, pairs), X, Y, folds=4)
    whole, *folds = seen
    held_out = [whole - fold for fold in folds]
    assert [len(words) for words in held_out] == [10] * 4 and set.union(*held_out) == whole
    assert result.n_queries == 40 and result.folds == 4


def test_pairs_that_self_learning_added_are_not_evaluated_on(spaces):
    aligner = FIPP(self_learning=30).fit(*spaces, [(i, i) for i in range(60)])
    assert len(aligner.induced_pairs_)
    assert self_evaluate(aligner, *spaces).queries.tolist() == list(range(60))


def test_mutual_neighbours_are_those_of_a_loop(spaces):
    X, Y = spaces
    aligner = Procrustes().fit(X, Y, [(i, i) for i in range(50)])
    words = 120
    S, T = aligner.transform(X[:words]).astype(float), aligner.transform_target(Y[:words]).astype(float)
    cosines = (S / np.linalg.norm(S, axis=1)[:, None]) @ (T / np.linalg.norm(T, axis=1)[:, None]).T
    r_t, r_s = (np.sort(side, axis=1)[:, -10:].mean(axis=1) for side in (cosines, cosines.T))
    csls = 2 * cosines - r_t[:, None] - r_s
    mutual = [(i, j) for i in range(words) for j in [csls[i].argmax()] if csls[:, j].argmax() == i]
    result = self_evaluate(aligner, X, Y, words=words)
    assert result.mutual_rate == pytest.approx(len(mutual) / words)
    assert result.mean_csls == pytest.approx(np.mean([csls[pair] for pair in mutual]), abs=1e-5)
    assert result.mutual_words == words


def test_an_alignment_without_a_dictionary_says_what_it_was_evaluated_on(spaces, tmp_path):
    words = [f"w{i}" for i in range(250)]
    source, target = (fipp.Vectors(words, matrix) for matrix in spaces)
    alignment = fipp.align(source, target, [(w, w) for w in words[100:200]], "procrustes")
    result = alignment.evaluate(retrieval="csls")
    assert str(result).startswith("no test dictionary: 5-fold cross-validation")
    assert result.words == tuple(words[100:200])
    told = json.loads(json.dumps(result.as_dict(interval=0.95, bands=True)))
    assert told["evaluated_on"].startswith("seed pairs") and told["retrieval"] == "csls"
    assert told["intervals"] and told["bands"]
    alignment.save(tmp_path / "model.fipp")
    again = fipp.Alignment.load(tmp_path / "model.fipp", source, target)
    assert again.scores == {"seed, csls": result.as_dict()}
    assert again.evaluate(None, retrieval="csls") == result


def test_bands_of_a_cross_validation_say_that_they_are_cross_validated(spaces):
    X, Y = spaces
    result = self_evaluate(Procrustes().fit(X, Y, [(i, i) for i in range(100)]), X, Y)
    assert result.evaluated_on == "seed pairs, by cross-validation" and "mutual nearest neighbours" in str(result)
    for part in result.by_band([50]).values():
        assert part.folds == 5 and part.mutual_rate is None and str(part).startswith("no test dictionary: 5-fold")


def test_without_mutual_neighbours_there_is_no_mean_csls(spaces):
    X, Y = spaces
    aligner = Procrustes().fit(X, Y, [(i, i) for i in range(100)])
    nothing = np.vstack([np.zeros_like(X[:5]), X[5:]])
    result = self_evaluate(aligner, nothing, Y, words=5)
    assert (result.mutual_rate, result.mean_csls) == (0, None) and "mean CSLS" not in str(result)
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["mean_csls"] is None


def test_what_cannot_be_evaluated_is_refused(spaces):
    X, Y = spaces
    aligner = Procrustes().fit(X, Y, [(i, i) for i in range(200)])
    with pytest.raises(FippError, match="lie beyond the vectors"):
        self_evaluate(aligner, X[:150], Y)
    with pytest.raises(FippError, match="folds must be a whole number from 2"):
        self_evaluate(aligner, X, Y, folds=1)
    few = Procrustes().fit(X, Y, [(i, i) for i in range(4)])
    with pytest.raises(FippError, match=r"5 source words at least .* a test dictionary"):
        self_evaluate(few, X, Y)
