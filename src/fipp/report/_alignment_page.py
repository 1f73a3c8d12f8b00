"""The report about an alignment: one file that a colleague can read without knowing fipp."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from fipp._alignment import Alignment
from fipp._inputs import LexiconLike, as_lexicon
from fipp._progress import Progress
from fipp.aligners import BaseAligner, why_chosen
from fipp.evaluate import BLIResult
from fipp.experiments import plain_settings
from fipp.report._canvas import check_figures
from fipp.report._charts import rivals_of
from fipp.report._figures import FIGURES, drawing_of
from fipp.report._findings import BY_CSLS, MOST_PUBLISHED, Example, Findings, Scored, share_interval
from fipp.report._page import (
    Html,
    checksums,
    document,
    figure,
    joined,
    pair,
    percent,
    rounded,
    save_page,
    summary,
    table,
    tag,
    terms,
    tiles,
    versions,
    with_interval,
    word,
)
from fipp.report._svg import Drawing
from fipp.report._verdict import how_measured, verdict
from fipp.retrieve import check_retrieval

_LISTED = 20
_HUBS = 8
_SHOWN_RIGHT = 2
_NO_SEED = (
    "This part is left out: the model was learned without known pairs, or the vectors are not, row by row, those "
    "that it was learned from."
)


def write_report(
    alignment: Alignment,
    path: str | os.PathLike[str],
    test: LexiconLike | None = None,
    *,
    names: tuple[str, str] = ("source", "target"),
    retrieval: str = "cosine",
    details: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a report about an alignment: one HTML file that loads nothing and can be read without scripts.

    It has the verdict in a sentence, scores beside Procrustes and the published FIPP, which are fitted on the same seed
    pairs, examples of right and wrong translations, scores by frequency, a map, inner products and spectra, what the
    filter kept, hubs, what `Auto` tried, seed pairs that are far apart or look wrong, and settings, versions and
    checksums.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    path : str or path-like
        The HTML file; written as a whole or not at all.
    test : Lexicon, path or iterable of (str, str), optional
        Pairs that the map was not learned from. Without them, the seed pairs are cross-validated, which takes five
        fits; parts that need known pairs are left out, with a sentence, if there are none.
    names : (str, str)
        What to call source and target.
    retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
        How target words are ranked.
    details : mapping of str to str, optional
        Further lines for the end of the report, such as the names of files.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> fipp.report.write_report(alignment, path, demo.test, names=("English", "French"))
    >>> path.stat().st_size < 3_000_000
    True
    """
    check_figures()
    findings = Findings(alignment, None if test is None else as_lexicon(test), names, check_retrieval(retrieval))
    findings.prepare(progress)
    save_page(_Page(findings, details or {}).page(), path)


class _Page:
    """The sections of the page, and the drawings in them."""

    def __init__(self, findings: Findings, details: Mapping[str, str]) -> None:
        self.findings, self.details = findings, details
        self.drawings: list[Drawing] = []

    def page(self) -> str:
        """Return the whole page."""
        findings = self.findings
        sections = [
            ("Scores", self._scores()),
            ("Examples", self._examples()),
            ("Frequent and rare words", self._bands()),
            ("Map", self._map()),
            ("Both spaces", self._spaces()),
            ("Filter", self._filter()),
            ("Hubs", self._hubs()),
            ("Choice of the method", self._choice()),
            ("Seed pairs", self._seed_pairs()),
            ("Settings and versions", self._details()),
        ]
        source, target = findings.names
        heading = joined("Alignment of ", word(source), " to ", word(target))
        header = joined(tag("h1", heading), tag("p", verdict(findings), class_="verdict"), self._tiles())
        return document(f"Alignment of {source} to {target}", header, sections, drawings=self.drawings)

    def _figure(self, name: str) -> Html:
        kind = FIGURES[name]
        lacking = kind.lacks(self.findings)
        if lacking:
            return tag("p", f"This part is left out: {lacking}.", class_="note")
        drawing = drawing_of(name, self.findings)
        self.drawings.append(drawing)
        return figure(drawing, kind.caption, zoomable=name == "map")

    def _tiles(self) -> Html:
        findings, scores = self.findings, self.findings.scores
        tried = len(findings.trials)
        dims = [findings.source.dim, findings.target.dim]
        about = f"{dims[0]} dimensions" if dims[0] == dims[1] else f"{dims[0]} to {dims[1]} dimensions"
        if tried:
            about = f"chose the best of {tried}"
        known = len(findings.aligner.pairs_)
        shown = [
            ("Method", type(findings.aligner).__name__, about),
            ("Learned from", f"{known:,}" if known else "nothing", "known pairs" if known else "but the vectors"),
        ]
        if scores:
            result = scores[0].result
            low, high = share_interval(result)
            first = (
                "First answer is right",
                percent(result.p_at_1, 1),
                f"95\u00a0%: {percent(low)} to {percent(high)}",
            )
            five = ("Among the first five", percent(result.p_at_5, 1), "answers is a right one")
            covered = f"{result.n_queries:,} of {result.total:,} words"
            shown = [first, five, ("Looked up", percent(result.coverage), covered), *shown]
        return tiles(shown)

    def _scores(self) -> Html:
        scores = self.findings.scores
        if not scores:
            told = "There is nothing to measure with: give a test dictionary with --test, or align with known pairs."
            return tag("p", told, class_="note")
        own = scores[0].result
        rows = [_score_row(each) for each in scores]
        head = ["method", "P@1", "ahead by", "P@5", "MAP", "MRR"]
        label = (
            "P@1: the first answer is right. P@5: a right one is among the first five. MAP and MRR are 1 if right "
            "answers are always at the top. Below P@1 is its 95\u00a0% interval."
        )
        return joined(
            tag("p", how_measured(own)),
            self._figure("scores"),
            table(head, rows, label=label, best=[0]),
            tag(
                "p",
                "“Ahead by” is the difference in P@1 on the same words, in points, with its 95\u00a0% interval: if "
                "that contains 0, the difference may be chance.",
                class_="note",
            ),
            *_remarks(self.findings, scores),
        )

    def _examples(self) -> Html:
        examples, names = self.findings.examples, self.findings.names
        right, wrong = (
            [each for each in examples if each.rank == 1],
            [each for each in examples if (each.rank or 0) > 1],
        )
        if self.findings.test is None:
            told = "Frequent words that are not in the seed, with the model's first answers. Nobody has checked them."
            rows = [[word(each.word, "source"), _answers(each)] for each in examples]
            return joined(tag("p", told), table(list(names), rows, label="Translations", text=2))
        told = (
            "Some words of the test dictionary, frequent ones first, with the model's first answers. Those that the "
            "dictionary has are ticked. Another answer is often a good one too, and sometimes a mistake."
        )
        lists = (
            table(list(names), [[word(each.word, "source"), _answers(each)] for each in listed], label=label, text=2)
            for label, listed in (("Found first", right), ("Not found first", wrong))
            if listed
        )
        return joined(tag("p", told), tag("div", *lists, class_="columns"))

    def _bands(self) -> Html:
        drawn = self._figure("bands")
        if not self.findings.scores:
            return drawn
        rivals = rivals_of(self.findings)
        bands = [each.result.by_band() for each in rivals]
        head = ["source words", *(each.name for each in rivals)]
        rows = [
            [joined(name, tag("small", f"{own.n_queries:,} looked up")), *(_share(each[name]) for each in bands)]
            for name, own in bands[0].items()
        ]
        return joined(drawn, table(head, rows, label="P@1 by frequency, with 95\u00a0% intervals"))

    def _map(self) -> Html:
        drawn, shown = self._figure("map"), self.findings.map
        if shown is None:
            return drawn
        n, total = len(shown.ranks), len(np.unique(self.findings.known[:, 0]))
        which = f"These are the {n:,} most frequent of {total:,} " if n < total else f"These are all {n:,} "
        if self.findings.test is None:
            told = "seed words, from which the model learned: others would look worse."
        else:
            told = "test words that could be looked up."
        return joined(tag("p", which, told), drawn)

    def _spaces(self) -> Html:
        head = ["vectors", "effective dimensions", "isotropy", "first 10 directions", "hubness"]
        rows = [
            [
                joined(word(name), f", {when}"),
                rounded(space.effective_dimensions, 0),
                rounded(space.isotropy, 2),
                percent(space.top_10),
                rounded(space.hubness, 1),
            ]
            for (name, when), space in self.findings.spaces.items()
        ]
        label = (
            "Effective dimensions and isotropy are high if the words fill the space evenly; hubness is 0 without hubs"
        )
        return joined(self._figure("products"), self._figure("spectra"), table(head, rows, label=label))

    def _filter(self) -> Html:
        found = self.findings.filtered
        if found is None:
            return self._figure("filter")
        own = "that of the model" if found.own else "that of FIPP with its defaults, as this model has none of its own"
        epsilon = "no limit" if found.epsilon is None else f"ε = {found.epsilon:g}"
        told = f"The filter is {own} ({epsilon}): it keeps {percent(found.kept.mean(), 1)} of all inner products."
        order = np.argsort(found.kept, kind="stable")
        lists = (
            table(["pair", "kept"], self._pair_rows(rows, found.kept, percent), label=label)
            for label, rows in (("Most filtered", order[:_LISTED]), ("Least filtered", order[::-1][:_LISTED]))
        )
        return joined(tag("p", told), self._figure("filter"), tag("div", *lists, class_="columns"))

    def _hubs(self) -> Html:
        hubs = self.findings.hubs
        tops = {way: np.argsort(-counts, kind="stable")[:_HUBS] for way, counts in hubs.counts.items()}
        lists = (
            table(
                ["target word", "found by"],
                [[word(hubs.words[row], "target"), f"{hubs.counts[way][row]:,}"] for row in tops[way]],
                label=f"Largest hubs by {name}, of {hubs.n_queries:,} source words",
            )
            for way, name in (("cosine", "cosine"), ("csls", "CSLS"))
        )
        told = (
            f"By cosine, {percent(hubs.never('cosine'))} of the target words are never among the ten nearest; by CSLS, "
            f"{percent(hubs.never('csls'))}."
        )
        return joined(tag("p", told), self._figure("hubs"), tag("div", *lists, class_="columns"))

    def _choice(self) -> Html:
        drawn, aligner = self._figure("trials"), self.findings.aligner
        if not hasattr(aligner, "trials_"):
            return drawn
        why = why_chosen(aligner.trials_, aligner.chosen_, aligner.skipped_)
        return joined(tag("p", tag("strong", aligner.chosen_), f" was chosen: {why}."), drawn)

    def _seed_pairs(self) -> Html:
        findings = self.findings
        if not len(findings.pairs):
            return tag("p", _NO_SEED, class_="note")
        order = np.argsort(findings.cosines, kind="stable")
        lists = [
            table(["pair", "cosine"], self._pair_rows(rows, findings.cosines, rounded), label=label)
            for label, rows in (("Nearest to each other", order[::-1][:_LISTED]), ("Farthest apart", order[:_LISTED]))
        ]
        told = "Nearest and farthest are by this model."
        judged = findings.judged
        if judged is None:
            told += " There are too few seed pairs to judge which ones look wrong."
        else:
            told += (
                " Suspicious pairs are far apart by maps that were learned without them. "
                f"{judged.suspicious.sum():,} of {len(findings.pairs):,} pairs, in bold, are no nearer than words "
                f"paired by chance; {_few(judged.wrong_share)} of all pairs seem wrong."
            )
            worst = np.argsort(judged.cosines, kind="stable")[:_LISTED]
            bold = np.flatnonzero(judged.suspicious[worst]).tolist()
            rows = self._pair_rows(worst, judged.cosines, rounded)
            lists.append(table(["pair", "cosine"], rows, label="Most suspicious", best=bold))
        return joined(tag("p", told), tag("div", *lists, class_="columns"))

    def _pair_rows(self, rows: np.ndarray, values: np.ndarray, shown: Callable[[float], str]) -> list[list[str]]:
        words = self.findings.words_of(self.findings.pairs[rows])
        return [[pair(*each), shown(value)] for each, value in zip(words, values[rows], strict=True)]

    def _details(self) -> Html:
        findings = self.findings
        seed = findings.alignment.seed
        sides = zip(("Source", "Target"), findings.names, (findings.source, findings.target), strict=True)
        rows: list[tuple[str, str]] = [("Method", findings.method)]
        rows += [
            (
                side,
                joined(
                    word(name),
                    checksums(f": {len(vectors):,} words of {vectors.dim} dimensions, checksum {vectors.checksum}"),
                ),
            )
            for side, name, vectors in sides
        ]
        if seed.get("total"):
            rows.append(("Seed dictionary", f"{seed['found']:,} of {seed['total']:,} pairs found"))
        if len(findings.aligner.induced_pairs_):
            rows.append(("Pairs found by the method", f"{len(findings.aligner.induced_pairs_):,}"))
        rows += self.details.items()
        rows.append(("Versions", versions()))
        chosen = getattr(findings.aligner, "aligner_", None)
        settings = [_settings(findings.aligner, "Settings of the method")]
        if chosen is not None:
            settings.append(_settings(chosen, f"Settings of the map inside it, {type(chosen).__name__}"))
        return joined(summary(rows, label="What was aligned, and with what"), *settings)


def _remarks(findings: Findings, scores: list[Scored]) -> Iterator[Html]:
    """Yield what else is to be said of the scores, if anything."""
    if any(each.name == BY_CSLS and each.behind and each.behind.high < 0 for each in scores):
        yield tag("p", "By CSLS, this model finds clearly more: search with --retrieval csls.", class_="note")
    if len(findings.pairs) > MOST_PUBLISHED:
        told = f"FIPP as published is left out, because it takes long with more than {MOST_PUBLISHED:,} seed pairs."
        yield tag("p", told, class_="note")


def _settings(aligner: BaseAligner, label: str) -> Html:
    given = plain_settings(aligner.get_params(deep=False))
    return terms([(name, str(value)) for name, value in given.items()], label=label)


def _share(result: BLIResult) -> Html:
    return with_interval(lambda share: percent(share, 0), result.p_at_1, *share_interval(result))


def _few(share: float) -> str:
    return "fewer than 1\u00a0%" if share < 0.005 else f"about {percent(share)}"


def _answers(example: Example) -> Html:
    """Return the answers for a word, of which those in the dictionary are ticked; what it has if none is."""
    right = {each.casefold() for each in example.right}
    ticked = [each.casefold() in right for each in example.answers]
    answers = [
        tag("span", word(each, "target"), class_="right") if tick else word(each, "target")
        for each, tick in zip(example.answers, ticked, strict=True)
    ]
    if not right or any(ticked):
        return _listed(answers)
    known = _listed([word(each, "target") for each in example.right[:_SHOWN_RIGHT]])
    return joined(_listed(answers), tag("small", "dictionary: ", known, f", found at rank\u00a0{example.rank:,}"))


def _listed(parts: Sequence[Html]) -> Html:
    return joined(*[each for part in parts for each in (", ", part)][1:])


def _score_row(scored: Scored) -> list[str]:
    result = scored.result
    own = with_interval(lambda share: percent(share, 1), result.p_at_1, *share_interval(result))
    ahead = "–"
    if scored.behind is not None:
        behind = scored.behind
        ahead = with_interval(lambda share: rounded(100 * share, 1), behind.difference, behind.low, behind.high)
    return [scored.name, own, ahead, percent(result.p_at_5, 1), rounded(result.map), rounded(result.mrr)]
