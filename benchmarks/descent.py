"""Gradient descent compared with the low-rank approximation (the paper's appendix F): objectives, distances, scores."""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _figures import Figure, new_figure, save
from _tables import count, short, table

from fipp import FIPP
from fipp.linalg import deviation_from_orthogonal

PAIR, SIZE, STEPS, SHOWN = "fi-fr", "1k", 10_000, 200
SOLVERS = {
    "linear": FIPP.published(solver="linear"),
    "eigen": FIPP.published(),
    "sgd": FIPP.published(solver="sgd", n_steps=STEPS),
}
LABELS = {"linear": "`linear`", "eigen": "`eigen`, the low-rank approximation", "sgd": "`sgd`"}


def measure(solver):
    rows = _data.seed_rows(PAIR, SIZE)
    alignment, seconds = _data.fitted(SOLVERS[solver], PAIR, rows)
    aligner = alignment.aligner
    reconstruction, transfer, weight = aligner.objective_
    told = {
        "pairs": len(rows),
        "objective": aligner.objective_.total,
        "reconstruction": reconstruction,
        "transfer": transfer,
        "weight": weight,
        "map": alignment.evaluate(_data.dictionary(PAIR, "test.2k")).map,
        **seconds,
    }
    if solver == "sgd":
        low_rank, _ = _data.fitted(SOLVERS["eigen"], PAIR, rows)
        X_s, _, solution = low_rank.aligner.seed_vectors()
        _, _, descended = aligner.seed_vectors()
        steps = np.unique(np.geomspace(1, len(aligner.losses_), SHOWN).astype(int)) - 1
        told |= {
            "from low rank": deviation_from_orthogonal(descended, solution),
            "source from low rank": deviation_from_orthogonal(X_s, solution),
            "losses": [[int(step), float(aligner.losses_[step])] for step in steps],
        }
    return told


PLAN = [{"solver": solver} for solver in SOLVERS]
benchmark = Benchmark("descent", PLAN, measure, minutes=20, obstacle=_data.obstacle)


def solvers_table():
    weight, terms = benchmark.one(solver="linear")["weight"], ("objective", "reconstruction", "transfer")
    rows = [
        [LABELS[record["solver"]], *(f"{record[name]:.1f}" for name in terms), short(record["map"], 4)]
        for record in benchmark.records
    ]
    return table(["solver", *terms[:2], f"transfer (× γλ = {weight:.2f})", "test MAP"], rows)


def distance(name):
    """Return the distance of the descent, or of the source, from the low-rank approximation."""
    return f"{benchmark.one(solver='sgd')[name]:.3f}"


def lines():
    """Return the losses of the descent, and the objectives of the other solvers."""
    descended = benchmark.get(solver="sgd")
    if descended is None or "losses" not in descended:
        return None
    return {"losses": descended["losses"], **{each["solver"]: each["objective"] for each in benchmark.records}}


def draw(lines, path):
    figure = new_figure(6, 3.5)
    axes = figure.subplots()
    axes.plot(*zip(*lines["losses"], strict=True), label="Adam, starting from $X_s$")
    axes.axhline(lines["eigen"], color="C1", label="low-rank approximation (eigen)")
    axes.axhline(lines["linear"], color="C2", linestyle="--", label="best linear map (linear)")
    axes.set(xlabel="step", ylabel="FIPP objective", yscale="log", title=f"{PAIR}, {count(STEPS)} steps of Adam")
    axes.legend()
    save(figure, path)


FIGURES = [Figure("descent.png", lines, draw)]

if __name__ == "__main__":
    benchmark.main()
