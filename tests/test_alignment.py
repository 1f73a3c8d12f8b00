"""Words, models and files: `align` and `Alignment`."""

import json
from itertools import pairwise

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler

from fipp import FIPP, Alignment, Auto, FippError, FippWarning, Lexicon, Procrustes, Vectors, align
from fipp.preprocess import Isotropic

SEED = Lexicon([(f"en{i}", f"fr{i}") for i in range(60)])
TEST = Lexicon([(f"en{i}", f"fr{i}") for i in range(60, 150)])


@pytest.fixture(scope="module")
def spaces():
    """150 words that both sides have, 30 that only the target has, and dimensions 8 and 6."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((180, 8))
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    source = Vectors([f"en{i}" for i in range(150)], hidden[:150] + 0.1 * rng.standard_normal((150, 8)))
    target = Vectors([f"fr{i}" for i in range(180)], (hidden[:, :6] + 0.1 * rng.standard_normal((180, 6))) @ turn)
    return source, target


@pytest.fixture(scope="module")
def alignment(spaces):
    return align(*spaces, SEED, "fipp", epsilon=0.2)


# Fitting


def test_align_fits_the_aligner_on_the_rows_of_the_lexicon(spaces, alignment):
    source, target = spaces
    pairs = [(source.words.index(a), target.words.index(b)) for a, b in SEED]
    expected = FIPP(0.2).fit(source.matrix, target.matrix, pairs)
    np.testing.assert_array_equal(alignment.aligner.map_, expected.map_)
    assert alignment.seed == {"found": 60, "total": 60, "coverage": 1.0}
    assert repr(alignment) == "Alignment(FIPP, 8 to 6 dimensions, 60 pairs)"


def test_align_takes_files_and_plain_pairs(spaces, alignment, tmp_path):
    source, target = spaces
    source.save(tmp_path / "en.vec")
    target.save(tmp_path / "fr.npy")
    SEED.save(tmp_path / "en-fr.tsv")
    from_files = align(tmp_path / "en.vec", str(tmp_path / "fr.npy"), tmp_path / "en-fr.tsv", "fipp", epsilon=0.2)
    from_pairs = align(source, target, iter(SEED.pairs), "fipp", epsilon=0.2)
    for other in (from_files, from_pairs):
        np.testing.assert_array_equal(other.aligner.map_, alignment.aligner.map_)


def test_methods_go_by_name_or_as_an_aligner(spaces):
    assert isinstance(align(*spaces, SEED, method="procrustes").aligner, Procrustes)
    assert isinstance(align(*spaces, SEED, "fipp", solver="eigen").aligner, FIPP)
    given = align(*spaces, SEED, FIPP(0.3), lam=0.5).aligner
    assert (given.epsilon, given.lam) == (0.3, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "fippp"}, "no method 'fippp'; known are fipp, fipp-published, procrustes"),
        ({"method": "fipp", "gamma": 1}, "fipp has no setting 'gamma'; it has .*epsilon"),
        ({"gamma": 1}, "auto has no setting 'gamma'; it has .*budget"),
        ({"epsilon": 1}, "auto has no setting 'epsilon'; it has .*; 'epsilon' is a setting of the method 'fipp'"),
        ({"method": "procrustes", "epsilon": 1}, "procrustes has no setting 'epsilon'"),
        ({"method": "proc"}, r"no method 'proc'; known are .*; did you mean 'proc-b' or 'procrustes'\?$"),
        ({"method": "fipp", "lambda": 1}, r"fipp has no setting 'lambda'; it has .*; did you mean 'lam'\?$"),
        ({"method": "fipp", "preprocess": "whiten"}, "no preprocessing 'whiten'"),
    ],
)
def test_unknown_methods_and_settings_are_refused_with_those_that_are_known(spaces, options, message):
    with pytest.raises(FippError, match=message):
        align(*spaces, SEED, **options)


def test_by_default_the_method_is_chosen(spaces):
    default, named = align(*spaces, SEED), align(*spaces, SEED, "auto")
    assert type(default.aligner) is type(named.aligner) is Auto
    assert default.aligner.chosen_ == named.aligner.chosen_
    np.testing.assert_array_equal(default.transform().matrix, named.transform().matrix)
    assert default.evaluate(TEST).mrr > 0.5


def test_words_that_are_missing_are_counted(spaces):
    lexicon = Lexicon([*SEED.pairs, ("zebra", "zèbre"), ("en1", "zèbre"), ("zebra", "fr1")])
    alignment = align(*spaces, lexicon, "procrustes")
    assert alignment.seed == {"found": 60, "total": 63, "coverage": pytest.approx(60 / 63)}
    assert len(alignment.aligner.pairs_) == 60


def test_words_are_found_in_another_case(spaces, alignment):
    shouted = Lexicon((a.upper(), b.title()) for a, b in SEED)
    np.testing.assert_array_equal(align(*spaces, shouted, "fipp", epsilon=0.2).aligner.map_, alignment.aligner.map_)
    assert alignment.translate("EN70") == alignment.translate("en70")
    assert alignment.evaluate(Lexicon((a.upper(), b.upper()) for a, b in TEST)).n_queries == 90


def test_a_lexicon_in_the_wrong_direction_is_recognised(spaces, alignment):
    with pytest.raises(FippError, match=r"the other way round it would be 100 %.*Lexicon\.reverse\(\)"):
        align(*spaces, SEED.reverse())
    with pytest.raises(FippError, match="the other way round"):
        alignment.evaluate(TEST.reverse())


def test_a_lexicon_mostly_in_the_wrong_direction_is_warned_of(spaces):
    mixed = Lexicon([*SEED.reverse().pairs, *TEST.pairs[:10]])
    with pytest.warns(FippWarning, match=r"only 14 % of the pairs were found; the other way round it would be 86 %"):
        align(*spaces, mixed, "fipp", epsilon=0.5)


def test_a_lexicon_for_other_words_is_refused(spaces):
    with pytest.raises(FippError, match=r"none of the 1 pairs.*not in the source: 'chat'"):
        align(*spaces, [("chat", "fr1")])


# Using


def test_transform_gives_vectors_with_their_words(spaces, alignment):
    source, target = spaces
    mapped, kept = alignment.transform(), alignment.transform_target()
    assert mapped.words == source.words
    assert kept.words == target.words
    np.testing.assert_array_equal(mapped.matrix, alignment.aligner.transform(source.matrix))
    np.testing.assert_array_equal(kept.matrix, alignment.aligner.transform_target(target.matrix))
    some = alignment.transform(source.rows([3, 1]))
    assert some.words == ("en3", "en1")
    np.testing.assert_allclose(some.matrix, mapped.matrix[[3, 1]], atol=1e-6)


def literal_scores(alignment, retrieval, k=10):
    """Every source word against every target word, in float64."""
    S, T = (v.matrix.astype(np.float64) for v in (alignment.transform(), alignment.transform_target()))
    if retrieval == "dot":
        return S @ T.T
    S, T = (V / np.linalg.norm(V, axis=1, keepdims=True) for V in (S, T))
    cosines = S @ T.T
    if retrieval == "cosine":
        return cosines
    near_target, near_source = np.sort(cosines, axis=1)[:, -k:].mean(axis=1), np.sort(cosines, axis=0)[-k:].mean(axis=0)
    return 2 * cosines - near_target[:, None] - near_source


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_translations_are_the_nearest_target_words(spaces, alignment, retrieval):
    scores = literal_scores(alignment, retrieval)
    words = ["en100", "en3", "en77"]
    found = alignment.translate_all(words, k=4, retrieval=retrieval)
    for word, translations in zip(words, found, strict=True):
        best = np.argsort(-scores[int(word[2:])])[:4]
        assert [t.word for t in translations] == [f"fr{j}" for j in best]
        assert alignment.translate(word, 4, retrieval=retrieval) == [
            (t.word, pytest.approx(t.score, abs=1e-5)) for t in translations
        ]
        assert all(a.score >= b.score for a, b in pairwise(translations))
    if retrieval != "csls":
        assert [t.score for t in found[0]] == pytest.approx(np.sort(scores[100])[::-1][:4], abs=1e-5)


def test_unknown_words_are_named(alignment):
    with pytest.raises(FippError, match="the word 'zebra' is not among the 150 words"):
        alignment.translate("zebra")
    with pytest.raises(KeyError):
        alignment.translate_all(["en1", "zebra"])


@pytest.mark.parametrize("k", [1, 180, 500])
def test_no_more_translations_are_given_than_there_are_words(alignment, k):
    assert len(alignment.translate("en5", k)) == min(k, 180)


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_evaluation_is_the_mean_reciprocal_rank_over_the_whole_target(alignment, retrieval):
    lexicon = Lexicon([*TEST.pairs, ("zebra", "zèbre")])
    result = alignment.evaluate(lexicon, retrieval=retrieval)
    scores = literal_scores(alignment, retrieval)
    ranks = np.array([(scores[i] >= scores[i, i] - 1e-9).sum() for i in range(60, 150)])
    assert result.mrr == result.map == pytest.approx((1 / ranks).mean(), abs=2e-3)
    assert result.p_at_1 == pytest.approx((ranks == 1).mean(), abs=0.02)
    assert (result.n_queries, result.total, result.retrieval) == (90, 91, retrieval)
    assert result.coverage == 90 / 91
    assert result.mrr > 0.5
    assert alignment.scores[retrieval]["mrr"] == result.mrr


# Models


MODELS = {
    "default": {},
    "fipp": {"method": "fipp"},
    "eigen": {"method": "fipp", "solver": "eigen", "epsilon": 0.3},
    "sgd": {"method": "fipp", "solver": "sgd", "n_steps": 5},
    "self-learning": {"method": "fipp", "self_learning": 10, "epsilon": None, "max_memory": "1 GB"},
    "no preprocessing": {"method": "fipp", "preprocess": None, "epsilon": 3},
    "chain": {"method": "fipp", "preprocess": "unit+centre+unit", "epsilon": 0.2},
    "textbook": {"method": "fipp", "preprocess": Isotropic(n_components=2, variant="textbook"), "epsilon": 0.2},
    "iterative": {"method": "fipp", "preprocess": "iterative", "epsilon": np.float32(0.2)},
    "procrustes": {"method": "procrustes"},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_model_read_from_its_file_translates_alike(spaces, tmp_path, options):
    source, target = spaces
    fitted = align(*spaces, SEED, **options)
    fitted.evaluate(TEST)
    fitted.save(tmp_path / "one.fipp")
    fitted.save(tmp_path / "two.fipp")
    assert (tmp_path / "one.fipp").read_bytes() == (tmp_path / "two.fipp").read_bytes()

    loaded = Alignment.load(tmp_path / "one.fipp", source, target)
    words = list(source.words)
    for retrieval in ("cosine", "csls"):
        assert loaded.translate_all(words, 3, retrieval=retrieval) == fitted.translate_all(
            words, 3, retrieval=retrieval
        )
    np.testing.assert_array_equal(loaded.transform().matrix, fitted.transform().matrix)
    np.testing.assert_array_equal(loaded.transform_target().matrix, fitted.transform_target().matrix)
    assert loaded.seed == fitted.seed
    assert loaded.scores == fitted.scores
    assert loaded.evaluate(TEST) == fitted.evaluate(TEST)
    assert repr(loaded) == repr(fitted)

    loaded.save(tmp_path / "three.fipp")
    assert (tmp_path / "three.fipp").read_bytes() == (tmp_path / "one.fipp").read_bytes()


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_model_keeps_its_settings_and_what_the_fit_learned(spaces, tmp_path, options):
    fitted = align(*spaces, SEED, **options)
    fitted.save(tmp_path / "model.fipp")
    loaded = Alignment.load(tmp_path / "model.fipp").aligner
    assert type(loaded) is type(fitted.aligner)
    # Compared as text: two transformers with the same settings are not equal.
    assert repr(loaded.get_params()) == repr(fitted.aligner.get_params()).replace(
        "np.float32(0.2)", repr(float(np.float32(0.2)))
    )
    for name, value in vars(fitted.aligner).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
        elif isinstance(value, (int, float)) and name.endswith("_"):
            assert getattr(loaded, name) == value


def test_a_loaded_model_can_be_fitted_again(spaces, alignment, tmp_path):
    source, target = spaces
    alignment.save(tmp_path / "model.fipp")
    loaded = Alignment.load(tmp_path / "model.fipp").aligner
    loaded.fit(source.matrix, target.matrix, alignment.aligner.pairs_)
    np.testing.assert_array_equal(loaded.map_, alignment.aligner.map_)


def test_a_model_has_its_objective_if_it_was_read_before_saving(spaces, tmp_path):
    fitted = align(*spaces, SEED, "fipp", epsilon=0.2)
    fitted.save(tmp_path / "before.fipp")
    objective, deviation = fitted.aligner.objective_, fitted.aligner.deviation_
    fitted.save(tmp_path / "after.fipp")
    before, after = (Alignment.load(tmp_path / f"{name}.fipp").aligner for name in ("before", "after"))
    assert after.objective_ == objective
    assert after.objective_.total == objective.total
    assert after.deviation_ == deviation
    assert not hasattr(before, "objective_")


def test_a_model_of_300_by_300_is_well_under_a_megabyte(rng, tmp_path):
    words = [f"w{i}" for i in range(1000)]
    source, target = (Vectors(words, rng.standard_normal((1000, 300))) for _ in range(2))
    align(source, target, zip(words, words, strict=True), "fipp", epsilon=0.1).save(tmp_path / "model.fipp")
    assert (tmp_path / "model.fipp").stat().st_size < 700_000


def test_without_vectors_a_model_transforms_and_says_what_else_it_needs(spaces, alignment, tmp_path):
    alignment.save(tmp_path / "model.fipp")
    loaded = Alignment.load(tmp_path / "model.fipp")
    np.testing.assert_array_equal(loaded.transform(spaces[0]).matrix, alignment.transform().matrix)
    for use in (loaded.transform, lambda: loaded.translate("en1"), lambda: loaded.evaluate(TEST)):
        with pytest.raises(FippError, match="this needs the source vectors"):
            use()


def test_vectors_may_be_given_as_files_when_loading(spaces, alignment, tmp_path):
    alignment.save(tmp_path / "model.fipp")
    for name, vectors in zip(("en.vec", "fr.vec"), spaces, strict=True):
        vectors.save(tmp_path / name)
    loaded = Alignment.load(tmp_path / "model.fipp", tmp_path / "en.vec", tmp_path / "fr.vec")
    assert loaded.translate("en100") == alignment.translate("en100")


def test_other_vectors_of_the_same_dimension_are_warned_of(spaces, alignment, tmp_path, rng):
    source, target = spaces
    alignment.save(tmp_path / "model.fipp")
    other = Vectors(source.words, rng.standard_normal((150, 8)))
    with pytest.warns(FippWarning, match="fitted on other source vectors"):
        Alignment.load(tmp_path / "model.fipp", other, target)
    strangers = Vectors([f"x{i}" for i in range(150)], source.matrix)
    with pytest.warns(FippWarning, match="fitted on other source vectors"):
        Alignment.load(tmp_path / "model.fipp", strangers, target)
    with pytest.warns(FippWarning, match="fitted on other target vectors"):
        Alignment.load(tmp_path / "model.fipp", source, Vectors(target.words, target.matrix[::-1]))


def test_fewer_or_more_of_the_same_vectors_are_not_warned_of(spaces, alignment, tmp_path):
    source, target = spaces
    alignment.save(tmp_path / "model.fipp")
    more = Vectors([*target.words, "new"], np.vstack([target.matrix, np.ones(6)]))
    loaded = Alignment.load(tmp_path / "model.fipp", source.head(100), more)
    assert len(loaded.source) == 100


def test_vectors_of_another_dimension_are_refused(spaces, alignment, tmp_path):
    source, _ = spaces
    alignment.save(tmp_path / "model.fipp")
    other = Vectors(["a", "b"], np.ones((2, 6)))
    with pytest.raises(FippError, match=r"maps source vectors of 8 dimensions, but these have 6.*right order"):
        Alignment.load(tmp_path / "model.fipp", other, source)


def test_swapped_vectors_are_refused(spaces, tmp_path):
    source, target = spaces
    same_dimension = Vectors(target.words, np.pad(target.matrix, [(0, 0), (0, 2)]))
    for other in (target, same_dimension):
        align(source, other, SEED, "fipp").save(tmp_path / "model.fipp")
        with pytest.raises(FippError, match="these source vectors as its target vectors: are they swapped"):
            Alignment.load(tmp_path / "model.fipp", other, source)
        with pytest.raises(FippError, match="these target vectors as its source vectors"):
            Alignment.load(tmp_path / "model.fipp", source, source)


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer that is not fipp's."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * np.asarray(X, dtype=np.float32)


class Unrelated:
    """A transformer that is not even scikit-learn's."""

    def get_params(self, deep=False):
        return {}

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X, dtype=np.float32)


@pytest.mark.parametrize("preprocess", [Doubled(), Unrelated(), StandardScaler()])
def test_a_model_with_foreign_preprocessing_cannot_be_saved(spaces, tmp_path, preprocess):
    fitted = align(*spaces, SEED, "fipp", preprocess=preprocess, epsilon=3)
    with pytest.raises(FippError, match="cannot be saved: only fipp's own"):
        fitted.save(tmp_path / "model.fipp")
    assert list(tmp_path.iterdir()) == []


def test_a_class_that_only_bears_the_name_of_fipps_own_is_foreign(spaces, tmp_path):
    impostor = type("Isotropic", (Doubled,), {})()
    with pytest.raises(FippError, match="cannot be saved"):
        align(*spaces, SEED, "fipp", preprocess=impostor, epsilon=3).save(tmp_path / "model.fipp")


def tampered(path, change):
    """Rewrite a model with its header, and perhaps its arrays, changed."""
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["fipp"])
    change(header, tensors)
    save_file(tensors, path, metadata={"fipp": json.dumps(header)})


@pytest.mark.parametrize(
    "change",
    [
        lambda header, _: header["aligner"].update({"class": "Evil"}),
        lambda header, _: header["aligner"].update({"class": ["FIPP"]}),
        lambda header, _: header["aligner"]["params"].update({"colour": "red"}),
        lambda header, _: header["aligner"]["fitted"]["source_preprocess_"].update({"class": "os.system"}),
        lambda header, _: header["aligner"].pop("params"),
        lambda header, _: header["aligner"]["fitted"].pop("n_features_in_"),
        lambda header, _: header.update({"aligner": "FIPP"}),
        lambda header, _: header.pop("aligner"),
        lambda header, _: header.pop("seed"),
        lambda header, _: header["source"].pop("dimensions"),
        lambda _, tensors: tensors.pop("aligner.map_"),
        lambda _, tensors: tensors.pop("source.probe"),
        lambda _, tensors: tensors.update({"aligner.map_": np.zeros((3, 3), np.float32)}),
    ],
)
def test_a_model_that_was_tampered_with_is_refused(spaces, alignment, tmp_path, change):
    alignment.save(tmp_path / "model.fipp")
    tampered(tmp_path / "model.fipp", change)
    with pytest.raises(FippError):
        Alignment.load(tmp_path / "model.fipp", *spaces)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "model.fipp").write_text("hello")
    with pytest.raises(FippError):
        Alignment.load(tmp_path / "model.fipp")
    with pytest.raises(FippError):
        Alignment.load(tmp_path / "nothing.fipp")
