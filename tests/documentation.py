"""The pages of the documentation: their blocks of code and commands, and small files on which these run."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import fipp
from io_samples import fasttext_bytes, floret

ROOT = Path(__file__).resolve().parents[1]
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
}

PROGRAMS = ("fipp", "pip", "make", "python", "ln", "curl")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|(?:\A|\n)\n((?:    [^\n]+\n)+)", re.DOTALL | re.MULTILINE)
_FIRST = re.compile(rf"    (?:[A-Z_]+=\S+ )*(?:{'|'.join(PROGRAMS)}) ")
_ASSIGNMENT = re.compile(r"[A-Z_]+=\S+")


@dataclass
class Command:
    """A line that a reader may type: variables of the environment, the words, and the file that takes the output."""

    words: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    redirected: str | None = None

    @property
    def line(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.variables.items()), *self.words])


@dataclass
class Block:
    """A block of a page: ``python``, ``text`` (what a command prints), ``commands``, or another language."""

    kind: str
    text: str
    line: int

    @property
    def missing(self) -> list[str]:
        """The libraries that the block imports, or that `use_device` needs, and that are not installed."""
        wanted = re.findall(r"^\s*(?:from|import) (\w+)", self.text, re.MULTILINE)
        wanted += ["torch"] if "use_device" in self.text else []
        return [name for name in wanted if find_spec(name) is None]

    def commands(self) -> list[Command]:
        lines = self.text.replace("\\\n", " ").splitlines()
        return [_command(words) for words in (shlex.split(line, comments=True) for line in lines) if words]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order; indented formulas are left out."""
    text = page.read_text(encoding="utf-8") + "\n"
    found = []
    for match in _BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        kind, code = (match[1] or "text", match[2]) if match[2] is not None else ("commands", match[3])
        if kind != "commands" or _FIRST.match(code):
            found.append(Block(kind, code, line))
    return found


def _command(words: list[str]) -> Command:
    variables = {}
    while words and _ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words[0].partition("=")
        variables[name], words = value, words[1:]
    redirected = words[words.index(">") + 1] if ">" in words else None
    return Command(words[: words.index(">")] if redirected else words, variables, redirected)


@cache
def small_demo() -> fipp.datasets.Demo:
    """Return the frequent words of the demo and those that pages and `fipp demo` name, in 50 dimensions."""
    demo = fipp.datasets.load_demo()
    told = "".join(path.read_text(encoding="utf-8") for path in (*PAGES.values(), ROOT / "src/fipp/cli/_demo.py"))
    named = {*re.findall(r"\w+", told.lower())}
    named |= {word for pair in (*demo.seed, *demo.test) if named & {*pair} for word in pair}
    sides = []
    for vectors in (demo.source, demo.target):
        rows = [row for row, word in enumerate(vectors.words) if row < 1500 or word in named]
        axes = np.linalg.eigh(np.cov(vectors.matrix.T))[1][:, :-51:-1]
        sides.append(fipp.Vectors([vectors.words[row] for row in rows], vectors.matrix[rows] @ axes))
    return fipp.datasets.Demo(*sides, *(lexicon.filter(*sides) for lexicon in (demo.seed, demo.test)))


_CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопкрстуввкиз")
_ARABIC_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_YEARS = [str(year) for year in range(1990, 2020)]


def prepare(folder: Path) -> None:
    """Write the files that pages name, all made from the small demo."""
    demo, rng = small_demo(), np.random.default_rng(0)
    _languages(folder, demo, rng)
    demo.seed.save(folder / "seed.tsv")
    demo.seed.head(60).save(folder / "tiny.tsv")
    demo.test.save(folder / "test.tsv")
    pairs = [*demo.seed, *demo.test]
    fipp.Lexicon(pairs, scores=rng.random(len(pairs))).save(folder / "en-fr.tsv")
    for name, method in (("en-fr.fipp", "fipp"), ("older.fipp", "procrustes")):
        fipp.align(folder / "en.vec", folder / "fr.vec", demo.seed, method).save(folder / name)
    _word_lists(folder, demo, rng)
    _corpora(folder, demo, rng)
    _two_models(folder, rng)
    for name in ("vectors", "dictionaries"):
        (folder / name).mkdir()
    for name in ("en.vec", "fr.vec"):
        shutil.copy(folder / name, folder / "vectors")
    for part in ("train.1k", "train.5k", "test.2k"):
        (demo.test if part == "test.2k" else demo.seed).save(folder / "dictionaries" / f"{part}.en-fr.tsv")


def _languages(folder: Path, demo: fipp.datasets.Demo, rng: np.random.Generator) -> None:
    """Write English, French, and made-up languages that have the vectors of French, turned, under other words."""
    English, French = (
        fipp.Vectors([*side.words, *_YEARS], np.vstack([side.matrix, rng.standard_normal((len(_YEARS), side.dim))]))
        for side in (demo.source, demo.target)
    )
    turned = French.matrix @ np.linalg.qr(rng.standard_normal((60, 60)))[0][:50]
    turned += 0.05 * turned.std() * rng.standard_normal(turned.shape)
    spelled = {
        "fi": [f"{word}i" for word in French.words],
        "ru": [word.translate(_CYRILLIC) for word in French.words],
        "hr": [f"{word}č" for word in French.words],
        "ar": [f"{word}ا".translate(_ARABIC_DIGITS).removesuffix("ا") for word in French.words],
    }
    for name, words in spelled.items():
        first = {word: row for row, word in reversed([*enumerate(words)])}
        rows = sorted(first.values())
        fipp.Vectors([words[row] for row in rows], turned[rows]).save(folder / f"{name}.vec")
    finnish, russian = (dict(zip(French.words, spelled[name], strict=True)) for name in ("fi", "ru"))
    fipp.Lexicon([(en, finnish[fr]) for en, fr in demo.seed]).save(folder / "en-fi.tsv")
    fipp.Lexicon([(finnish[fr], fr) for fr in French.words[:200]]).save(folder / "fi-fr.tsv")
    fipp.Lexicon([(en, russian[fr]) for en, fr in demo.seed]).save(folder / "names.tsv")
    English.save(folder / "en.vec")
    French.save(folder / "fr.vec")
    (folder / "wiki.en.vec.gz").write_bytes(gzip.compress((folder / "en.vec").read_bytes(), 1))
    (folder / "cc.hr.300.bin").write_bytes(
        fasttext_bytes(["čvor", "i"], rng.random((2 + 50, 3)), buckets=50, shortest=2, longest=4)
    )
    floret(folder).rename(folder / "hr.floret")


def _word_lists(folder: Path, demo: fipp.datasets.Demo, rng: np.random.Generator) -> None:
    """Write lists of words, and test sets of word similarity and analogies."""
    words = demo.source.words
    rated = [(words[i], words[j], (i + j) % 11) for i, j in rng.integers(300, size=(60, 2)).tolist()]
    across = [(a, b, place % 11) for place, (a, b) in enumerate(demo.test)]
    texts = {
        "words.txt": "house\nwater\n",
        "wanted.txt": "\n".join(words[:100]),
        "simlex999.tsv": "".join(f"{a}\t{b}\t{score}\n" for a, b, score in rated),
        "wordsim353.tsv": "".join(f"{a}\t{b}\t{score}\n" for a, b, score in rated[:30]),
        "en-fr.csv": "".join(f"{a},{b},{score}\n" for a, b, score in across),
        "questions-words.txt": ": family\nman woman king queen\n",
        "en-fr.txt": ": family\nman woman roi reine\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _corpora(folder: Path, demo: fipp.datasets.Demo, rng: np.random.Generator) -> None:
    """Write four sets of vectors for one vocabulary, of which one has a changed word."""
    source = demo.source
    for name in ("news-1990", "news-2020", "half1", "half2"):
        matrix = source.matrix + 0.1 * source.matrix.std() * rng.standard_normal(source.matrix.shape)
        if name == "news-2020":
            matrix[40] = matrix[900]
        fipp.Vectors(source.words, matrix).save(folder / f"{name}.vec")


def _two_models(folder: Path, rng: np.random.Generator) -> None:
    """Write Parquet files of items, and of queries with their answers, each embedded by two models."""
    if find_spec("pyarrow") is None:
        return
    import pyarrow as pa
    from pyarrow import parquet

    new = rng.standard_normal((1300, 16)) * np.geomspace(1, 0.1, 16)
    old = np.tanh(new @ rng.standard_normal((16, 12)) / 4)
    for name, matrix in (("old", old), ("new", new)):
        parquet.write_table(pa.table({"id": range(1300), "vector": matrix.tolist()}), folder / f"{name}.parquet")
    asked = {"old": old[:100].tolist(), "new": (new[:100] + 0.01).tolist(), "gold": range(100)}
    parquet.write_table(pa.table(asked), folder / "queries.parquet")
