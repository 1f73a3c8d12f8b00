"""Every command that writes files, with small input: for tests and scripts that let writing fail."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from cli_space import Space

from fipp import Lexicon, Vectors
from fipp.migrate import Migration, PairedSample


class Command(NamedTuple):
    """The words of a command, and the files that it writes."""

    arguments: list[object]
    outputs: list[Path]


def prepare(space: Space) -> None:
    """Write what the commands read: the vectors also by language code, dictionaries by XLING's names,
    and words that are the same on both sides, or similar.
    """
    for name in ("vectors", "dictionaries"):
        (space.folder / name).mkdir()
    for path, name in ((space.source, "en.vec"), (space.target, "fr.vec")):
        Vectors.load(path).save(space.folder / "vectors" / name)
    Lexicon.load(space.seed).save(space.folder / "dictionaries" / "yacle.train.freq.1k.en-fr.tsv")
    Lexicon.load(space.test).save(space.folder / "dictionaries" / "yacle.test.freq.2k.en-fr.tsv")
    old, new = (Vectors.load(path).matrix for path in (space.source, space.target))
    np.save(space.folder / "old.npy", old)
    np.save(space.folder / "new.npy", new)
    Migration.fit(PairedSample.from_arrays(old, new), direction="documents").save(space.folder / "v1-v2.fipp")
    (Lexicon.load(space.seed) + Lexicon([("e0", "f99")])).save(space.folder / "wrong.tsv")
    cognates = {"a": ["information", "national", "president"], "b": ["informacion", "nacional", "presidente"]}
    for side, similar in cognates.items():
        words = [*similar, *(f"wörter{i}" for i in range(20)), *(str(1900 + i) for i in range(9))]
        Vectors(words, [[float(row), -1.0] for row in range(len(words))]).save(space.folder / f"{side}.vec")


def commands(space: Space) -> dict[str, Command]:
    """Return the commands by name; those that need a model read ``space.model``."""
    out = space.folder / "out"
    sides, seed = [space.source, space.target], ["--dict", space.seed]
    twins = [space.folder / "a.vec", space.folder / "b.vec"]
    folders = [space.folder / "vectors", space.folder / "dictionaries"]
    few = ["--methods", "procrustes"]

    def make(*arguments: object, to: list[Path]) -> Command:
        return Command(list(arguments), to)

    made = {
        "align": make("align", *sides, *seed, "--method", "fipp", "--force", "-o", out / "m.fipp", to=[out / "m.fipp"]),
        "tune": make(
            "tune", *sides, *seed, "--grid", "epsilon=0.05,0.1", "-o", out / "t.fipp", "--force",
            "--figure", out / "t.png",
            to=[out / "t.fipp", out / "t.png"],
        ),
        "compare": make(
            "compare", *sides, *seed, "--test", space.test, *few, "--results", out / "c.jsonl", "-o", out / "c.md",
            to=[out / "c.jsonl", out / "c.md"],
        ),
        "lexicon split": make(
            "lexicon", "split", space.seed, "-o", out / "s1.tsv", "--rest", out / "s2.tsv",
            to=[out / "s1.tsv", out / "s2.tsv"],
        ),
        "reproduce xling": make(
            "reproduce", "xling", *folders, "--sizes", "1k", "--tables", "main", *few, "--results", out / "x.jsonl",
            "-o", out / "x.md", to=[out / "x.jsonl", out / "x.md"],
        ),
        "induce": make("induce", space.model, *sides, "-o", out / "i.tsv", to=[out / "i.tsv"]),
        "hub": make(
            "hub", f"e={space.source}", f"f={space.target}", "--dict", f"e-f={space.seed}", "--method", "procrustes",
            "--format", ".vec", "--force", "-o", out, to=[out / "hub.fipp", out / "e.vec", out / "f.vec"],
        ),
        "lexicon suspects": make(
            "lexicon", "suspects", space.folder / "wrong.tsv", *sides, "-o", out / "w.tsv", to=[out / "w.tsv"]
        ),
        "migrate fit": make(
            "migrate", "fit", space.folder / "old.npy", space.folder / "new.npy", "--direction", "documents",
            "-o", out / "v1-v2.fipp", to=[out / "v1-v2.fipp"],
        ),
        "migrate probe": make(
            "migrate", "probe", space.folder / "old.npy", space.folder / "new.npy", "--report", out / "probe.html",
            to=[out / "probe.html"],
        ),
        "report": make(
            "report", space.model, *sides, "--test", space.test, "-o", out / "report.html", to=[out / "report.html"]
        ),
        "plot": make("plot", "filter", space.model, *sides, "-o", out / "filter.pdf", to=[out / "filter.pdf"]),
        "migrate export": make(
            "migrate", "export", space.folder / "v1-v2.fipp", "-o", out / "adapter.npz",
            to=[out / "adapter.npz", out / "adapter.py"],
        ),
    }  # fmt: skip
    for name in ("v.npy", "v.vec", "v.vec.gz", "v.bin", "v.npz", "v.safetensors", "v.parquet"):
        to = [out / name, out / "v.txt"] if name == "v.npy" else [out / name]
        made[f"transform to {name}"] = make("transform", space.model, space.source, "-o", out / name, to=to)
        made[f"convert to {name}"] = make("convert", space.source, "-o", out / name, to=to)
    makers: dict[str, list[object]] = {
        "check": [space.seed, *sides],
        "reverse": [space.seed],
        "identical": twins,
        "numerals": twins,
        "cognates": twins,
        "cldr": ["en", "fr", "--kinds", "weekdays"],
    }
    for name, given in makers.items():
        made[f"lexicon {name}"] = make("lexicon", name, *given, "-o", out / f"{name}.tsv", to=[out / f"{name}.tsv"])
    return made


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder by its name, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
