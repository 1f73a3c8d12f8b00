"""Small spaces on disk: a target, and a source that is the same words turned, with some noise; and commands to run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fipp import Lexicon, Vectors


class Space(NamedTuple):
    folder: Path
    source: Path
    target: Path
    seed: Path
    test: Path
    model: Path


def make_space(folder: Path, d1: int = 12, d2: int = 8, max_words: int = 300) -> Space:
    rng = np.random.default_rng(0)
    d = min(d1, d2)
    turn_source, turn_target = (np.linalg.qr(rng.standard_normal((side, side)))[0][:d] for side in (d1, d2))
    target = rng.standard_normal((max_words, d)) @ turn_target
    source = target @ turn_target.T @ turn_source + 0.01 * rng.standard_normal((max_words, d1))
    pairs = [(f"e{i}", f"f{i}") for i in range(max_words)]
    space = Space(folder, *(folder / name for name in ("e.vec", "f.vec", "seed.tsv", "test.tsv", "e-f.fipp")))
    Vectors([word for word, _ in pairs], source).save(space.source)
    Vectors([word for _, word in pairs], target).save(space.target)
    Lexicon(pairs[:-100]).save(space.seed)
    Lexicon(pairs[-100:-40]).save(space.test)
    return space


def command_line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "fipp", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
