"""The bundled demo: the README's picture, and the candidates and choice of `auto`."""

from __future__ import annotations

import numpy as np
from _benchmark import Benchmark
from _figures import Figure
from _tables import both, short, table
from auto import AUTO

import fipp
from fipp.cli._demo import PICTURE
from fipp.report import Panel, Picture, draw_picture, picture_of

_BEST = 2
_NAMED = ("fipp", "procrustes")


def measure(method):
    demo = fipp.datasets.load_demo()
    alignment = fipp.align(demo.source, demo.target, demo.seed, AUTO)
    right = dict(demo.test)
    picture = picture_of(alignment, [(word, right[word]) for word in PICTURE], ("English", "French"))
    panels = [[panel.title, panel.subtitle, panel.source.tolist(), panel.target.tolist()] for panel in picture.panels]
    return {
        "pairs": len(demo.seed),
        "chosen": alignment.aligner.chosen_,
        "trials": alignment.aligner.trials_,
        **{way: alignment.evaluate(demo.test, retrieval=way).map for way in ("cosine", "csls")},
        "picture": {**picture._asdict(), "panels": panels},
    }


benchmark = Benchmark("demo", [{"method": "auto"}], measure, minutes=2)


def trials_table():
    """Return the best candidates, FIPP and Procrustes; the choice is bold."""
    record = benchmark.one(method="auto")
    trials = sorted(record["trials"], key=lambda trial: -trial["mrr"])
    shown = [trial for place, trial in enumerate(trials) if place < _BEST or trial["name"] in _NAMED]
    rows = [
        [
            f"**{trial['name']}**" if trial["name"] == record["chosen"] else trial["name"],
            short(trial["mrr"], 4),
            short(trial["standard_error"], 4),
        ]
        for trial in shown
    ]
    return table(["candidate", "held-out MRR", "±"], rows)


def score():
    return both(benchmark.one(method="auto"))


def picture():
    record = benchmark.get(method="auto")
    return record and record["picture"]


def draw(picture, path):
    panels = [Panel(*titles, np.array(source), np.array(target)) for *titles, source, target in picture["panels"]]
    draw_picture(Picture(**{**picture, "panels": panels}), path)


FIGURES = [Figure("demo.png", picture, draw)]

if __name__ == "__main__":
    benchmark.main()
