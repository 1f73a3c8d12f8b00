"""Real vectors and dictionaries: the figures that were measured with the authors' code, and ours.

Skipped where ../shared/data, which is no part of the project, is absent. MRR by cosine over the whole target.
"""

from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fipp import FippWarning, Lexicon, Vectors, align


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    # On a busy machine, threads of BLAS that wait for each other take several times as long as one.
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def load_vectors(shared_data):
    return lambda name: Vectors.load(shared_data / "vectors" / f"{name}.npy")


@pytest.fixture(scope="module")
def load_lexicon(shared_data):
    return lambda pair, part: Lexicon.load(shared_data / "xling" / pair / f"{part}.tsv")


@pytest.fixture(scope="module")
def english_french(load_vectors):
    return load_vectors("en.spacymd300"), load_vectors("fr.spacymd300")


@pytest.fixture(scope="module")
def english_russian(load_vectors):
    return load_vectors("en.wink100"), load_vectors("ru.navecnews300")


@pytest.fixture(scope="module")
def dictionaries(load_lexicon):
    return {
        (pair, part): load_lexicon(pair, part)
        for pair in ("en-fr", "en-ru")
        for part in ("train.1k", "train.5k", "test.2k")
    }


@pytest.fixture(scope="module")
def french(english_french, dictionaries):
    """Align with a training dictionary, once for each setting; give the result on the test dictionary too."""

    @cache
    def run(part, method="fipp", **options):
        alignment = align(*english_french, dictionaries["en-fr", part], method, **options)
        return alignment.evaluate(dictionaries["en-fr", "test.2k"]), alignment

    return run


def test_real_vectors_and_dictionaries_have_the_sizes_they_are_known_to_have(english_french, dictionaries):
    source, target = english_french
    assert (len(source), source.dim, len(target), target.dim) == (16_086, 300, 17_676, 300)
    found = [dictionaries["en-fr", part].lookup(source, target).found for part in ("train.1k", "train.5k", "test.2k")]
    assert found == [987, 4513, 1060]


def test_the_published_method_at_1k_gives_what_the_authors_code_gives(french):
    result, alignment = french("train.1k", "fipp-published")
    assert (alignment.aligner.epsilon, alignment.aligner.lam) == (0.05, 1.0)
    assert alignment.aligner.preprocess == "isotropic"
    assert len(alignment.aligner.pairs_) == 987
    assert (result.n_queries, result.retrieval) == (1060, "cosine")
    assert result.mrr == pytest.approx(0.6795, abs=0.001)


def test_the_published_method_at_5k_gives_what_the_authors_code_gives(french):
    result, alignment = french("train.5k", "fipp-published")
    assert len(alignment.aligner.pairs_) == 4513
    assert result.mrr == pytest.approx(0.7232, abs=0.001)


def test_the_published_self_learning_gives_what_the_authors_code_gives(french):
    # Their code adds one pair more than it is told to.
    result, alignment = french("train.1k", "fipp-published", self_learning=4001, eigen_method="subspace")
    assert len(alignment.aligner.induced_pairs_) == 4001
    assert result.mrr == pytest.approx(0.7126, abs=0.001)


def test_subspace_iteration_gives_what_the_dense_eigendecomposition_gives(french):
    dense, _ = french("train.1k", "fipp-published")
    subspace, _ = french("train.1k", "fipp-published", eigen_method="subspace")
    assert subspace.mrr == pytest.approx(dense.mrr, abs=0.001)


@pytest.mark.parametrize(("part", "at_least"), [("train.1k", 0.689), ("train.5k", 0.723)])
def test_fipp_with_its_defaults_is_at_least_as_good_as_was_measured(french, part, at_least):
    result, alignment = french(part)
    assert result.mrr >= at_least
    assert np.isfinite(alignment.aligner.map_).all()


def test_self_learning_adds_real_translations_and_accuracy(french):
    result, alignment = french("train.1k", self_learning=4000)
    assert result.mrr >= 0.71
    assert 3000 < len(alignment.aligner.induced_pairs_) <= 4000
    words = {(alignment.source.words[i], alignment.target.words[j]) for i, j in alignment.aligner.induced_pairs_}
    assert ("buy", "acheter") in words


def test_a_path_of_settings_gives_what_separate_fits_give(french, english_french, dictionaries):
    source, target = english_french
    pairs = dictionaries["en-fr", "train.1k"].lookup(source, target).rows
    _, alone = french("train.1k", epsilon=0.025, lam=0.5)
    settings = [{"epsilon": epsilon, "lam": lam} for epsilon in (0.1, 0.025) for lam in (1.0, 0.5)]
    *_, last = alone.aligner.fit_many(source.matrix, target.matrix, pairs, settings=settings)
    assert last.kept_fraction_ == alone.aligner.kept_fraction_
    np.testing.assert_allclose(last.map_, alone.aligner.map_, atol=1e-4)


def test_fewer_dimensions_are_mapped_to_more(english_russian, dictionaries):
    alignment = align(*english_russian, dictionaries["en-ru", "train.1k"], "fipp")
    result = alignment.evaluate(dictionaries["en-ru", "test.2k"])
    assert alignment.seed["found"] == 940
    assert result.n_queries == 1109
    assert alignment.aligner.map_.shape == (100, 300)
    assert result.mrr >= 0.20


def test_more_dimensions_are_mapped_to_fewer(english_russian, dictionaries):
    english, russian = english_russian
    alignment = align(russian, english, dictionaries["en-ru", "train.1k"].reverse(), "fipp")
    result = alignment.evaluate(dictionaries["en-ru", "test.2k"].reverse())
    assert alignment.seed["found"] == 940
    assert alignment.aligner.map_.shape == (300, 100)
    assert result.mrr >= 0.26


def test_a_model_of_real_vectors_is_small_and_reads_back(french, english_french, tmp_path):
    _, alignment = french("train.5k")
    alignment.save(tmp_path / "en-fr.fipp")
    assert (tmp_path / "en-fr.fipp").stat().st_size < 700_000
    loaded = type(alignment).load(tmp_path / "en-fr.fipp", *english_french)
    words = english_french[0].words[:500]
    assert loaded.translate_all(words, 3) == alignment.translate_all(words, 3)


def test_a_dictionary_with_duplicates_is_scored_per_word_and_per_line(load_vectors, load_lexicon, shared_data):
    source, target = load_vectors("fi.floret300"), load_vectors("fr.spacymd300")
    alignment = align(source, target, load_lexicon("fi-fr", "train.1k"), "fipp")
    path = shared_data / "xling" / "fi-fr" / "test.2k.tsv"
    with pytest.warns(FippWarning, match="7 of the 931 test words had the same translation in the seed"):
        result = alignment.evaluate(path)
    assert (result.n_queries, result.total, result.lines, result.seen_words) == (931, 1903, 986, 33)
    # The file line by line, as the authors walk through it.
    mapped, keys = (side().matrix.astype(np.float64) for side in (alignment.transform, alignment.transform_target))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    source_row, target_row = ({word: row for row, word in enumerate(side.words)} for side in (source, target))
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    reciprocal_ranks = []
    for word, translation in lines:
        if word in source_row and translation in target_row:
            cosines = keys @ mapped[source_row[word]]
            reciprocal_ranks.append(1 / (cosines >= cosines[target_row[translation]]).sum())
    assert len(reciprocal_ranks) == 986
    assert result.map_per_line == pytest.approx(np.mean(reciprocal_ranks), abs=1e-6)
    assert result.map != pytest.approx(result.map_per_line, abs=1e-3)
