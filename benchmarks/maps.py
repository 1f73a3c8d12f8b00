"""The maps of a migration beside those of Drift-Adapter and plain ones, by model, number of pairs, recall and MRR.

Documents and queries are those of examples/embedding_models.py, in the folder that `_embeddings` names. Up to 5,000
documents are fitted, and 500 queries search all others: no fitted document is among them. Every map
leaves the vectors of the new model as they are, except those under `AS_THEY_COME`.
"""

from __future__ import annotations

import time

import _embeddings
import numpy as np
from _benchmark import Benchmark
from _candidates import DRIFT, FILTER, MAPS, RIDGE_1
from _figures import Figure, new_figure, save
from _tables import count, short, table

from fipp import CCA, FIPP, Auto, KernelRidge, ResidualMLP, Spectral
from fipp.linalg import unit_rows
from fipp.migrate import PairedSample
from fipp.migrate._maps import best_map

PAIRS = (
    "minilm-8bit → minilm",
    "minilm-128 → minilm",
    "minilm-layer4 → minilm",
    "wordllama-64 → wordllama",
    "wordllama → minilm",
    "use → minilm",
    "tfidf → minilm",
    "minilm → use",
    "wordllama → use",
    "tfidf → wordllama",
)
SIZES = (100, 200, 500, 1_000, 2_000, 5_000)
FITTED, POOL, ASKED = 5_000, 15_000, 500
AS_THEY_COME_WITH = {"wordllama → minilm": (1_000,), "minilm-8bit → minilm": (1_000,)}
"""Where aligners as they come are measured too."""
OURS, LINEAR, KERNEL = "Migration.fit", "linear, stable ridge", "kernel ridge"
AS_THEY_COME = {
    "FIPP()": FIPP,
    "CCA()": CCA,
    "Spectral()": Spectral,
    "ResidualMLP()": ResidualMLP,
    "Auto()": Auto,
}
"""Aligners with their defaults, which map the queries of the new model too."""


class Pool:
    """The documents that are searched, and how well mapped ones stand for those of the new model."""

    def __init__(self, part):
        self.part = part
        self.wanted, self.ranks = _embeddings.search(part.new_queries, part.new, 10, part.gold)
        self.staying = self.found(part.old_queries, part.old)

    def found(self, queries, documents):
        """Return the share of the new model's ten nearest neighbours that a search finds, and its MRR."""
        nearest, ranks = _embeddings.search(unit_rows(queries), unit_rows(documents), 10, self.part.gold)
        return [_embeddings.overlap(nearest, self.wanted), float((1 / ranks).mean())]

    def converted(self, mapped):
        """Return the same of documents of the old model after a map."""
        return self.found(self.part.new_queries, mapped(self.part.old))


def measure(pair, n):
    fitted, searched = _embeddings.parts(pair, 0, (FITTED, POOL), (FITTED, ASKED))
    X, Y, pool = fitted.old[:n], fitted.new[:n], Pool(searched)
    maps = {}
    chosen, seconds = _timed(lambda: best_map(PairedSample.from_arrays(X, Y)))
    maps[OURS] = [*pool.converted(chosen.aligner.transform), seconds]
    for name, kernel in ((LINEAR, "linear"), (KERNEL, "rbf")):
        maps[name] = maps[OURS]
        if kernel != chosen.aligner.kernel:
            aligner, seconds = _timed(lambda kernel=kernel: KernelRidge(kernel).fit(X, Y))
            maps[name] = [*pool.converted(aligner.transform), seconds]
    for name, fit in MAPS.items():
        mapped, seconds = _timed(lambda fit=fit: fit(X, Y))
        maps[name] = [*pool.converted(mapped), seconds]
    if n in AS_THEY_COME_WITH.get(pair, ()):
        for name, method in AS_THEY_COME.items():
            aligner, seconds = _timed(lambda method=method: method().fit(X, Y))
            sides = aligner.transform_target(searched.new_queries), aligner.transform(searched.old)
            maps[name] = [*pool.found(*sides), seconds]
    return {
        "chosen": chosen.name,
        "searched": len(searched.new),
        "asked": len(searched.gold),
        "stay": pool.staying,
        "again": [1.0, float((1 / pool.ranks).mean())],
        "maps": maps,
    }


def _timed(work):
    start = time.process_time()
    return work(), time.process_time() - start


PLAN = [{"pair": pair, "n": n} for pair in PAIRS for n in SIZES]
benchmark = Benchmark("maps", PLAN, measure, minutes=6, obstacle=_embeddings.obstacle)


# --- Tables and the figure


def _recalls(name, n, pairs=PAIRS):
    return np.array([benchmark.one(pair=pair, n=n)["maps"][name][0] for pair in pairs])


def _names():
    return [OURS, LINEAR, KERNEL, *MAPS]


def means_table():
    """Return recall and MRR of every map by number of pairs, on average over the pairs of models."""
    rows = []
    for name in _names():
        row = []
        for n in SIZES:
            found = np.array([record["maps"][name] for record in benchmark.find(n=n)])
            row.append(" / ".join(short(round(float(each), 3)) for each in found.mean(axis=0)[:2]))
        rows.append([name, *row])
    return table(["map", *(f"{n:,} pairs" for n in SIZES)], rows)


def pairs_table():
    """Return the recall that is kept for every pair of models and number of pairs, and how far the best map is."""
    rows = []
    for pair in PAIRS:
        cells = [_shown(benchmark.one(pair=pair, n=n)) for n in SIZES]
        stay, again = (benchmark.one(pair=pair, n=SIZES[0])[name] for name in ("stay", "again"))
        ends = [" / ".join(short(round(each, 3)) for each in stay), short(round(again[1], 3))]
        rows.append([pair, ends[0], *cells, ends[1]])
    header = ["models", "stay: recall / MRR", *(f"{n:,}" for n in SIZES), "MRR, embed again"]
    return table(header, rows)


def _shown(record):
    recall, best = record["maps"][OURS][0], _best(record)
    return short(round(recall, 3)) + (f" ({short(round(recall - best[1], 3))}, {best[0]})" if best[1] > recall else "")


def _best(record):
    return max(((name, each[0]) for name, each in record["maps"].items() if name in _names()), key=lambda pair: pair[1])


def most():
    return count(max(SIZES))


def asked():
    return ASKED


def pairs():
    """Return the number of pairs of models."""
    return len(PAIRS)


def close(within):
    """Return in how many of the cells the chosen map is that close to the best one."""
    records = benchmark.records
    found = sum(_best(record)[1] - record["maps"][OURS][0] <= within for record in records)
    return f"{found} of {len(records)}"


def behind(name):
    """Return by how much the chosen map is behind another where it is furthest behind it."""
    gaps = [record["maps"][name][0] - record["maps"][OURS][0] for record in benchmark.records]
    return short(round(max(0.0, *gaps), 3))


def ahead(name):
    """Return the range over the numbers of pairs of how much the chosen map is ahead of another on average."""
    gaps = [round(float((_recalls(OURS, n) - _recalls(name, n)).mean()), 3) for n in SIZES]
    return f"{short(min(gaps))} to {short(max(gaps))}"


def filter_adds():
    """Return the range over the numbers of pairs of what FIPP's filter adds to its recall on average."""
    gaps = [round(float((_recalls(FILTER[0], n) - _recalls(FILTER[1], n)).mean()), 3) for n in SIZES]
    return f"{short(min(gaps))} to {short(max(gaps))}"


def same_table():
    """Return the recall of every map between spaces that are nearly the same, by number of pairs."""
    pair = PAIRS[0]
    rows = [[name, *(short(round(float(_recalls(name, n, [pair])[0]), 3)) for n in SIZES)] for name in _names()]
    stay = short(round(benchmark.one(pair=pair, n=SIZES[0])["stay"][0], 3))
    return table([pair, *(f"{n:,}" for n in SIZES)], [["stay", *[stay] * len(SIZES)], *rows])


def as_they_come_table():
    """Return recall and MRR of every map and of aligners as they come."""
    cells = [(pair, n) for pair, sizes in AS_THEY_COME_WITH.items() for n in sizes]
    records = [benchmark.one(pair=pair, n=n) for pair, n in cells]
    rows = [["stay on the old model", *(_both(record["stay"]) for record in records)]]
    rows += [[name, *(_both(record["maps"][name]) for record in records)] for name in (*_names(), *AS_THEY_COME)]
    rows += [["embed again", *(_both(record["again"]) for record in records)]]
    return table(["", *(f"{pair}, {n:,}" for pair, n in cells)], rows)


def _both(found):
    return " / ".join(short(round(each, 3)) for each in found[:2])


def curves():
    """Return recall by number of pairs for some maps, by pair of models."""
    if benchmark.missing():
        return None
    shown = {"Migration.fit": OURS, "Ridge(1)": RIDGE_1, "Drift-Adapter: MLP": DRIFT[2], "Procrustes": DRIFT[0]}
    return [
        {
            "pair": pair,
            "n": SIZES,
            "stay": benchmark.one(pair=pair, n=SIZES[0])["stay"][0],
            "recall": {label: [float(_recalls(name, n, [pair])[0]) for n in SIZES] for label, name in shown.items()},
        }
        for pair in PAIRS
    ]


def draw(panels, path):
    columns = 5
    figure = new_figure(13, 2.7 * -(-len(panels) // columns))
    axes = figure.subplots(-(-len(panels) // columns), columns, sharex=True).ravel()
    for panel, axis in zip(panels, axes, strict=False):
        for label, recalls in panel["recall"].items():
            axis.plot(panel["n"], recalls, marker="o", markersize=3, label=label)
        axis.axhline(panel["stay"], color="0.5", linestyle=":", label="stay on the old model")
        axis.set(title=panel["pair"], xscale="log")
        axis.set_ylim(0)
        axis.set_xticks(panel["n"], map(count, panel["n"]), fontsize=7)
        axis.minorticks_off()
    for axis in axes[len(panels) :]:
        axis.axis("off")
    figure.supxlabel("pairs that the map is fitted on")
    figure.supylabel("recall@10 of the new model's neighbours")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    save(figure, path)


FIGURES = [Figure("maps.svg", curves, draw)]

if __name__ == "__main__":
    benchmark.main()
