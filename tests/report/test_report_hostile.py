"""Figures of words that are no formulas, no programs, and not in the font."""

import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import fipp
from fipp.report import _canvas, plot_pairs
from fipp.report._canvas import drawing, plain


@pytest.mark.parametrize("word", ["$x^2$", "$", "a$b$c$", r"\$x\$", r"$\frac{1}{", "a\x1b\u202e\nb", "naïve"])
def test_text_is_drawn_as_it_is(word):
    figure = Figure()
    shown, is_formula = figure.text(0, 0, plain(word))._preprocess_math(plain(word))
    assert not is_formula
    assert shown == word.replace("\x1b", r"\u001b").replace("\u202e", r"\u202e").replace("\n", r"\u000a")


def test_words_that_are_no_formulas_are_drawn_whatever_the_settings_of_the_user(tmp_path):
    words = [r"$\frac{1}{$", r"\input{/etc/passwd}", "a\x1b[2J\nb", "$e_1$"]
    matrix = np.random.default_rng(0).standard_normal((4, 4))
    vectors = fipp.Vectors(words, matrix)
    alignment = fipp.align(vectors, vectors, list(zip(words, words, strict=True)), "procrustes")
    with matplotlib.rc_context({"text.usetex": True}):
        plot_pairs(alignment, list(zip(words, words, strict=True)), tmp_path / "x.png", names=("$a$", r"$\b{$"))
        assert matplotlib.rcParams["text.usetex"]
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_characters_that_no_font_has_are_one_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(_canvas, "_FURTHER_FONTS", ())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with drawing(tmp_path / "x.png", (2, 2)) as figure:
            figure.text(0, 0, plain("हिन्दी 漢字 語"))
            warnings.warn("something else", UserWarning, stacklevel=1)
    # Before 3.11, matplotlib says so of every letter that it cannot shape.
    other, ours = [each for each in caught if "does not support" not in str(each.message)]
    assert str(other.message) == "something else" and ours.category is fipp.FippWarning
    assert str(ours.message).startswith("the font has no ह ") and " … and shows boxes instead; " in str(ours.message)


def test_characters_that_the_font_lacks_are_taken_from_other_fonts_that_are_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(_canvas, "_FURTHER_FONTS", ("No Such Font", "DejaVu Serif"))
    with drawing(tmp_path / "x.png", (2, 2)):
        assert matplotlib.rcParams["font.family"] == ["sans-serif", "DejaVu Serif"]
    assert matplotlib.rcParams["font.family"] == ["sans-serif"]


def test_a_figure_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError), drawing(tmp_path / "x.png", (2, 2)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
