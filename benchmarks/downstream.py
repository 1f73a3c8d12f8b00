"""Classification of Debian's package descriptions, trained on English, tested on French and Russian, by every method.

Set DEBIAN_LISTS to a folder with Debian's lists; the head of examples/debian_descriptions.py says how to get them.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

import _data
from _benchmark import ROOT, Benchmark
from _figures import Figure, new_figure, save
from _tables import short, table

from fipp.aligners import METHODS

LANGUAGES = {"fr": "French", "ru": "Russian"}
PAIRS = {"fr": "en-fr", "ru": "en-ru"}
CLASSIFIERS = {"logistic": "logistic regression", "cnn": "CNN, mean of its runs"}
ENGLISH, NOT_ALIGNED = "English itself", "not aligned"
SPACES = (ENGLISH, NOT_ALIGNED, *(name for name in METHODS if name != "kernel-ridge"))
"""All but a map that is meant for embedding models, not for words."""
TRAININGS, TEXTS, LEAST = 3, 6000, 40


def obstacle():
    if "DEBIAN_LISTS" not in os.environ:
        return "because DEBIAN_LISTS does not name a folder with Debian's lists"
    return _data.obstacle() or (None if importlib.util.find_spec("torch") else "because torch is not installed")


@cache
def _example():
    spec = importlib.util.spec_from_file_location("descriptions", ROOT / "examples" / "debian_descriptions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _corpora(language):
    """Return the English training texts, the foreign test texts, and the English texts of the same packages."""
    example, lists = _example(), Path(os.environ["DEBIAN_LISTS"])
    packages = example.read_packages(lists)
    english, foreign, rarest = (example.read_descriptions(lists, name) for name in ("en", language, "ru"))
    sections = example.choose_sections(packages, rarest, LEAST)
    return (
        example.corpus(packages, english, sections, training=True).sample(TEXTS),
        example.corpus(packages, foreign, sections, training=False),
        example.corpus(packages, english, sections, training=False, only=foreign),
    )


@cache
def _space(language, space):
    pair = PAIRS[language]
    return _example().space_of(space, *_data.sides(pair), _data.dictionary(pair, "train.5k"))


def measure(language, space, classifier):
    train, foreign, english = _corpora(language)
    made, told = _space(language, space)
    test = english if space == ENGLISH else foreign
    return {**_example().measure(made, train, test, classifier, TRAININGS), **told}


PLAN = [
    {"language": language, "space": space, "classifier": classifier}
    for language in LANGUAGES
    for space in SPACES
    for classifier in CLASSIFIERS
    if (language, space) != ("ru", NOT_ALIGNED)  # vectors of 100 and 300 dimensions share no space
]
benchmark = Benchmark("downstream", PLAN, measure, minutes=120, obstacle=obstacle)


def scores_table(language):
    """Return F1 with intervals of every space in one language, and the training runs of the network."""
    rows = []
    for space in SPACES:
        logistic, cnn = (benchmark.get(language=language, space=space, classifier=name) for name in CLASSIFIERS)
        if logistic and cnn and "error" not in logistic:
            trainings = ", ".join(map(short, cnn["trainings"]))
            rows.append([space, _interval(logistic), _interval(cnn), trainings])
    return table(["space", "logistic", "CNN", "CNN, each run"], rows)


def _interval(record):
    low, high = record["interval"]
    return f"{short(record['micro_f1'])} ({short(low)} to {short(high)})"


def score(language, space, classifier):
    return short(benchmark.one(language=language, space=space, classifier=classifier)["micro_f1"])


def drawn():
    """Return F1, its interval and the training runs, by language, space and classifier."""
    found = {language: {} for language in LANGUAGES}
    for record in benchmark.records:
        if "error" not in record:
            kept = {name: record[name] for name in ("micro_f1", "interval", "trainings", "chance")}
            found[record["language"]].setdefault(record["space"], {})[record["classifier"]] = kept
    return found if benchmark.records else None


def draw(found, path):
    """Draw F1 with its interval for each method; small points are the training runs of the network."""
    figure = new_figure(9, 7)
    names = [name for name in SPACES[1:] if any(name in spaces for spaces in found.values())]
    for axes, (language, spaces) in zip(figure.subplots(1, 2, sharey=True), found.items(), strict=True):
        for classifier, colour, marker, shift in (("logistic", "C0", "o", -0.16), ("cnn", "C1", "s", 0.16)):
            measured = [(place + shift, spaces.get(name, {}).get(classifier)) for place, name in enumerate(names)]
            shown = [(place, row) for place, row in measured if row]
            places = [place for place, _ in shown]
            style = {"color": colour, "markersize": 4, "label": CLASSIFIERS[classifier]}
            axes.plot([row["micro_f1"] for _, row in shown], places, marker, **style)
            for place, row in shown:
                axes.plot(row["interval"], [place, place], color=colour, linewidth=1.5)
            each = [(f1, place) for place, row in shown for f1 in row["trainings"] if len(row["trainings"]) > 1]
            if each:
                axes.plot(*zip(*each, strict=True), ".", color="black", markersize=3, label="each run")
            label = f"English itself, {CLASSIFIERS[classifier].partition(',')[0]}"
            bound = spaces[ENGLISH][classifier]["micro_f1"]
            axes.axvline(bound, color=colour, linestyle="--", linewidth=1, label=label)
        chance = spaces[ENGLISH]["logistic"]["chance"]
        axes.axvline(chance, color="grey", linestyle=":", linewidth=1, label="every section predicted")
        axes.set(title=f"English to {LANGUAGES[language]}", xlabel="micro-averaged F1", xlim=(-0.01, 0.58))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", linewidth=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)


FIGURES = [Figure("downstream.svg", drawn, draw)]

if __name__ == "__main__":
    benchmark.main()
