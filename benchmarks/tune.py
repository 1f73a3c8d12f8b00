"""How long choosing ε and λ takes, against a single fit and against fitting every setting by itself.

    python benchmarks/tune.py [--accuracy] [--pairs en-fr ...] [--sizes 1k 5k]

Every figure is measured in this one run, best of several repetitions (the separate fits once). All ways hold out the
same 20 % of the source words and rank the whole target vocabulary for them.

With --accuracy, a Markdown table, of which docs/results/tuning.md is made: the settings chosen on held-out seed pairs,
and what a test dictionary says about them and about the defaults.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from accuracy import DATA, PAIRS, load
from fit import best_of, english_french

from fipp import FIPP, FippWarning, Lexicon, align
from fipp.aligners._holdout import held_out_parts
from fipp.aligners._score import reciprocal_ranks
from fipp.linalg import n_threads
from fipp.retrieve import gold_ranks
from fipp.selection import select
from fipp.selection._grid import combinations

GRID = {name: list(values) for name, values in FIPP.default_grid.items()}
COMPONENTS = [1, 2, 3, 4, 5, 6]


def naive(X, Y, learned, held_out):
    """Fit and rank every setting by itself."""
    scores = []
    for settings in combinations(GRID):
        aligner = FIPP(**settings).fit(X, Y, learned)
        ranks = gold_ranks(aligner.transform(X), aligner.transform_target(Y), held_out[:, 0], held_out[:, 1])
        scores.append(np.mean(1 / ranks))
    return scores


def speed():
    X, Y, pairs, name = english_french()
    (part,) = held_out_parts(pairs[:, 0])
    learned, held_out = pairs[~part], pairs[part]
    print(f"{name}: {len(X):,} × {len(Y):,} words, {len(learned):,} pairs to learn from, {len(held_out):,} held out")
    settings = combinations(GRID)
    single = best_of(lambda: FIPP().fit(X, Y, learned), 5)
    path = best_of(lambda: FIPP().fit_many(X, Y, learned, settings=settings), 3)
    fitted = FIPP().fit_many(X, Y, learned, settings=settings)
    ranking = best_of(lambda: reciprocal_ranks(fitted, X, Y, held_out), 3)
    whole = best_of(lambda: select(X, Y, pairs, refit=False), 3)
    start = time.perf_counter()
    naive(X, Y, learned, held_out)
    apart = time.perf_counter() - start
    print(f"  a single fit             {single:7.3f} s")
    print(f"  fitting the 5 × 5 grid   {path:7.3f} s: {path / single:.2f} single fits")
    print(f"  ranking for all 25       {ranking:7.3f} s: {ranking / single:.2f} single fits")
    print(f"  select, without refit    {whole:7.3f} s: {whole / single:.2f} single fits")
    print(f"  25 fits and rankings     {apart:7.3f} s: {apart / whole:.1f} times as long as select\n")


def accuracy(names, sizes):
    if not DATA.exists():
        sys.exit(f"the vectors are not here: there is no {DATA}")
    print("| pair | held out | grid | chosen | held-out MRR | test MAP | defaults: held-out MRR | test MAP |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        source_name, target_name, folder = PAIRS[name]
        source, target = load(source_name), load(target_name)
        turned = source_name[:2] != folder[:2]
        for size in sizes:
            seed, test = (
                Lexicon.load(DATA / "xling" / folder / f"{part}.tsv") for part in (f"train.{size}", "test.2k")
            )
            seed, test = (seed.reverse(), test.reverse()) if turned else (seed, test)
            plain = align(source, target, seed, "fipp").evaluate(test)
            for label, components in [("ε, λ", None), ("ε, λ, components", COMPONENTS)]:
                selection = select(source, target, seed, components=components)
                result = selection.alignment.evaluate(test)
                chosen = ", ".join(f"{value:g}" for value in selection.best_params.values())
                near = sum(trial.within_error for trial in selection.table) - 1
                print(
                    f"| {name} {size.upper()} | {selection.held_out:,} | {label} "
                    f"| {chosen} ({near} of {len(selection.table) - 1} within one standard error) "
                    f"| {selection.best_score:.4f} ± {selection.best.standard_error:.4f} | {result.map:.4f} "
                    f"| {selection.defaults.mrr:.4f} | {plain.map:.4f} |",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", action="store_true", help="the table of chosen settings instead of the times")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=["en-fr"])
    parser.add_argument("--sizes", nargs="+", default=["1k", "5k"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FippWarning)
    print(f"{n_threads()} threads, numpy {np.__version__}\n")
    if arguments.accuracy:
        accuracy(arguments.pairs, arguments.sizes)
    else:
        speed()


if __name__ == "__main__":
    main()
