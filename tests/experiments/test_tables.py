"""Tables whose cells hold words and names of files that somebody else chose."""

import csv
import io
import json

import pytest

from fipp.experiments import Note, Table, render
from fipp.experiments._tables import Figure, to_csv

EVIL = "a|b<img src=x onerror=alert(1)>[x](javascript:y)*_`&lt;\\input{x}$\x1b\u202e\nc"


def table(cell):
    notes = [Note("en-fr", "FIPP", cell)]
    rows = [["en-fr", Figure("0.5"), cell], ["my_pair", None, "isotropic:3"]]
    return Table("main", "1k", f"Title {cell}", ["pair", "FIPP", "words"], rows, notes=notes)


@pytest.mark.parametrize("format", ["markdown", "csv", "latex", "json"])
def test_no_cell_commands_the_terminal_or_breaks_the_table(format):
    told = render([table(EVIL)], format)
    assert told.replace("\n", "").isprintable()
    assert len(told.splitlines()) == len(render([table("word")], format).splitlines())


def test_markdown_shows_html_links_and_borders_as_they_are():
    lines = render([table(EVIL)]).splitlines()
    row = next(line for line in lines if line.startswith("| en-fr"))
    shown = r"a\|b\<img src=x onerror=alert(1)>\[x](javascript:y)\*_\`\&lt;\\input{x}$\\u001b\\u202e\\u000ac"
    assert row == f"| en-fr | 0.5 (1) | {shown} |"
    assert "| my_pair | – | isotropic:3 |" in lines


def test_latex_runs_nothing():
    told = render([table(EVIL)], "latex")
    assert r"\textbackslash{}input\{x\}\$" in told and r"\input{" not in told


@pytest.mark.parametrize("cell", ["=1+1", "+1+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", " =1", "\t=1", "\r=1", "＝1"])
def test_text_in_csv_is_no_formula(cell):
    (row,) = list(csv.reader(io.StringIO(to_csv(["name"], [[cell]]))))[1:]
    assert row[0].lstrip()[0] in "'\\"


@pytest.mark.parametrize("cell", ["word", "en-fr", "-1,234.5", "+0.5", "-12", "–", "l'eau"])
def test_other_text_and_numbers_in_csv_are_unchanged(cell):
    assert list(csv.reader(io.StringIO(to_csv(["name", "n"], [[cell, -0.5]]))))[1:] == [[cell, "-0.5"]]


def test_json_keeps_the_exact_cells():
    assert json.loads(render([table(EVIL)], "json"))[0]["rows"][0][2] == EVIL
