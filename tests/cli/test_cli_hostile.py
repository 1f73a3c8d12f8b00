"""Words, names of files and messages that try to command the terminal, through every command that prints."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fipp import Lexicon, Vectors
from fipp.cli import _console

# A title of the window, a cleared screen by C1, text from right to left, markup of rich, HTML, a formula, lone bytes.
EVIL = "\x1b]0;owned\x07\x9b2J\u202e\x7f\x08[red][/][link=x]<b>$x^2$|\U000e0041"
NAME = EVIL.replace("/", "")
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
# What rich itself writes to a terminal: styles, lines that are cleared, the cursor.
OF_RICH = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1?A|\r")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file names have no control characters there")


class Hostile:
    """Files with hostile names and words, and the model that was learned from them."""

    def __init__(self, folder):
        self.folder = folder = folder / f"{NAME}\n"
        folder.mkdir()
        matrix = np.random.default_rng(0).standard_normal((120, 6))
        self.words, self.answers = (tuple(f"{letter}{row}{EVIL}" for row in range(120)) for letter in "ef")
        twins = [f"{word}\nerror: forged\r\n" for word in self.answers[:5]]  # as near as the answers
        self.source, self.target = folder / f"s{NAME}.npz", folder / f"t{NAME}.npz"
        Vectors(self.words, matrix[:, ::-1]).save(self.source)
        Vectors([*self.answers, *twins], np.vstack([matrix, matrix[:5]])).save(self.target)
        self.pairs = list(zip(self.words, self.answers, strict=True))
        self.unknown = (f"nobody{EVIL}", f"nowhere{EVIL}")
        self.seed, self.test, self.model = (folder / f"{name}{NAME}" for name in ("seed.tsv", "test.tsv", "m.fipp"))
        Lexicon([*self.pairs[:40], self.unknown]).save(self.seed)
        Lexicon([*self.pairs[40:80], self.unknown]).save(self.test)
        self.scored, self.questions = folder / f"scored{NAME}.tsv", folder / f"questions{NAME}.txt"
        self.scored.write_text("".join(f"{self.words[i]}\t{self.words[i + 9]}\t{i}\n" for i in range(50)))
        lines = [" ".join(self.words[i : i + 4]) for i in range(8)]
        self.questions.write_text(f": one{EVIL}\n{lines[0]}\n: two{EVIL}\n" + "\n".join(lines[1:]) + "\n")
        self.bad = folder / f"bad{NAME}.vec"
        self.bad.write_text(f"3 2\na{EVIL} 1 2\nb{EVIL} 1\nc{EVIL} nan 2\n")
        self.binary = folder / os.fsdecode(b"\xff\xfe" + b".vec")

    def out(self, name):
        return self.folder / f"out{NAME}{name}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return Hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def model(hostile):
    from fipp import align

    alignment = align(Vectors.load(hostile.source), Vectors.load(hostile.target), hostile.pairs[:40], "fipp")
    alignment.save(hostile.model)
    return hostile


def both(h):
    return h.source, h.target


LOGISTIC = ["--language", "fr", "--classifier", "logistic"]

# Exit codes and arguments. All of these show something hostile.
COMMANDS = {
    "align": (0, lambda h: ["align", *both(h), "--dict", h.seed, "-o", h.out(".fipp"), "--force", "--method", "fipp"]),
    "eval": (0, lambda h: ["eval", h.model, *both(h), "--test", h.test, "--against", h.model, "--bands"]),
    "translate": (0, lambda h: ["translate", h.model, *both(h), *h.words[:3], h.unknown[0], "-k", 3]),
    "nobody": (2, lambda h: ["translate", h.model, *both(h), h.unknown[0]]),
    "transform": (0, lambda h: ["transform", h.model, h.source, "-o", h.out(".npz")]),
    "convert": (0, lambda h: ["convert", h.source, "-o", h.out(".vec")]),
    "convert-bad": (0, lambda h: ["convert", h.bad, "-o", h.out(".txt")]),
    "strict": (2, lambda h: ["convert", h.bad, "-o", h.out(".txt"), "--strict"]),
    "info": (0, lambda h: ["info", h.source]),
    "info-bad": (0, lambda h: ["info", h.bad]),
    "info-model": (0, lambda h: ["info", h.model]),
    "similarity": (0, lambda h: ["similarity", h.source, h.scored]),
    "analogies": (0, lambda h: ["analogies", h.source, h.questions]),
    "check": (0, lambda h: ["lexicon", "check", h.seed, *both(h), "-o", h.out(".tsv")]),
    "split": (0, lambda h: ["lexicon", "split", h.seed, "-o", h.out("a.tsv"), "--rest", h.out("b.tsv")]),
    "reverse": (0, lambda h: ["lexicon", "reverse", h.seed, "-o", h.out("c.tsv")]),
    "identical": (0, lambda h: ["lexicon", "identical", h.source, h.source, "-o", h.out("d.tsv")]),
    "numerals": (2, lambda h: ["lexicon", "numerals", *both(h), "-o", h.out("e.tsv")]),
    "cognates": (2, lambda h: ["lexicon", "cognates", h.source, h.source, "-o", h.out("f.tsv")]),
    "cldr": (2, lambda h: ["lexicon", "cldr", EVIL, "fr", "-o", h.out("g.tsv")]),
    "tune": (0, lambda h: ["tune", *both(h), "--dict", h.seed, "--grid", "lam=.5,1", "-o", h.out("h.fipp"), "--force"]),
    "grid": (2, lambda h: ["tune", *both(h), "--dict", h.seed, "--grid", f"preprocess=unit,{EVIL}"]),
    "compare": (0, lambda h: ["compare", *both(h), "--dict", h.seed, "--test", h.test, "--methods", "fipp"]),
    "words": (
        0,
        lambda h: ["reproduce", "words", *both(h), "--dict", h.seed, "--source-set", h.scored, "--methods", "fipp"],
    ),
    "documents": (2, lambda h: ["reproduce", "documents", *both(h), h.bad, "--dict", h.seed, "--pair", "en-fr"]),
    "inference": (
        2,
        lambda h: ["reproduce", "inference", *both(h), "--dict", h.seed, "--train", h.bad, "--test", h.bad, *LOGISTIC],
    ),
    "xling": (2, lambda h: ["reproduce", "xling", h.folder, h.folder]),
    "methods": (2, lambda h: ["methods", EVIL]),
    "download": (2, lambda h: ["download", EVIL]),
    "demo": (2, lambda h: ["demo", "-o", h.model]),
    "missing": (2, lambda h: ["info", h.out("missing.vec")]),
    "not-utf8": (2, lambda h: ["info", h.binary]),
    "folder": (2, lambda h: ["align", *both(h), "--dict", h.folder, "-o", h.out(".fipp"), "--method", "fipp"]),
    "command": (2, lambda h: [EVIL]),
    "option": (2, lambda h: [f"--{EVIL}"]),
    "extra": (2, lambda h: ["info", h.source, EVIL]),
    "value": (2, lambda h: ["info", h.source, "--limit", EVIL]),
}  # fmt: skip
STYLED = [name for name in COMMANDS if name != "compare"]


# One run of `compare` is enough: it starts processes, and its tables have no styles.
@pytest.mark.parametrize(
    ("name", "styled"), [*((name, False) for name in COMMANDS), *((name, True) for name in STYLED)]
)
def test_nothing_that_a_file_says_commands_the_terminal(name, styled, run, model, monkeypatch):
    code, arguments = COMMANDS[name]
    if styled:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TTY_INTERACTIVE", "0")
    _console._console.cache_clear()
    try:
        result = run(*arguments(model))
    finally:
        _console._console.cache_clear()
    assert result.exit_code == code, result.stderr
    for told in (result.stdout, result.stderr):
        assert HARMFUL.search(OF_RICH.sub("", told) if styled else told) is None
        assert not re.search("^error: forged", told, re.MULTILINE)
    if name not in {"methods", "value", "not-utf8", "demo"}:
        assert "owned" in result.stdout + result.stderr


# What is read back from JSON.
EXACT = {
    "translate": lambda h, told: (
        {*told["translations"], *told["unknown"]} == {*h.words[:3], h.unknown[0]}
        and h.answers[0] in [best["word"] for best in told["translations"][h.words[0]]]
    ),
    "info": lambda h, told: told["file"] == str(h.source),
    "check": lambda h, told: told["missing_source_examples"] == [h.unknown[0]],
    "analogies": lambda h, told: f"one{EVIL}" in told["sets"][0]["sections"],
}


@pytest.mark.parametrize("name", EXACT)
def test_json_is_harmless_and_keeps_the_exact_data(name, run, model):
    result = run(*COMMANDS[name][1](model), "--json")
    assert result.exit_code == 0 and HARMFUL.search(result.stdout) is None
    assert EXACT[name](model, json.loads(result.stdout))


def test_files_keep_the_exact_words(run, model, tmp_path):
    for name in ("transform", "convert", "reverse", "identical"):
        assert run(*COMMANDS[name][1](model)).exit_code == 0
    assert Vectors.load(model.out(".npz")).words == Vectors.load(model.out(".vec")).words == model.words
    assert list(Lexicon.load(model.out("c.tsv")))[:40] == [(answer, word) for word, answer in model.pairs[:40]]
    assert list(Lexicon.load(model.out("d.tsv"))) == [(word, word) for word in model.words]


@pytest.mark.parametrize("name", ["translate", "info", "option"])
def test_a_terminal_gets_the_styles_and_progress_of_rich_alone(name, model):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fipp", *map(str, COMMANDS[name][1](model))],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", "TERM": "xterm"},
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            break
        if not block:
            break
        told += block
    os.close(ours)
    assert process.wait(60) == COMMANDS[name][0]
    text = told.decode()
    assert "owned" in text and "\x1b[" in text
    assert HARMFUL.search(OF_RICH.sub("", text)) is None


def test_progress_shows_the_name_of_a_file_as_it_is(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    _console._console.cache_clear()
    with _console.Reporter().progress(f"reading {EVIL}") as progress:
        progress(1, 2)
    _console._console.cache_clear()
    told = capsys.readouterr().err
    assert "[red][/]" in OF_RICH.sub("", told) and HARMFUL.search(OF_RICH.sub("", told)) is None


def test_only_one_module_of_the_command_line_talks_to_the_terminal():
    for path in Path(_console.__file__).parent.glob("*.py"):
        if path.name != "_console.py":
            runtime = path.read_text(encoding="utf-8").replace(
                "if TYPE_CHECKING:\n    from rich.table import Table\n", ""
            )
            assert not re.search(r"^\s*(from|import) rich\b|\bprint\(", runtime, re.MULTILINE), path.name
