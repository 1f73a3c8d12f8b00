"""The paper's own figures."""

import pytest

from fipp.reproduce import paper_pairs, printed, printed_similarity, printed_task

# The paper's printed means of these are not the means of its printed rows.
MISPRINTED = {("1k", "FIPP+IN"): 0.3289, ("1k", "FIPP+P"): 0.3354, ("5k", "PROC+CSLS"): 0.4552}
BY_PAIR = {
    size: [name for name in printed(size)["tr-hr"] if name not in ("deviation", "epsilon", "lam")]
    for size in ("1k", "5k")
}


@pytest.mark.parametrize(
    ("size", "column"), [(size, column) for size, columns in BY_PAIR.items() for column in columns]
)
def test_the_rows_average_to_the_printed_mean(size, column):
    mean = sum(printed(size)[pair][column] for pair in paper_pairs()) / 28
    assert mean == pytest.approx(MISPRINTED.get((size, column), printed(size)["mean"][column]), abs=0.00051)


def test_the_printed_means_are_those_of_the_abstract_and_the_ablation():
    small, large = printed("1k")["mean"], printed("5k")["mean"]
    assert (small["PROC"], small["FIPP"], small["FIPP+SL"], small["FIPP+CSLS"]) == (0.299, 0.344, 0.406, 0.387)
    assert (large["PROC"], large["FIPP"], large["RCSLS"], large["FIPP+CSLS"]) == (0.405, 0.442, 0.437, 0.473)
    assert (small["FIPP w/o IP"], large["FIPP w/o IPF"], small["deviation"]) == (0.333, 0.439, 0.292)


def test_eight_languages_make_28_pairs_none_in_both_directions():
    pairs = paper_pairs()
    assert len({frozenset(pair.split("-")) for pair in pairs}) == len(pairs) == 28
    assert {language for pair in pairs for language in pair.split("-")} == {
        "de",
        "en",
        "fi",
        "fr",
        "hr",
        "it",
        "ru",
        "tr",
    }


def test_figures_that_the_paper_does_not_have_are_missing():
    assert printed("3k") == {}
    assert printed_similarity("en", "wordsim353-all") == {"before": 0.739, "FIPP": 0.736}
    assert printed_similarity("ru", "simlex999") == {}
    assert printed_task("documents", "en-fr", "fipp") == (0.433, False)
    assert printed_task("documents", "en-fr", "gwa") == (0.209, True)
    assert printed_task("documents", "en-fr", "none") is None
    assert printed_task("inference", "en-it", "fipp") is None
    assert (printed("5k")["en-de"]["epsilon"], printed("5k")["en-de"]["lam"]) == (0.01, 0.75)
