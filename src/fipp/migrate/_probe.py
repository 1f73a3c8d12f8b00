"""Whether a map can replace embedding again: every way out, measured on a sample and forecast for the collection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from fipp._progress import Progress, Steps
from fipp.aligners import KernelRidge, LeftOut
from fipp.exceptions import FippError
from fipp.linalg import row_blocks, unit_rows
from fipp.migrate._forecast import (
    Estimate,
    chance_among,
    continued,
    gain_in,
    recall_in,
    reciprocal_rank_in,
    wider_recall,
)
from fipp.migrate._maps import DEPTH, best_map, nearest_others, shares_found
from fipp.migrate._sample import PairedSample

RESCORED = (50, 100, 200)
"""How many of the first found are scored again by the new model."""

# The cheapest way whose score comes this close to the best one is recommended.
CLOSE = 0.02
# Without queries, how far those of real users may differ from documents: half of the interval.
_SHIFT = 0.05
# The standard error of continuing a figure, for each factor of ten beyond the sample.
_PER_DECADE = 0.02
_FEWEST = 1000
_QUERIES_AT_A_TIME = 256
_CURVE = (0.125, 0.25, 0.5, 1.0)
_SAID = {
    "stay on the old model": "Keep the old vectors and the old model",
    "query adapter": "Keep the old vectors and adapt the queries of the new model",
    "convert": "Convert the old vectors",
    "embed again": "Embed everything again",
}


class Way(NamedTuple):
    """One way out: what it finds, each figure with its interval."""

    name: str
    recall: Estimate
    mrr: Estimate | None
    ndcg: Estimate | None
    share: float
    """Of what embedding everything again would give: of its MRR, or of its neighbours."""


class Cluster(NamedTuple):
    """Items that belong together, and how well their neighbours are kept by converting."""

    n_items: int
    recall: float
    examples: list[str]


@dataclass(frozen=True, eq=False)
class Probe:
    """What a probe found.

    Attributes
    ----------
    ways : list of Way
        Staying, adapting queries, converting, embedding everything again; and staying or converting with the first
        found scored again by the new model.
    size, n_items, n_queries : int
        Items in the collection for which this is a forecast, and in the sample; queries in the sample.
    map : str
        The map that keeps most neighbours: ``"linear"`` or ``"kernel"``.
    curve : list of (int, float)
        Recall in the sample by number of pairs, and for twice and four times as many as there are.
    clusters : list of Cluster
        The parts of the collection where converting keeps the fewest neighbours, worst first.
    recommended : str
        The name of the cheapest way that comes within .02 of the best.
    verdict : str
        The same in a sentence, with the reason.
    """

    ways: list[Way]
    size: int
    n_items: int
    n_queries: int
    map: str
    curve: list[tuple[int, float]]
    clusters: list[Cluster]
    recommended: str
    verdict: str

    def way(self, name: str) -> Way:
        """Return a way by its name."""
        return next(way for way in self.ways if way.name == name)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        ways = [{"name": way.name, "recall": way.recall._asdict(), "mrr": way.mrr and way.mrr._asdict(),
                 "ndcg": way.ndcg and way.ndcg._asdict(), "share": way.share} for way in self.ways]  # fmt: skip
        rest = {name: getattr(self, name) for name in ("size", "n_items", "n_queries", "map", "recommended", "verdict")}
        return {**rest, "ways": ways, "curve": self.curve, "clusters": [each._asdict() for each in self.clusters]}


class _Found(NamedTuple):
    """What one way finds in the sample."""

    recalls: NDArray[np.float64]  # (items, 10): of the 1, 2, … 10 nearest neighbours of each item
    by_queries: NDArray[np.float64] | None  # the same of each query, without its answers
    ranks: NDArray[np.int64] | None  # of the first answer of each query that has one


class _Sides:
    """The sample with its true neighbours, against which every way is measured."""

    def __init__(self, sample: PairedSample) -> None:
        self.sample = sample
        self.old, self.new = unit_rows(sample.old), unit_rows(sample.new)
        self.own = np.arange(len(sample))
        gold = [rows[:1] if len(rows) else np.array([-1]) for rows in sample.gold or []]
        self.gold = np.concatenate(gold) if gold else None

    @cached_property
    def true_neighbours(self) -> list[list[int]]:
        return nearest_others(self.new, self.new, self.own)

    @cached_property
    def new_queries(self) -> NDArray[np.float32] | None:
        return None if self.sample.new_queries is None else unit_rows(self.sample.new_queries)

    @cached_property
    def old_queries(self) -> NDArray[np.float32] | None:
        return None if self.sample.old_queries is None else unit_rows(self.sample.old_queries)

    @cached_property
    def answers(self) -> NDArray[np.int64]:
        """The answer of each query, −1 if it has none."""
        assert self.new_queries is not None
        return np.full(len(self.new_queries), -1) if self.gold is None else self.gold

    @cached_property
    def wanted_by_queries(self) -> list[list[int]]:
        assert self.new_queries is not None
        return nearest_others(self.new_queries, self.new, self.answers)

    def found(
        self, items: NDArray, pool: NDArray, queries: NDArray | None, ranks: NDArray[np.int64] | None = None
    ) -> _Found:
        """Search a pool with items and with queries; gold ranks are taken from the pool unless given."""
        recalls = shares_found(nearest_others(items, pool, self.own), self.true_neighbours)
        if queries is None:
            return _Found(recalls, None, None)
        by_queries = shares_found(nearest_others(queries, pool, self.answers), self.wanted_by_queries)
        if self.gold is None:
            return _Found(recalls, by_queries, None)
        if ranks is None:
            ranks = _gold_ranks(lambda rows: queries[rows] @ pool.T, self.answers)
        return _Found(recalls, by_queries, ranks)


def probe(
    sample: PairedSample, *, size: int | None = None, random_state: int = 0, progress: Progress | None = None
) -> Probe:
    """Find out whether converting vectors can replace embedding them again.

    Parameters
    ----------
    sample : PairedSample
        A few thousand items embedded by both models, and better also queries with their answers.
    size : int, optional
        The number of items in the whole collection; ten times the sample by default.
    random_state : int, default=0
        The seed of the clusters and of the intervals.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    Probe

    Notes
    -----
    No item is converted by a map that was fitted on it: for each item, and for the answer of each query, the map is
    calculated as if it had not been in the sample. Recall is that of the new model's own ten nearest neighbours.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> new = rng.standard_normal((300, 8))
    >>> sample = PairedSample.from_arrays(new @ rng.standard_normal((8, 8)), new)
    >>> found = probe(sample, size=300)
    >>> found.map, found.way("convert").recall.value > found.way("stay on the old model").recall.value
    ('linear', True)
    """
    n = len(sample)
    size = DEPTH * n if size is None else size
    if size < n:
        raise FippError(f"size is the number of items in the whole collection: at least the {n:,} of the sample")
    sides, steps = _Sides(sample), Steps(progress, 6)
    steps(0)
    name, _, left_out, _ = best_map(sample, progress=steps.part(2))
    found = _search_all(sides, left_out)
    steps()
    ways = _ways(found, sides, size, random_state)
    steps()
    curve = _learning_curve(sides, name)
    steps()
    recommended, verdict = _verdict(ways, n, size)
    steps.finish()
    n_queries = 0 if sides.new_queries is None else len(sides.new_queries)
    clusters = _worst_clusters(sides, found["convert"].recalls[:, -1], random_state)
    return Probe(ways, size, n, n_queries, name, curve, clusters, recommended, verdict)


def _search_all(sides: _Sides, left_out: LeftOut) -> dict[str, _Found]:
    queries, gold = sides.new_queries, sides.gold
    ranks = None
    if queries is not None and gold is not None:
        ranks = _gold_ranks(lambda rows: left_out.cosines(queries[rows], gold[rows]), gold)
    return {
        "stay on the old model": sides.found(sides.old, sides.old, sides.old_queries),
        "query adapter": _search_adapted(sides),
        "convert": sides.found(sides.new, unit_rows(left_out.predictions()), queries, ranks),
        "embed again": sides.found(sides.new, sides.new, queries),
    }


def _search_adapted(sides: _Sides) -> _Found:
    """Search the old items with the new model's queries, mapped to the old model by a map that has seen neither."""
    asked, best = sides.new_queries, best_map(sides.sample, "queries")
    if asked is None or sides.old_queries is None:
        queries = None if asked is None else unit_rows(best.aligner.transform(asked))
        return sides.found(unit_rows(best.left_out.predictions()), sides.old, queries)
    predicted = unit_rows(best.left_out.predictions(np.concatenate([np.full(len(sides.own), -1), sides.answers])))
    return sides.found(predicted[: len(sides.own)], sides.old, predicted[len(sides.own) :])


def _gold_ranks(cosines: Any, gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of the answer of each query that has one; ``cosines`` gives those of some rows with the pool."""
    ranks = []
    for rows in row_blocks(len(gold), _QUERIES_AT_A_TIME):
        scores, mine = cosines(rows), gold[rows]
        known = mine >= 0
        own = scores[known, mine[known]][:, None]
        ranks.append(1 + (scores[known] > own).sum(axis=1))
    return np.concatenate(ranks)


def _ways(found: dict[str, _Found], sides: _Sides, size: int, random_state: int) -> list[Way]:
    forecaster = _Forecaster(len(sides.sample), size, random_state)
    again = found["embed again"]
    listed: list[tuple[str, Estimate, Estimate | None, Estimate | None]] = []
    for name, each in found.items():
        exact = name == "embed again"
        recall = Estimate(1.0, 1.0, 1.0) if exact else forecaster.recall(each, again)
        mrr, ndcg = (forecaster.mean(each.ranks, value_in) for value_in in (reciprocal_rank_in, gain_in))
        listed.append((name, recall, mrr, ndcg))
        rescored = {"stay on the old model": (100,), "convert": RESCORED}.get(name, ())
        for first in rescored:
            listed.append((f"{name}, score the first {first} again", *forecaster.rescored(each, again, first)))
    best = listed[-1]
    return [
        Way(name, recall, mrr, ndcg, mrr.value / best[2].value if mrr and best[2] else recall.value)
        for name, recall, mrr, ndcg in listed
    ]


class _Forecaster:
    """Figures of the sample, continued to the size of the collection, with intervals."""

    def __init__(self, n: int, size: int, random_state: int, n_resamples: int = 200) -> None:
        self.n, self.size, self.larger = n, size, size / n
        self.rng, self.n_resamples = np.random.default_rng(random_state), n_resamples
        self.extrapolation = _PER_DECADE * np.log10(max(self.larger, 1))

    def recall(self, found: _Found, again: _Found) -> Estimate:
        """Forecast recall from items and from queries; where they differ, the interval says so."""
        shares = [found.recalls] if found.by_queries is None else [found.recalls, found.by_queries]
        values, errors = zip(*(self._tail(each) for each in shares), strict=True)
        value, shift = float(np.mean(values)), _SHIFT / 1.96
        if len(values) == 2:
            shift = abs(values[0] - values[1]) / 2
        if found.ranks is not None and again.ranks is not None:
            # An answer is often among the neighbours, and found more easily than they are.
            near = chance_among(DEPTH, again.ranks, self.n, self.size) / DEPTH
            found_too = near * chance_among(DEPTH, found.ranks, self.n, self.size)
            value = (1 - near.mean()) * value + found_too.mean()
        return Estimate.around(value, float(np.sqrt(np.mean(np.square(errors)) + shift**2 + self.extrapolation**2)))

    def _tail(self, recalls: NDArray[np.float64]) -> tuple[float, float]:
        drawn = [recalls[self._draw(len(recalls))].mean(axis=0) for _ in range(self.n_resamples // 4)]
        spread = [recall_in(each, self.n, self.size) for each in drawn]
        return recall_in(recalls.mean(axis=0), self.n, self.size), float(np.std(spread))

    def mean(self, ranks: NDArray[np.int64] | None, value_in: Any) -> Estimate | None:
        """Forecast the mean of a value of ranks, such as 1 / rank."""
        if ranks is None:
            return None
        value, doubt = continued(lambda part: float(value_in(part, ranks).mean()), self.larger)
        spread = []
        for _ in range(self.n_resamples // 4):
            drawn = ranks[self._draw(len(ranks))]
            spread.append(continued(lambda part: float(value_in(part, drawn).mean()), self.larger)[0])  # noqa: B023
        return Estimate.around(value, float(np.sqrt(np.var(spread) + doubt**2 + self.extrapolation**2)))

    def rescored(self, found: _Found, again: _Found, first: int) -> tuple[Estimate, Estimate | None, Estimate | None]:
        """Forecast what is left of embedding again if only the first found are scored by the new model."""
        noise = [self._within(each, first) for each in (found.recalls, found.by_queries) if each is not None]
        recall = Estimate.around(float(np.mean(noise)), float(np.hypot(np.ptp(noise) / 2, self.extrapolation)))
        if found.ranks is None or again.ranks is None:
            return recall, None, None
        hit = chance_among(first, found.ranks, self.n, self.size)
        kept = float((hit / again.ranks).sum() / (1 / again.ranks).sum())
        mrr, ndcg = self.mean(again.ranks, reciprocal_rank_in), self.mean(again.ranks, gain_in)
        assert mrr and ndcg
        return recall, mrr.times(kept), ndcg.times(kept)

    def _within(self, recalls: NDArray[np.float64], first: int) -> float:
        """Return the share of the ten nearest in the collection that are among the first found there."""
        return wider_recall(recall_in(recalls.mean(axis=0), self.n, self.size), first / DEPTH)

    def _draw(self, count: int) -> NDArray[np.int64]:
        return self.rng.integers(count, size=count)


def _learning_curve(sides: _Sides, name: str) -> list[tuple[int, float]]:
    """Return recall by number of pairs in one fixed part of the sample, continued to two and four times as many."""
    held = np.arange(len(sides.own)) % 4 == 3
    wanted = nearest_others(sides.new[held], sides.new[held], np.arange(held.sum()))
    old, new, points = sides.old[~held], sides.new[~held], []
    for share in _CURVE:
        n = max(DEPTH, round(share * len(old)))
        aligner = KernelRidge("linear" if name == "linear" else "rbf").fit(old[:n], new[:n])
        found = nearest_others(sides.new[held], unit_rows(aligner.transform(sides.old[held])), np.arange(held.sum()))
        points.append((n, float(shares_found(found, wanted)[:, -1].mean())))
    counts, shares = np.array(points).T
    slope, height = np.polyfit(np.log(counts[-3:]), shares[-3:], 1)
    for factor in (2, 4):
        points.append((factor * len(old), float(np.clip(height + slope * np.log(factor * len(old)), 0, 1))))
    return points


def _worst_clusters(sides: _Sides, recalls: NDArray[np.float64], random_state: int, n_worst: int = 3) -> list[Cluster]:
    """Return the clusters of items by the new model whose neighbours are kept least, with their most typical items."""
    k = min(20, max(2, len(recalls) // 50))
    groups = KMeans(k, n_init=3, random_state=random_state).fit(sides.new)
    nearness = np.einsum("ij,ij->i", sides.new, groups.cluster_centers_[groups.labels_])
    clusters = []
    for label in range(k):
        members = np.flatnonzero(groups.labels_ == label)
        if len(members) >= DEPTH:
            typical = members[np.argsort(-nearness[members])[:3]]
            shown = [_shown(sides.sample, row) for row in typical]
            clusters.append(Cluster(len(members), float(recalls[members].mean()), shown))
    return sorted(clusters, key=lambda cluster: cluster.recall)[:n_worst]


def _shown(sample: PairedSample, row: int, length: int = 60) -> str:
    text = str(sample.ids[row]) if sample.texts is None else sample.texts[row]
    return text if len(text) <= length else text[: length - 1] + "…"


def _cost(way: Way) -> tuple[int, int]:
    """Order ways by what they cost: nothing for each item, a product, then embedding some for each query, or all."""
    name, _, then = way.name.partition(", ")
    order = ["stay on the old model", "query adapter", "convert", "embed again"].index(name)
    if not then:
        return (order if name != "embed again" else 9), 0
    return 5 + order, int("".join(filter(str.isdigit, then)))


def _verdict(ways: list[Way], n: int, size: int) -> tuple[str, str]:
    """Return the cheapest way that comes close to the best, and why."""
    by_queries = ways[-1].mrr is not None
    # Without queries by the old model, nothing is known about staying with it.
    known = [way for way in ways if way.mrr is not None] if by_queries else ways
    scores = {way.name: way.mrr.value if way.mrr else way.recall.value for way in known}
    best = max(scores.values())
    chosen = next(way for way in sorted(known, key=_cost) if scores[way.name] >= best - CLOSE)
    what = "MRR on your queries" if by_queries else "recall of the new model's neighbours"
    again = scores["embed again"]
    name, _, then = chosen.name.partition(", ")
    said = _SAID[name] + (f", and {then} by the new model" if then else "")
    reason = f"forecast {what} {scores[chosen.name]:.2f}, where embedding everything again gives {again:.2f}"
    if chosen.name == "embed again":
        second = max((score, name) for name, score in scores.items() if name != "embed again")
        reason = f"it gives {again:.2f} ({what}), and the best other way ({second[1]}) {second[0]:.2f}"
    unsure = f" This is from {n:,} items, which are too few to be sure of a forecast." if n < _FEWEST else ""
    unasked = "" if by_queries else " Without queries and their answers, this says nothing about which model is better."
    return chosen.name, f"{said}: {reason} (of {size:,} items).{unsure}{unasked}"
