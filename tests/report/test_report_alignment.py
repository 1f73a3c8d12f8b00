"""Reports about alignments: what they say, what they leave out, and that words in them do no harm."""

import warnings

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from test_report_page import HOSTILE, read_page

import fipp
from cheap_methods import CHEAP
from fipp.evaluate import PairedComparison
from fipp.report import FIGURES, plot, write_report
from fipp.report._findings import Findings
from fipp.report._verdict import verdict

SECTIONS = {
    "scores", "examples", "frequent-and-rare-words", "map", "both-spaces", "filter", "hubs", "choice-of-the-method",
    "seed-pairs", "settings-and-versions",
}  # fmt: skip


def small_space(hostile=False):
    """Return two vocabularies in which row i translates row i, and seed and test pairs."""
    rng = np.random.default_rng(0)
    target = rng.standard_normal((400, 20)).astype(np.float32)
    source = target @ np.linalg.qr(rng.standard_normal((20, 20)))[0] + 0.3 * rng.standard_normal((400, 20))
    words, translations = [f"word{i}" for i in range(400)], [f"mot{i}" for i in range(400)]
    if hostile:
        for place, word in enumerate(HOSTILE):
            words[place], translations[place + 200] = word, word
    pairs = list(zip(words, translations, strict=True))
    return fipp.Vectors(words, source), fipp.Vectors(translations, target), pairs[:200], pairs[200:300]


def report_of(tmp_path, alignment, test=None, **options):
    path = tmp_path / "report.html"
    write_report(alignment, path, test, **options)
    return read_page(path)


@pytest.fixture(scope="module")
def space():
    return small_space()


@pytest.fixture(scope="module")
def alignment(space):
    return fipp.align(*space[:3], "fipp")


@pytest.fixture(scope="module")
def hostile():
    """An alignment of hostile words, with a wrong seed pair, and test pairs."""
    source, target, seed, test = small_space(hostile=True)
    wrong = [*seed[:30], (seed[30][0], seed[35][1]), *seed[31:]]
    return fipp.align(source, target, wrong, "fipp"), test


@pytest.fixture(scope="module")
def report(tmp_path_factory, hostile):
    """The file of a report, what it has, and all its text."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(hostile[0], path, hostile[1], names=("<b>", "\x1b[2J"), details={"Model file": "x"})
    return path, *read_page(path)


def test_a_report_has_every_section_and_the_score_that_evaluate_gives(hostile, report):
    _, page, text = report
    assert {found["aria-labelledby"] for name, found in page.tags if name == "section"} == SECTIONS
    result = hostile[0].evaluate(hostile[1])
    assert f"finds the right translation first for {100 * result.p_at_1:.1f} % of 100 words" in text
    assert "FIPP as published" in text and "Procrustes" in text and hostile[0].source.checksum in text
    assert "only auto tries several methods" in text and "Model file x" in text


def test_hostile_words_are_shown_and_do_nothing(report):
    path, page, text = report
    names = [name for name, _ in page.tags]
    assert names.count("script") == 1 and names.count("style") == 1 and "img" not in names and "b" not in names
    assert not any(each.startswith("on") or each == "style" for _, found in page.tags for each in found)
    assert not set("\x1b\u202e") & set(text) and "<script>alert(1)</script>" in text
    assert path.stat().st_size < 3_000_000


def test_twenty_seed_pairs_are_listed_as_most_suspicious_and_a_wrong_one_is_bold(report):
    listed = report[0].read_text(encoding="utf-8").split("Most suspicious</span>")[1].split("</table>")[0]
    rows = listed.split("<tr")[2:]
    assert len(rows) == 20 and "word30<" in rows[0] and 'class="best"' in rows[0]


def test_the_same_model_gives_the_same_bytes(tmp_path, hostile, report):
    write_report(hostile[0], tmp_path / "b.html", hostile[1], names=("<b>", "\x1b[2J"), details={"Model file": "x"})
    assert (tmp_path / "b.html").read_bytes() == report[0].read_bytes()


def test_examples_are_what_translate_gives_and_tick_what_the_dictionary_has(hostile, report):
    alignment, test = hostile
    findings = Findings(alignment, fipp.Lexicon(test), ("a", "b"))
    right = dict(test)
    for each in findings.examples:
        assert each.answers == [found.word for found in alignment.translate(each.word, 3)]
        assert each.right == [right[each.word]] and (each.rank == 1) == (each.answers[0] == right[each.word])
    assert report[0].read_text(encoding="utf-8").count('<span class="right">') == sum(
        each.right[0] in each.answers for each in findings.examples
    )


def test_a_perfect_score_has_an_interval_and_its_axis_ends_at_100_percent(tmp_path, space, alignment):
    test = fipp.Lexicon([pair for pair in space[3] if alignment.translate(pair[0], 1)[0].word == pair[1]][:40])
    _, text = report_of(tmp_path, alignment, test)
    low = 100 * scipy.stats.binomtest(40, 40).proportion_ci().low
    assert f"95 %: {low:.0f} % to 100 %" in text and "102 %" not in text and "105 %" not in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f"{low:.1f} to 100.0 %" in page


def test_names_of_both_sides_change_the_direction_of_nothing_around_them(tmp_path, space, alignment):
    report_of(tmp_path, alignment, space[3], names=("English", "عربية"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Alignment of <bdi>English</bdi> to <bdi>عربية</bdi></h1>" in page
    assert "<bdi>عربية</bdi>: 400 words of 20 dimensions" in page and "<bdi>عربية</bdi>, after" in page


def test_the_yardsticks_are_fitted_on_the_same_pairs_and_measured_on_the_same_words(space, alignment):
    findings = Findings(alignment, fipp.Lexicon(space[3]), ("a", "b"))
    scores = {each.name: each.result for each in findings.scores}
    own = fipp.align(*space[:3], "procrustes").evaluate(space[3])
    assert scores["Procrustes"] == own and scores["this model, by CSLS"].retrieval == "csls"


def test_a_score_that_is_clearly_better_by_csls_is_pointed_out(tmp_path, monkeypatch, space, alignment):
    assert "finds clearly more" not in report_of(tmp_path, alignment, space[3])[1]
    behind = PairedComparison("p@1", 0.5, 0.6, -0.1, -0.12, -0.08, 0.95, 0.001, 100)
    monkeypatch.setattr("fipp.report._findings.compare_results", lambda *_: behind)
    assert "By CSLS, this model finds clearly more" in report_of(tmp_path, alignment, space[3])[1]


def test_the_map_says_which_words_it_shows(tmp_path, monkeypatch, space, alignment):
    assert "These are all 100 test words that could be looked up." in report_of(tmp_path, alignment, space[3])[1]
    monkeypatch.setattr("fipp.report._findings._ON_THE_MAP", 40)
    assert "These are the 40 most frequent of 100 test words" in report_of(tmp_path, alignment, space[3])[1]
    assert "of 200 seed words, from which the model learned" in report_of(tmp_path, alignment)[1]


def test_with_very_many_seed_pairs_the_published_method_is_left_out(monkeypatch, space, alignment):
    monkeypatch.setattr("fipp.report._findings.MOST_PUBLISHED", 100)
    findings = Findings(fipp.align(*space[:3], "procrustes"), fipp.Lexicon(space[3]), ("a", "b"))
    assert [each.name for each in findings.scores][2:] == ["Procrustes"] and findings.filtered is None
    assert Findings(alignment, None, ("a", "b")).filtered is not None, "FIPP has a filter of its own"


def test_without_a_test_dictionary_the_seed_is_cross_validated_also_with_few_pairs_and_other_dimensions(
    tmp_path, space
):
    source, target, seed, _ = space
    narrow = fipp.Vectors(source.words, source.matrix[:, :12])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fipp.FippWarning)
        alignment = fipp.align(narrow, target, seed[:10], "fipp")
    _, text = report_of(tmp_path, alignment)
    assert "of 10 seed words when they are held out" in text and "held out in 5 parts" in text
    assert "400 words of 12 dimensions" in text and "12 to 20 dimensions" in text
    assert "There are too few seed pairs to judge" in text and "Nobody has checked them" in text


def test_a_model_without_pairs_or_with_too_few_says_what_is_left_out(tmp_path, space):
    alignment = fipp.align(*space[:3], "procrustes")
    alignment = fipp.Alignment(alignment.aligner, *space[:2], seed_pairs=np.empty((0, 2), dtype=np.int64))
    _, text = report_of(tmp_path, alignment)
    assert "nearest neighbour by CSLS" in text and "There is nothing to measure with" in text
    assert text.count("This part is left out") >= 3
    findings = Findings(alignment, fipp.Lexicon(space[3]), ("a", "b"))
    assert [each.name for each in findings.scores] == ["this model", "this model, by CSLS"]
    assert verdict(findings).startswith("This model finds the right translation first for")
    guessed = fipp.align(*space[:2], space[2], clone(CHEAP["vecmap-identical"]))
    for few in (fipp.align(*space[:2], space[2][:4], "procrustes"), guessed):
        assert Findings(few, None, ("a", "b")).scores is None


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "100.0 % of 1 word it did not learn from, as many as"),
        (None, "It learned from all of these words, which says little about others"),
    ],
)
def test_the_verdict_says_how_much_it_means(space, alignment, count, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fipp.FippWarning)
        asked = Findings(alignment, fipp.Lexicon(space[3][:count] if count else space[2]), ("a", "b"))
        assert said in verdict(asked).replace("\u00a0", " ")
        unknown = fipp.Lexicon([*space[3], *((f"unknown{i}", "mot1") for i in range(60))])
        assert "Only 62 % of the dictionary's words could be looked up" in verdict(
            Findings(alignment, unknown, ("a", "b"))
        ).replace("\u00a0", " ")


def test_the_map_shows_the_translation_that_is_found_first_of_those_a_word_has(space, alignment):
    several = [*space[3], *((source, target) for (source, _), (_, target) in zip(space[3], space[2], strict=False))]
    shown = Findings(alignment, fipp.Lexicon(several), ("a", "b")).map
    right = dict(space[3])
    result = alignment.evaluate(several)
    np.testing.assert_array_equal(shown.ranks, result.ranks)
    assert all(
        right[source] == target for source, target, rank in zip(*shown[:2], shown.ranks, strict=True) if rank == 1
    )


def test_the_filter_of_other_methods_is_that_of_fipp_with_its_defaults(space, alignment):
    test = fipp.Lexicon(space[3])
    own = Findings(alignment, test, ("a", "b")).filtered
    other = Findings(fipp.align(*space[:3], "procrustes"), test, ("a", "b")).filtered
    assert own.own and not other.own
    np.testing.assert_allclose(other.kept, own.kept, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"trials"}))
def test_each_figure_is_written_in_each_format(tmp_path, space, alignment, name):
    for format, start in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        plot(name, alignment, tmp_path / f"x.{format}", space[3][:20], narrow=format == "png")
        assert (tmp_path / f"x.{format}").read_bytes().startswith(start)


def test_what_auto_tried_is_drawn(tmp_path, space, alignment):
    auto = fipp.Auto()
    auto.__dict__ |= {name: value for name, value in alignment.aligner.__dict__.items() if name.endswith("_")}
    auto.aligner_, auto.chosen_, auto.skipped_ = alignment.aligner, "fipp", []
    auto.trials_ = [
        {"name": "fipp", "mrr": 0.9, "standard_error": 0.01, "words": 100},
        {"name": "ridge", "mrr": 0.5, "standard_error": 0.02, "words": 30},
    ]
    plot("trials", fipp.Alignment(auto, *space[:2]), tmp_path / "x.svg")
    assert "ridge" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_a_figure_that_cannot_be_drawn_says_why(tmp_path, alignment):
    with pytest.raises(fipp.FippError, match="only auto tries several methods"):
        plot("trials", alignment, tmp_path / "x.png")
    with pytest.raises(fipp.FippError, match="choose from scores, bands"):
        plot("nothing", alignment, tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []
