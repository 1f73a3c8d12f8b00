"""`fipp report` and `fipp plot`."""

import pytest


@pytest.mark.parametrize("option", ["--test", "--dict"])
def test_a_report_is_one_small_file_and_the_command_says_where_it_is(run, aligned, tmp_path, option):
    page = tmp_path / "report.html"
    result = run("report", aligned.model, aligned.source, aligned.target, option, aligned.test, "-o", page)
    assert result.exit_code == 0, result.stderr
    assert str(page) in result.stdout and page.stat().st_size < 3_000_000
    text = page.read_text(encoding="utf-8")
    assert "Alignment of e to f" in text and "e-f.fipp, SHA-256" in text and str(tmp_path) not in text


def test_an_output_that_is_an_input_is_refused(run, aligned):
    result = run("report", aligned.model, aligned.source, aligned.target, "-o", aligned.model)
    assert result.exit_code == 2 and "would overwrite the input" in result.stderr


def test_the_figures_are_listed_and_drawn(run, aligned, tmp_path):
    listed = run("plot", "--list")
    assert listed.exit_code == 0 and "spectra" in listed.stdout
    figure = tmp_path / "map.pdf"
    result = run("plot", "map", aligned.model, aligned.source, aligned.target, "--test", aligned.test, "-o", figure)
    assert result.exit_code == 0, result.stderr
    assert figure.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("nothing", "x.pdf", "there is no figure"),
        ("map", "x.txt", "a figure is written as"),
        ("trials", "x.pdf", "auto"),
    ],
)
def test_a_mistake_is_one_sentence(run, aligned, tmp_path, name, file, said):
    result = run("plot", name, aligned.model, aligned.source, aligned.target, "-o", tmp_path / file)
    assert result.exit_code == 2 and said in result.stderr and not (tmp_path / file).exists()


def test_what_is_missing_is_said(run):
    result = run("plot", "map")
    assert result.exit_code == 2 and "fipp plot NAME MODEL SRC TGT" in result.stderr
