"""`fipp.align` for arrays: pairs of rows, or shared ids of any type."""

import numpy as np
import pytest

import fipp
from fipp import FIPP, Alignment, FippError, FippWarning, Procrustes, Vectors


@pytest.fixture
def spaces(rng):
    hidden = rng.standard_normal((200, 8))
    return hidden[:, :6] + 0.05 * rng.standard_normal((200, 6)), hidden + 0.05 * rng.standard_normal((200, 8))


def same_map(alignment, aligner):
    np.testing.assert_array_equal(alignment.aligner.map_, aligner.map_)


def test_without_ids_and_pairs_row_i_belongs_to_row_i(spaces):
    X, Y = spaces
    alignment = fipp.align(X, Y, method="fipp")
    same_map(alignment, FIPP().fit(X.astype(np.float32), Y.astype(np.float32)))
    assert alignment.seed == {"found": 200, "total": 200, "coverage": 1.0}
    assert alignment.source.words[:2] == ("0", "1")


def test_pairs_are_row_numbers_where_there_are_no_ids(spaces):
    X, Y = (side.astype(np.float32) for side in spaces)
    pairs = np.stack([np.arange(120), np.arange(120)[::-1]], axis=1)
    alignment = fipp.align(X, Y[:120][::-1].copy()[::-1], pairs, Procrustes())
    same_map(alignment, Procrustes().fit(X, Y[:120], pairs))
    assert alignment.seed["found"] == 120
    with pytest.raises(FippError, match=r"pair 1 names row 500 of Y, which has 200 rows"):
        fipp.align(X, Y, [(0, 0), (1, 500)], "fipp")
    with pytest.raises(FippError, match="X has 200 rows and Y 150"):
        fipp.align(X, Y[:150], method="fipp")


@pytest.mark.parametrize(
    "make_id", [int, str, lambda row: ("shop", row), lambda row: np.int64(row), lambda row: np.datetime64(row, "D")]
)
def test_equal_ids_belong_together_whatever_their_type_and_order(make_id, spaces, rng):
    X, Y = (side.astype(np.float32) for side in spaces)
    order = rng.permutation(200)[:150]
    alignment = fipp.align(
        X, Y[order], method="fipp", source_ids=map(make_id, range(200)), target_ids=[make_id(int(row)) for row in order]
    )
    place = {row: i for i, row in enumerate(order.tolist())}
    expected = [(row, place[row]) for row in range(200) if row in place]
    np.testing.assert_array_equal(alignment.aligner.pairs_, expected)
    assert alignment.seed == {"found": 150, "total": 200, "coverage": 0.75}
    assert alignment.source.words[7] == str(make_id(7))


def test_pairs_may_be_pairs_of_ids(spaces):
    X, Y = spaces
    pairs = [(("old", row), f"new-{row}") for row in range(100)] + [(("old", 3), "new-1000")]
    alignment = fipp.align(
        X,
        Y,
        pairs,
        "fipp",
        source_ids=[("old", row) for row in range(200)],
        target_ids=[f"new-{r}" for r in range(200)],
    )
    assert alignment.seed == {"found": 100, "total": 101, "coverage": 100 / 101}
    np.testing.assert_array_equal(alignment.aligner.pairs_, [(row, row) for row in range(100)])


def test_ids_are_not_matched_by_case_as_words_are(spaces):
    X, Y = spaces
    source, target = [f"A{row}" for row in range(200)], [f"a{row}" for row in range(199)] + ["A199"]
    alignment = fipp.align(X, Y, method="procrustes", source_ids=source, target_ids=target)
    np.testing.assert_array_equal(alignment.aligner.pairs_, [(199, 199)])


def test_repeated_ids_are_counted_and_their_first_rows_used(spaces):
    X, Y = spaces
    ids = [*range(190), *range(10)]
    with pytest.warns(FippWarning, match="10 rows of source have the id of an earlier row"):
        alignment = fipp.align(X, Y, method="fipp", source_ids=ids, target_ids=range(200))
    np.testing.assert_array_equal(alignment.source.matrix, X[:190].astype(np.float32))
    assert alignment.seed["found"] == 190


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source_ids": range(200)}, "both source_ids and target_ids"),
        ({"source_ids": range(3), "target_ids": range(200)}, "source has 200 rows but there are 3 ids"),
        ({"source_ids": [[row] for row in range(200)], "target_ids": range(200)}, "must be hashable"),
        ({"source_ids": [1, "1", *range(2, 200)], "target_ids": range(200)}, "differ only in type"),
        ({"source_ids": range(200), "target_ids": range(200, 400)}, "no id in common; the first source id is 0 .* 200"),
        ({"source_ids": range(200), "target_ids": range(200), "lexicon": [("a", "b")]}, "no pair has both of its ids"),
        ({"source_ids": range(200), "target_ids": range(200), "lexicon": ["ab"]}, "pair 0 must be a source id and a"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(spaces, options, message):
    with pytest.raises(FippError, match=message):
        fipp.align(*spaces, method="fipp", **options)


def test_words_and_arrays_do_not_mix(spaces):
    X, Y = spaces
    words = Vectors([f"w{row}" for row in range(200)], X)
    with pytest.raises(FippError, match="one side has words"):
        fipp.align(words, Y, method="fipp")
    with pytest.raises(FippError, match="ids are for arrays"):
        fipp.align(words, words, [("w1", "w1")], "fipp", source_ids=range(200))


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_a_method_that_learns_from_nothing_takes_arrays_of_any_length(spaces):
    _, Y = spaces
    options = {"n_starts": 4, "n_candidates": 2, "n_epochs": 1}
    alignment = fipp.align(Y, Y[:150], method="icp", **options)
    assert alignment.seed == {} and len(alignment.aligner.pairs_) == 0


def test_the_alignment_of_arrays_transforms_evaluates_translates_and_is_saved(spaces, tmp_path):
    X, Y = spaces
    alignment = fipp.align(X, Y, [(row, row) for row in range(150)], "fipp")
    mapped = alignment.transform(X)
    assert isinstance(mapped, np.ndarray)
    np.testing.assert_array_equal(mapped, alignment.aligner.transform(X))
    np.testing.assert_array_equal(alignment.transform().matrix, mapped)
    np.testing.assert_array_equal(alignment.transform_target(Y), alignment.transform_target().matrix)
    result = alignment.evaluate([(row, row) for row in range(150, 200)])
    assert result.mrr > 0.3 and result.coverage == 1.0
    assert alignment.translate("160", k=200)[0].word in alignment.target.words
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp", alignment.source, alignment.target)
    np.testing.assert_array_equal(again.transform(X), mapped)
    assert again.evaluate([(row, row) for row in range(150, 200)]).mrr == result.mrr
