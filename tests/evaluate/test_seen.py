"""Test pairs that the model was given as seed pairs are recognised by their words, counted and said."""

import json
import warnings
from typing import ClassVar

import numpy as np
import pytest

from fipp import Alignment, FippError, FippWarning, Lexicon, Procrustes, Vectors, align
from fipp.aligners._wrapper import WrappingAligner
from fipp.evaluate import bli
from fipp.io import read_model, write_model

SEED = Lexicon([(f"en{i}", f"fr{i}") for i in range(60)])
FRESH = Lexicon([(f"en{i}", f"fr{i}") for i in range(60, 100)])
MIXED = Lexicon([*FRESH, *SEED.pairs[:15], ("en20", "fr99"), ("en21", "fr99")])


@pytest.fixture(scope="module")
def spaces():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((150, 8))
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    source = Vectors([f"en{i}" for i in range(150)], hidden + 0.4 * rng.standard_normal((150, 8)))
    return source, Vectors([f"fr{i}" for i in range(150)], hidden @ turn)


@pytest.fixture(scope="module")
def alignment(spaces):
    return align(*spaces, SEED, "procrustes")


@pytest.fixture(scope="module")
def mixed(alignment):
    with pytest.warns(FippWarning, match="15 of the 57 test words had the same translation in the seed"):
        return alignment.evaluate(MIXED)


def test_seed_pairs_are_counted_and_so_are_seed_words_with_another_translation(mixed):
    assert (mixed.n_queries, mixed.seen_pairs, mixed.seen_words) == (57, 15, 17)
    assert {mixed.words[place] for place in np.flatnonzero(mixed.seen.pairs)} == {source for source, _ in SEED.head(15)}


def test_the_score_on_everything_is_what_it_was(mixed, alignment):
    rows = np.array([(int(source[2:]), int(target[2:])) for source, target in MIXED])
    assert mixed == bli(alignment.transform().matrix, alignment.transform_target().matrix, *rows.T)


def test_the_score_without_seed_pairs_is_that_of_the_other_pairs_alone(mixed, alignment):
    alone = alignment.evaluate([pair for pair in MIXED if pair not in SEED.pairs])
    assert mixed.unseen == alone and mixed.unseen.map_per_line == alone.map_per_line
    assert (mixed.unseen.seen_pairs, mixed.unseen.seen_words) == (0, 2)
    assert mixed.unseen.map < mixed.map
    assert f"MAP is {alone.map:.4f} without the 15, {mixed.map:.4f} with them" in str(mixed)


def test_coverage_without_seed_pairs_counts_the_words_that_could_not_be_looked_up(alignment):
    with pytest.warns(FippWarning, match="1 of the 2 test words"):
        result = alignment.evaluate([("en1", "fr1"), ("en70", "fr70"), ("zebra", "zèbre")])
    assert (result.unseen.n_queries, result.unseen.total) == (1, 2)


def test_a_word_is_left_out_with_all_of_its_translations(alignment):
    with pytest.warns(FippWarning, match="1 of the 2 test words"):
        result = alignment.evaluate([("en1", "fr1"), ("en1", "fr90"), ("en70", "fr70")])
    assert result.unseen == alignment.evaluate([("en70", "fr70")])


def test_a_test_without_seed_pairs_says_nothing(alignment):
    result = alignment.evaluate(FRESH)  # a warning would be an error
    assert (result.seen_pairs, result.seen_words, result.seed_note()) == (0, 0, None)
    assert result.unseen is result and "unseen" not in result.as_dict() and "seed" not in str(result)


def test_seed_words_with_another_translation_are_said_without_a_warning(alignment):
    result = alignment.evaluate([*FRESH, ("en20", "fr99")])
    assert result.seed_note() == "1 of the 41 test words had another translation in the seed"
    assert result.unseen is result


def test_when_all_were_in_the_seed_there_is_no_score_without_them(alignment):
    with pytest.warns(
        FippWarning, match="all 60 test words had the same translation in the seed.*nothing about other words"
    ):
        result = alignment.evaluate(SEED)
    assert result.unseen is None
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["unseen"] is None


def test_json_has_the_score_without_seed_pairs_in_every_part(mixed):
    told = json.loads(json.dumps(mixed.as_dict(interval=0.9, bands=[30]), allow_nan=False))
    assert told["unseen"]["map"] == mixed.unseen.map and told["unseen"]["intervals"]["level"] == 0.9
    assert (told["bands"]["0-30"]["seen_pairs"], told["bands"]["30+"]["seen_pairs"]) == (15, 0)
    assert told["bands"]["0-30"]["unseen"]["n_queries"] == 2


@pytest.mark.parametrize("change", ["order", "limit", "case", "composition"])
def test_a_model_from_a_file_knows_its_seed_whatever_the_vectors_are_written_like(spaces, tmp_path, change):
    source, target = spaces
    if change == "composition":
        source = Vectors([f"é{word}" for word in source.words], source.matrix)
    seed = [(source.words[row], target.words[row]) for row in range(60)]
    align(source, target, seed, "procrustes").save(tmp_path / "model.fipp")
    test = Lexicon([*seed[:5], (source.words[70], target.words[70])])
    turned = {
        "order": lambda vectors: vectors.rows(np.arange(150)[::-1]),
        "limit": lambda vectors: vectors.rows(np.arange(80)),
        "case": lambda vectors: Vectors([word.upper() for word in vectors.words], vectors.matrix),
        "composition": lambda vectors: Vectors(
            [word.replace("é", "e\u0301") for word in vectors.words], vectors.matrix
        ),
    }[change]
    loaded = Alignment.load(tmp_path / "model.fipp", turned(source), turned(target))
    with pytest.warns(FippWarning, match="5 of the 6 test words"):
        assert loaded.evaluate(test).unseen.n_queries == 1
    loaded.save(tmp_path / "again.fipp")
    np.testing.assert_array_equal(*(read_model(tmp_path / f"{name}.fipp")[0]["seed"] for name in ("model", "again")))


def test_pairs_that_the_method_found_itself_are_not_of_the_seed(spaces):
    found = align(*spaces, SEED.head(40), "fipp", self_learning=30, epsilon=None)
    assert found.evaluate(FRESH).seen_pairs == 0


class Unsupervised(Procrustes):
    """Maps by rows and never looks at pairs."""

    learns_from = "nothing"

    def _fit_vocabulary(self, X, Y, progress):
        self._fit_seed(self.source_preprocess_.transform(X), self.target_preprocess_.transform(Y), progress)


def test_a_method_that_ignores_the_seed_has_not_seen_it(spaces):
    assert align(*spaces, SEED, Unsupervised()).evaluate(SEED).seen_pairs == 0


class Guessing(WrappingAligner):
    """Takes known pairs for guesses."""

    learns_from = "spelling"
    _parameter_constraints: ClassVar[dict] = {}

    def _fit_vocabulary(self, X, Y, progress):
        self.aligner_ = Procrustes().fit(X, Y, self._guesses)


def test_a_seed_that_is_taken_for_guesses_has_been_seen(spaces):
    with pytest.warns(FippWarning, match="all 60 test words"):
        align(*spaces, SEED, Guessing()).evaluate(SEED)


def test_words_spelled_alike_are_no_seed_unless_they_are_given(rng):
    words = [f"w{i}" for i in range(80)]
    source, target = (Vectors(words, rng.standard_normal((80, 6))) for _ in range(2))

    class Identical(Procrustes):
        learns_from = "identical"

    test = list(zip(words[:9], words[:9], strict=True))
    assert align(source, target, method=Identical()).evaluate(test).seen_pairs == 0
    with pytest.warns(FippWarning, match="all 9 test words"):
        assert align(source, target, Lexicon.identical(source, target), Identical()).evaluate(test).seen_pairs == 9


def test_an_alignment_put_together_by_hand_takes_the_pairs_of_its_aligner(spaces):
    source, target = spaces
    aligner = Procrustes().fit(source.matrix, target.matrix, [(i, i) for i in range(60)])
    by_hand = Alignment(aligner, source.rows(np.arange(50)), target)
    with pytest.warns(FippWarning, match="1 of the 2 test words"):
        by_hand.evaluate([("en3", "fr3"), ("en4", "fr100")])


def test_damaged_keys_of_the_seed_are_refused(alignment, tmp_path):
    alignment.save(tmp_path / "model.fipp")
    tensors, header = read_model(tmp_path / "model.fipp")
    for keys in (tensors["seed"][:, :1], tensors["seed"].astype(np.float32)):
        write_model(tmp_path / "damaged.fipp", {**tensors, "seed": keys}, header)
        with pytest.raises(FippError, match="damaged: the file: seed is"):
            Alignment.load(tmp_path / "damaged.fipp")
    del tensors["seed"]
    write_model(tmp_path / "damaged.fipp", tensors, header)
    with pytest.raises(FippError, match="damaged: the file has no seed"):
        Alignment.load(tmp_path / "damaged.fipp")


def test_a_dictionary_mostly_the_wrong_way_round_is_warned_of(alignment):
    with pytest.warns(FippWarning, match=r"only 9 % of the pairs were found; the other way round it would be 91 %"):
        result = alignment.evaluate([*FRESH.reverse(), *FRESH.pairs[:4]])
    assert result.n_queries == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alignment.evaluate(FRESH)
