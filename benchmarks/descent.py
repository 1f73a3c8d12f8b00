"""Gradient descent against the low-rank approximation (appendix F of the paper).

    python benchmarks/descent.py [--steps 10000] [--pair fi-fr] [--figure losses.png]

Prints the objective of both solutions, the distances between them up to rotation, and their test scores.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from accuracy import PAIRS, dictionary, load, score

from fipp import FIPP
from fipp.linalg import deviation_from_orthogonal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--pair", choices=PAIRS, default="fi-fr")
    parser.add_argument("--size", choices=["1k", "5k"], default="1k")
    parser.add_argument("--figure", type=Path, help="draw the loss of every step to this file")
    arguments = parser.parse_args()

    source, target = (load(name) for name in PAIRS[arguments.pair][:2])
    pairs = dictionary(arguments.pair, f"train.{arguments.size}").lookup(source, target).rows
    print(f"{arguments.pair} {arguments.size}: {len(pairs)} pairs, {arguments.steps:,} steps of Adam\n")
    fitted, aligned = {}, {}
    for name, setting in {
        "linear": FIPP(),
        "eigen": FIPP(solver="eigen", eigen_method="dense", rank="target"),
        "sgd": FIPP(solver="sgd", n_steps=arguments.steps, rank="target"),
    }.items():
        start = time.perf_counter()
        (test_map,), _, alignment = score(setting, arguments.pair, arguments.size, csls=False)
        aligner = fitted[name] = alignment.aligner
        X_s, _, aligned[name] = aligner._seed_vectors()
        reconstruction, transfer, weight = aligner.objective_
        print(
            f"{name:7s} objective {aligner.objective_.total:9.2f}"
            f" = {reconstruction:8.2f} + {weight:.2f} · {transfer:8.2f}"
            f"   test MAP {test_map:.4f}   {time.perf_counter() - start:.1f} s"
        )
    print("\ndistance from the low-rank approximation, up to rotation, relative to it:")
    for name, vectors in [("X_s itself", X_s), ("sgd", aligned["sgd"]), ("linear", aligned["linear"])]:
        print(f"  {name:11s} {deviation_from_orthogonal(vectors, aligned['eigen']):.3f}")

    if arguments.figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        axes.plot(fitted["sgd"].losses_, label="Adam from $X_s$ on")
        axes.axhline(fitted["eigen"].objective_.total, color="C1", label="low-rank approximation (eigen)")
        axes.axhline(fitted["linear"].objective_.total, color="C2", linestyle="--", label="best linear map (linear)")
        axes.set(xlabel="step", ylabel="FIPP objective", yscale="log", title=f"{arguments.pair}, {len(pairs)} pairs")
        axes.legend()
        figure.savefig(arguments.figure, dpi=120)


if __name__ == "__main__":
    main()
