"""Whether a map can replace embedding again: every option, measured on a sample and forecast for the collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.cluster import KMeans

from fipp._progress import Progress, Steps
from fipp.aligners import KernelRidge
from fipp.exceptions import FippError
from fipp.linalg import unit_rows
from fipp.migrate._forecast import (
    Answers,
    Estimate,
    chance_among,
    continued,
    gain_among,
    gain_in,
    recall_in,
    reciprocal_rank_among,
    reciprocal_rank_in,
    wider_recall,
)
from fipp.migrate._maps import DEPTH, best_map, nearest_others, shares_found
from fipp.migrate._sample import PairedSample
from fipp.migrate._searches import RESCORED, Found, Sides

# The cheapest way whose score comes this close to the best one is recommended.
CLOSE = 0.01
# Standard errors that no resampling of the sample shows, for a collection ten times as large, measured on pairs of
# models (benchmarks/forecast.py): of recall, and of recall and MRR among items scored again. MRR itself needs none.
_RECALL, _RESCORED_RECALL, _RESCORED_MRR = 0.009, 0.05, 0.03
# The same of taking items for queries where there are no queries.
_SHIFT = 0.028
_FEWEST = 1000
_SURE = 1e-4
_CURVE = (0.125, 0.25, 0.5, 1.0)
_SAID = {
    "stay on the old model": "Keep the old vectors and the old model",
    "query adapter": "Keep the old vectors and adapt the queries of the new model",
    "convert": "Convert the old vectors",
    "embed again": "Embed everything again",
}


class _Value(NamedTuple):
    """What a rank is worth: on average in a random part of the sample, and among so many items by height."""

    in_part: Callable[[float, NDArray[np.int64]], NDArray[np.float64]]
    among: Callable[[float], NDArray[np.float64]]


_RECIPROCAL_RANK = _Value(reciprocal_rank_in, reciprocal_rank_among)
_GAIN = _Value(gain_in, gain_among)


class Way(NamedTuple):
    """One option: what it finds, each figure with its interval."""

    name: str
    recall: Estimate
    mrr: Estimate | None
    ndcg: Estimate | None
    share: float
    """Of what embedding everything again would give: of its MRR, or of its neighbours."""
    hits: float | None = None
    """The share of answers among the first found, if these are scored again and there are queries with answers."""


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
        The name of the cheapest way that comes within .01 of the best.
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

    def most_embedded(self, n_queries: int, first: int = 100) -> int:
        """Return how many items a `Cascade` embeds at most for that many different queries.

        Each query has its first items embedded, and none is embedded twice. If all items were found equally often, it
        would be this many; in fact some are found more often than others, and fewer are embedded.

        Parameters
        ----------
        n_queries : int
        first : int, default=100
            How many of the first found are scored again.

        Returns
        -------
        int
        """
        return round(self.size * -np.expm1(n_queries * np.log1p(-min(first / self.size, 1 - 1e-12))))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        ways = [{"name": way.name, "recall": way.recall._asdict(), "mrr": way.mrr and way.mrr._asdict(),
                 "ndcg": way.ndcg and way.ndcg._asdict(), "share": way.share, "hits": way.hits}
                for way in self.ways]  # fmt: skip
        rest = {name: getattr(self, name) for name in ("size", "n_items", "n_queries", "map", "recommended", "verdict")}
        return {**rest, "ways": ways, "curve": self.curve, "clusters": [each._asdict() for each in self.clusters]}


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
    sides, steps = Sides(sample), Steps(progress, 6)
    steps(0)
    best = best_map(sample, progress=steps.part(2))
    name, found = best.name, sides.search_all(best)
    steps()
    ways = _ways(found, n, size, random_state)
    steps()
    curve = _learning_curve(sides, name)
    steps()
    recommended, verdict = _verdict(ways, n, size)
    steps.finish()
    n_queries = 0 if sides.new_queries is None else len(sides.new_queries)
    clusters = _worst_clusters(sides, sides.recalls_by_items(best)[:, -1], random_state)
    return Probe(ways, size, n, n_queries, name, curve, clusters, recommended, verdict)


def _ways(found: dict[str, Found], n: int, size: int, random_state: int) -> list[Way]:
    forecaster = _Forecaster(n, size, random_state)
    again = found["embed again"]
    listed: list[tuple[str, Estimate, Estimate | None, Estimate | None, float | None]] = []
    for name, each in found.items():
        exact = name == "embed again"
        recall = Estimate(1.0, 1.0, 1.0) if exact else forecaster.recall(each, again)
        mrr, ndcg = (forecaster.mean(each.ranks, value) for value in (_RECIPROCAL_RANK, _GAIN))
        listed.append((name, recall, mrr, ndcg, None))
        rescored = {"stay on the old model": (100,), "convert": RESCORED}.get(name, ())
        for first in rescored:
            listed.append((f"{name}, score the first {first} again", *forecaster.rescored(each, again, first)))
    best = listed[-1]
    return [
        Way(name, recall, mrr, ndcg, mrr.value / best[2].value if mrr and best[2] else recall.value, hits)
        for name, recall, mrr, ndcg, hits in listed
    ]


class _Forecaster:
    """Figures of the sample, continued to the size of the collection, with intervals."""

    def __init__(self, n: int, size: int, random_state: int, n_resamples: int = 50) -> None:
        self.n, self.size, self.larger = n, size, size / n
        self.rng, self.n_resamples = np.random.default_rng(random_state), n_resamples
        self.decades = float(np.log10(max(self.larger, 1)))

    def recall(self, found: Found, again: Found) -> Estimate:
        """Forecast recall; by items and queries alike if both are asked in the space of the new model."""
        shares = [each for each in (found.recalls, found.by_items) if each is not None]
        values, errors = zip(*map(self._tail, shares), strict=True)
        value = float(np.mean(values))
        if found.ranks is not None and again.ranks is not None:
            # An answer is often among the neighbours, and found more easily than they are.
            near = chance_among(DEPTH, again.ranks, self.n, self.size) / DEPTH
            found_too = near * chance_among(DEPTH, found.ranks, self.n, self.size)
            value = (1 - near.mean()) * value + found_too.mean()
        unasked = 0.0 if again.ranks is not None else _SHIFT
        return Estimate.around(value, float(np.sqrt(np.mean(np.square(errors)) + unasked**2 + self._beyond(_RECALL))))

    def _beyond(self, per_decade: float) -> float:
        """Return the variance that continuing a figure beyond the sample adds."""
        return (per_decade * self.decades) ** 2

    def _tail(self, recalls: NDArray[np.float64]) -> tuple[float, float]:
        drawn = [recalls[self._draw(len(recalls))].mean(axis=0) for _ in range(self.n_resamples)]
        spread = [recall_in(each, self.n, self.size) for each in drawn]
        return recall_in(recalls.mean(axis=0), self.n, self.size), float(np.std(spread))

    def mean(self, ranks: NDArray[np.int64] | None, value: _Value, per_decade: float = 0.0) -> Estimate | None:
        """Forecast the mean of a value of ranks: the mean of two forecasts, whose distance is part of the error."""
        if ranks is None:
            return None
        answers, among = Answers(ranks, self.n), value.among(self.size)
        course, doubt = continued(lambda part: float(value.in_part(part, ranks).mean()), self.larger)
        normal = float(answers.expected(among).mean())
        spread = []
        for _ in range(self.n_resamples):
            rows = self._draw(len(ranks))
            drawn = ranks[rows]
            along = continued(lambda part: float(value.in_part(part, drawn).mean()), self.larger)[0]  # noqa: B023
            spread.append((along + answers.mean_of(rows, among)) / 2)
        error = np.var(spread) + doubt**2 / 4 + (course - normal) ** 2 / 16 + self._beyond(per_decade)
        return Estimate.around((course + normal) / 2, float(np.sqrt(error)))

    def rescored(
        self, found: Found, again: Found, first: int
    ) -> tuple[Estimate, Estimate | None, Estimate | None, float | None]:
        """Forecast what is left of embedding again if only the first found are scored by the new model.

        The last figure is the share of answers among the first found.
        """
        shares = [self._within(each, found, first) for each in (found.recalls, found.by_items) if each is not None]
        unasked = 0.0 if again.ranks is not None else _SHIFT
        error = float(np.sqrt(np.ptp(shares) ** 2 / 4 + unasked**2 + self._beyond(_RESCORED_RECALL)))
        recall = Estimate.around(float(np.mean(shares)), error)
        if found.ranks is None or again.ranks is None:
            return recall, None, None, None
        # Of the items above an answer, those that are not among the first found are no competitors any more.
        hit, answers = chance_among(first, found.ranks, self.n, self.size), Answers(again.ranks, self.n)
        forecasts = []
        for value in (_RECIPROCAL_RANK, _GAIN):
            whole = self.mean(again.ranks, value, _RESCORED_MRR)
            assert whole
            left = hit * answers.expected(value.among(self.size * recall.value))
            forecasts.append(whole.times(float(left.sum() / answers.expected(value.among(self.size)).sum())))
        return recall, forecasts[0], forecasts[1], float(hit.mean())

    def _within(self, recalls: NDArray[np.float64], found: Found, first: int) -> float:
        """Return the share of the ten nearest in the collection that are among the first found there.

        The odds of what follows from the noise alone are corrected by what they are wrong by in the sample.
        """
        here = wider_recall(float(found.recalls.mean(axis=0)[-1]), first / DEPTH)
        known = float(found.within[RESCORED.index(first)])
        wrong = np.subtract(*logit(np.clip([known, here], _SURE, 1 - _SURE)))
        there = wider_recall(recall_in(recalls.mean(axis=0), self.n, self.size), first / DEPTH)
        return float(expit(logit(np.clip(there, _SURE, 1 - _SURE)) + wrong))

    def _draw(self, count: int) -> NDArray[np.int64]:
        return self.rng.integers(count, size=count)


def _learning_curve(sides: Sides, name: str) -> list[tuple[int, float]]:
    """Return recall by number of pairs in one fixed part of the sample, continued to two and four times as many."""
    held = np.arange(len(sides.new)) % 4 == 3
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


def _worst_clusters(sides: Sides, recalls: NDArray[np.float64], random_state: int, n_worst: int = 3) -> list[Cluster]:
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
