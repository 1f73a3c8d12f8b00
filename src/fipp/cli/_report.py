"""`fipp report` and `fipp plot`: a model as a page that a colleague can read, and each of its figures as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

_Test = Annotated[
    Path | None,
    Option(
        "--test",
        "--dict",
        metavar="TEST",
        help="Test dictionary: pairs that the model was not learned from. Without it, the seed pairs are "
        "cross-validated, which takes five fits.",
    ),
]


def report(
    model: _arguments.Model,
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE.html", help="The page to write.")],
    test: _Test = None,
    retrieval: _arguments.Retrieval = "nn",
    names: _arguments.Names = None,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Write a page about a model that a colleague can read: scores, a map, figures, and seed pairs that look wrong.

    The page is a single file that loads nothing from the network. It can be printed and needs no scripts, and it
    follows the light or dark mode of your system. Scores are shown beside those of Procrustes and of FIPP as
    published, which are fitted on the same seed pairs.
    """
    from fipp.report import check_figures, write_report

    check_figures()
    _arguments.check_retrieval(retrieval)
    called = _arguments.names_of(names, source, target)
    _arguments.check_output(output, model, source, target, test)
    reporter = _console.Reporter(quiet)
    lexicon = None if test is None else _arguments.load_lexicon(test)
    alignment = _arguments.load_alignment(model, source, target, reporter, limit=limit)
    details = {"Model file": _arguments.with_checksum(model)}
    if test is not None:
        details["Test dictionary"] = _arguments.with_checksum(test)
    with reporter.progress("measuring") as progress:
        write_report(alignment, output, lexicon, names=called, retrieval=retrieval, details=details, progress=progress)
    _console.written.append(output)
    _console.show(f"The report is in {output}.")


def plot(
    name: Annotated[str | None, Argument(metavar="NAME", help="Which figure; --list shows them.")] = None,
    model: Annotated[Path | None, Argument(metavar="MODEL", help="A model that fipp align wrote.")] = None,
    source: Annotated[Path | None, Argument(metavar="SRC", help="Source vectors.")] = None,
    target: Annotated[Path | None, Argument(metavar="TGT", help="Target vectors.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="A file that ends in .pdf, .png or .svg.")
    ] = None,
    test: _Test = None,
    retrieval: _arguments.Retrieval = "nn",
    names: _arguments.Names = None,
    narrow: _arguments.Narrow = False,
    show_list: Annotated[bool, Option("--list", help="List the figures, and write none.")] = False,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Draw one figure of the report for a paper or a talk: PDF, PNG or SVG, in colours that everyone can tell apart."""
    from fipp.report import FIGURES, check_figure, check_figures
    from fipp.report import plot as draw

    if show_list:
        _console.show(_console.summary({each: kind.title for each, kind in FIGURES.items()}))
        return
    if name is None or model is None or source is None or target is None or output is None:
        raise FippError("give a figure, a model, both vectors and a file: fipp plot NAME MODEL SRC TGT -o figure.pdf")
    check_figure(name, FIGURES)
    check_figures(output)
    _arguments.check_retrieval(retrieval)
    called = _arguments.names_of(names, source, target)
    _arguments.check_output(output, model, source, target, test)
    reporter = _console.Reporter(quiet)
    lexicon = None if test is None else _arguments.load_lexicon(test)
    alignment = _arguments.load_alignment(model, source, target, reporter, limit=limit)
    with reporter.progress("drawing"):
        draw(
            name,
            alignment,
            output,
            lexicon,
            names=called,
            retrieval=retrieval,
            narrow=narrow,
        )
    _console.written.append(output)
    _console.show(f"The figure is in {output}.")
