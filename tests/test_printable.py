"""What text from files looks like when it is shown."""

import json
import sys
import unicodedata
import warnings

import pytest

from fipp._printable import printable
from fipp.exceptions import FippError, warn

# Words as people write them, with the invisible characters that their scripts need.
ORDINARY = [
    "house", "naïve", "cafe\u0301", "Übergrößenträger", "co\u00adoperate", "дом", "σπίτι", "בַּיִת", "بيت",
    "می\u200cخواهم", "क्\u200dष", "শ্রদ্ধা", "ශ්\u200dරී", "ភាសា\u200bខ្មែរ", "ไทย\u200bไทย", "漢字", "葛\U000e0100", "한국어",
    "日本\u200een", "\u200fעברית", "👩\u200d👩\u200d👧\u200d👦", "❤\ufe0f\u200d🔥", "🏳\ufe0f\u200d🌈", "1\ufe0f\u20e3",
    "🇭🇷",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a b", "\N{NO-BREAK SPACE}", "\\u001b", "[red]", "<b>", "$x$", "\ue000",
]  # fmt: skip


@pytest.mark.parametrize("word", ORDINARY)
def test_ordinary_text_of_every_script_is_unchanged(word):
    assert printable(word) == word


def test_nothing_that_commands_a_terminal_or_reorders_text_is_left():
    told = printable("".join(map(chr, range(sys.maxunicode + 1))))
    classes = {unicodedata.bidirectional(sign) for sign in told}
    kinds = {unicodedata.category(sign) for sign in told}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not classes & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not any("\U000e0000" <= sign <= "\U000e007f" for sign in told)


@pytest.mark.parametrize("word", ["pay\u200bpal", "pay\u200dpal", "\u200bक", "a\ufeff", "a\u2060b", "x\U000e0041"])
def test_what_would_be_invisible_is_shown(word):
    assert not word.isprintable() and printable(word).isprintable()


def test_two_words_that_differ_never_look_the_same_because_of_what_was_escaped():
    assert len({printable(f"a{chr(code)}b") for code in range(0x2060)}) == 0x2060


def test_escapes_in_json_are_read_back_as_what_was_there():
    hostile = {
        f"{chr(code)}x\\": chr(code) for code in [*range(0x300), *range(0x2000, 0x2070), 0xD800, 0xDFFF, 0xE0041]
    }
    assert json.loads(printable(json.dumps(hostile, ensure_ascii=False, indent=1), lines=True)) == hostile


def test_line_breaks_are_kept_only_if_asked_for():
    assert printable("a\nb\r") == r"a\u000ab\u000d" and printable("a\nb\r", lines=True) == "a\nb\\u000d"


def test_errors_and_warnings_are_harmless_in_python_too():
    assert str(FippError("x\x1b[2J")) == r"x\u001b[2J" and str(FippError("two\nlines")) == "two\nlines"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("x\u202ey")
    assert str(caught[0].message) == r"x\u202ey"
