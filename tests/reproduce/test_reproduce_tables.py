"""Tables in every format, with the paper's figures where it has them."""

import copy
import csv
import io
import json

import pytest

from fipp import FippError
from fipp.experiments import Table, render
from fipp.reproduce import TABLES, make_tables, printed

ONE_ROW_A_PAIR = [name for name, spec in TABLES.items() if spec.measure == "bli"]


@pytest.fixture
def study(finished):
    cells, records = finished
    return cells, copy.deepcopy(records)


def column(table, label):
    place = table.header.index(label)
    return {row[0]: row[place] for row in table.rows}


def test_every_table_has_a_row_for_each_pair_with_counts_and_coverage(study):
    tables = make_tables(*study, ONE_ROW_A_PAIR)
    assert [table.name for table in tables] == ONE_ROW_A_PAIR
    for table in tables:
        assert [row[0] for row in table.rows][:2] == ["en-fr", "xx-en"]
        assert column(table, "seed pairs")["xx-en"] == "100 of 100"
        assert column(table, "test words")["en-fr"] == "100 of 110"
        assert column(table, "coverage")["en-fr"] == "91 %"
        assert column(table, "vectors")["en-fr"] == "wiki.en.vec (12) → cc.fr.300.vec.gz (12)"


def test_the_papers_figures_stand_beside_ours_where_it_has_the_pair(study):
    main = make_tables(*study, ["main"])[0]
    ours, paper = column(main, "FIPP (published)"), column(main, "FIPP (published), paper")
    assert paper == {"en-fr": 0.601, "xx-en": None, "mean of 2": None, "paper, mean of 28": 0.344}
    assert ours["mean of 2"] == pytest.approx((ours["en-fr"] + ours["xx-en"]) / 2)
    assert paper["en-fr"] == printed("1k")["en-fr"]["FIPP"]


def test_settings_are_not_averaged(study):
    tuning = make_tables(*study, ["tuning"])[0]
    assert column(tuning, "ε")["mean of 2"] is None and column(tuning, "FIPP (ours), tuned")["mean of 2"] is not None
    assert column(tuning, "ε, paper")["en-fr"] == 0.1 and column(tuning, "λ")["en-fr"] in (0.25, 0.5, 0.75, 1.0, 1.25)


def test_columns_without_results_are_left_out(study):
    dimensions = make_tables(*study, ["dimensions"])[0]
    assert "FIPP (ours), all" in dimensions.header and "FIPP (ours), 250" not in dimensions.header


def test_a_method_that_scores_nothing_keeps_its_column(study):
    cells, records = study
    for record in records.values():
        if record["variant"] == "procrustes":
            record["test"]["map"] = 0.0
    assert column(make_tables(cells, records, ["main"])[0], "Procrustes")["en-fr"] == 0.0


def test_filtered_words_are_pairs_of_the_dictionary(study):
    filtered = make_tables(*study, ["filtered"])[0]
    pairs = [pair.split("–") for pair in column(filtered, "least filtered")["en-fr"].split(", ")]
    assert len(pairs) == 5 and all(source[2:] == target[2:] for source, target in pairs)


def test_what_is_published_and_what_is_ours_stand_side_by_side(study):
    cells, records = study
    methods = {cell.variant: (cell.method, dict(cell.settings)) for cell in cells}
    for change, settings in (("-no-filter", {"epsilon": None}), ("-sl", {"self_learning": 14000}), ("", {})):
        for base in ("fipp-published", "fipp"):
            assert methods[base + change] == (base, settings)
    ablation = make_tables(cells, records, ["ablation"])[0]
    for part in ("", " w/o IP", " w/o IPF", " w/o WP", " + SL"):
        published, beside, ours = (
            ablation.header.index(f"FIPP{part} ({whose}") for whose in ("published)", "published), paper", "ours)")
        )
        assert (beside, ours) == (published + 1, published + 2)
        assert [row[published] is not None and row[ours] is not None for row in ablation.rows[:3]] == [True] * 3


def test_learned_pairs_are_listed_with_their_similarities_the_most_similar_first(study):
    learned = make_tables(*study, ["learned"])[0]
    assert column(learned, "best (published), paper")["en-fr"].startswith("oversee–superviser, ")
    items = column(learned, "best (published)")["en-fr"].split(", ")
    pairs, similarities = zip(*(item.split(" ") for item in items), strict=True)
    assert len(items) == 10 and sorted(similarities, reverse=True) == list(similarities)
    # Words of the seed are e0 to e99 and f0 to f99; the published rule gives none of either side a second partner.
    assert all(int(word[2:]) >= 100 for pair in pairs for word in pair.split("–"))
    assert 10 <= int(column(learned, "pairs added (published)")["en-fr"]) <= 100


def test_all_formats_hold_all_figures(study):
    tables = make_tables(*study)
    loaded = json.loads(render(tables, "json"))
    assert [table["rows"] for table in loaded] == [table.rows for table in tables]
    figures = {
        (row["table"], row["row"], row["column"]): row["value"]
        for row in csv.DictReader(io.StringIO(render(tables, "csv")))
    }
    for table in tables:
        for row in table.rows:
            name = " ".join(row[: table.names])
            for label, value in zip(table.header[table.names :], row[table.names :], strict=True):
                assert figures.get((table.name, name, label)) == (None if value is None else str(value))
    markdown, latex = render(tables), render(tables, "latex")
    for table in tables:
        assert f"## {table.title}\n" in markdown
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == len(tables)
    assert "0.601" in markdown and "0.601" in latex


def test_signs_that_mean_something_to_a_format_are_escaped():
    table = Table("main", "1k", "100 % & more", ["pair", "a_b"], [["x|y", 0.5], ["z", None]])
    assert r"| x\|y | 0.500 |" in render([table])
    latex = render([table], "latex")
    assert r"\caption{100 \% \& more}" in latex and r"pair & a\_b \\" in latex and r"z & -- \\" in latex


def test_an_unknown_format_is_refused():
    with pytest.raises(FippError, match="no format 'html'; known are markdown"):
        render([], "html")
