"""Debian's package descriptions by every method of alignment: the table and the figure of docs/results/downstream.md.

    python benchmarks/downstream.py                              # of the results that are kept beside that page
    python benchmarks/downstream.py --lists lists                # run what is missing there first
    python benchmarks/downstream.py --lists lists --methods auto --again     # run these again first

`lists` are Debian's lists; the head of examples/debian_descriptions.py says how to get them. Reads the vectors and
XLING dictionaries of ../shared/data. The table is written into the page in place of the one there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from accuracy import DATA

from fipp.aligners import METHODS

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "debian_descriptions.py"
PAGE = ROOT / "docs" / "results" / "downstream.md"
RESULTS = PAGE.with_suffix(".jsonl")
FIGURE = ROOT / "docs" / "images" / "downstream.svg"
LANGUAGES = {"fr": "French", "ru": "Russian"}
VECTORS = {"fr": ("en.spacymd300", "fr.spacymd300"), "ru": ("en.wink100", "ru.navecnews300")}
KINDS = {"logistic": "logistic regression", "cnn": "CNN, mean of its trainings"}
ENGLISH, NOT_ALIGNED = "English itself", "not aligned"
# From the header of the table to the empty line behind it.
TABLE = re.compile(r"^\| space \|.*?(?=^$)", re.MULTILINE | re.DOTALL)


def run(lists, options):
    """Run the script for each language; what is kept is not run again unless the options say so."""
    for language, names in VECTORS.items():
        source, target = (DATA / "vectors" / f"{name}.npy" for name in names)
        seed = DATA / "xling" / f"en-{language}" / "train.5k.tsv"
        files = ["--source", source, "--target", target, "--dict", seed, "--results", RESULTS]
        command = [sys.executable, SCRIPT, lists, "--language", language, "--rarest", "ru", *files, *options]
        subprocess.run([str(word) for word in command], check=True)


def read():
    """Give the results by language, method and classifier; of two, the later."""
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {tuple(record["key"]): record["result"] for record in records}


def short(number):
    return f"{number:.3f}".removeprefix("0")


def cells(results, name, language):
    """Give the cells of a space in one language: by regression, by the network, and its trainings."""
    logistic, cnn = (results.get((language, name, classifier)) for classifier in ("logistic", "cnn"))
    for result in (logistic, cnn):
        ends = [] if result is None or "error" in result else result["interval"]
        yield f"{short(result['micro_f1'])} ({short(ends[0])} to {short(ends[1])})" if ends else "–"
    yield ", ".join(short(f1) for f1 in cnn["trainings"]) if cnn and "trainings" in cnn else ""


def table(results):
    head = [f"{label}, {kind}" for label in LANGUAGES.values() for kind in ("logistic", "CNN", "its trainings")]
    rows = [["space", *head], ["---"] * (1 + len(head))]
    for name in (ENGLISH, NOT_ALIGNED, *METHODS):
        rows.append([name, *(cell for language in LANGUAGES for cell in cells(results, name, language))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def failures(results):
    """Yield why there is no result, and what a method warned of."""
    for (language, name, classifier), result in results.items():
        for reason in [result["error"]] if "error" in result else result.get("warnings", []):
            if classifier == "logistic":
                yield f"{name}, {LANGUAGES[language]}: {reason}"


def draw(results, path):
    """Draw F1 with its interval for each method; small points are the trainings of the network."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "downstream"  # the same results give the same bytes
    figure = Figure(figsize=(9, 7), layout="constrained")
    names = [NOT_ALIGNED, *METHODS]
    for axes, (language, label) in zip(figure.subplots(1, 2, sharey=True), LANGUAGES.items(), strict=True):
        for classifier, colour, marker, shift in (("logistic", "C0", "o", -0.16), ("cnn", "C1", "s", 0.16)):
            rows = [results.get((language, name, classifier), {}) for name in names]
            shown = [(place + shift, row) for place, row in enumerate(rows) if "micro_f1" in row]
            means = [row["micro_f1"] for _, row in shown]
            ends = [[row["micro_f1"] - row["interval"][0], row["interval"][1] - row["micro_f1"]] for _, row in shown]
            axes.errorbar(
                *(means, [place for place, _ in shown]),
                xerr=list(zip(*ends, strict=True)),
                **{"fmt": marker, "color": colour, "markersize": 4, "elinewidth": 1.5},
                label=KINDS[classifier],
            )
            if classifier == "cnn":
                each = [(f1, place) for place, row in shown for f1 in row["trainings"] if len(row["trainings"]) > 1]
                axes.plot(*zip(*each, strict=True), ".", color="black", markersize=3, label="each training")
            bound = results[language, ENGLISH, classifier]["micro_f1"]
            axes.axvline(
                bound,
                color=colour,
                linestyle="--",
                linewidth=1,
                label=f"English itself, {KINDS[classifier].partition(',')[0]}",
            )
        for place, name in enumerate(names):
            if "error" in results.get((language, name, "logistic"), {}):
                axes.text(0, place, "failed", color="grey", fontsize=8, verticalalignment="center")
        chance = results[language, ENGLISH, "logistic"]["chance"]
        axes.axvline(chance, color="grey", linestyle=":", linewidth=1, label="yes to everything")
        axes.set(title=f"English to {label}", xlabel="micro-averaged F1", xlim=(-0.01, 0.58))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", linewidth=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=Path, help="folder with Debian's lists, to run what is missing")
    arguments, options = parser.parse_known_args()
    if arguments.lists:
        run(arguments.lists, options)
    elif options:
        parser.error(f"{options[0]} goes with --lists")
    results = read()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(results), page, count=1), encoding="utf-8")
    draw(results, FIGURE)
    print(table(results))
    print("\n".join(failures(results)))


if __name__ == "__main__":
    main()
