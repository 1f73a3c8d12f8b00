"""`fipp xling`: the study of the paper, for whatever languages there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fipp.cli import _console, _files, _options

EXAMPLE = "Example: [bold]fipp xling vectors/ dictionaries/ --sizes 1k --results xling.jsonl -o xling.md[/bold]"


def command(
    vectors: Annotated[
        Path, typer.Argument(metavar="VECTORS_DIR", help="Vectors named by language code, such as wiki.en.vec.")
    ],
    dictionaries: Annotated[
        Path,
        typer.Argument(
            metavar="DICTIONARIES_DIR", help="en-fr/train.1k.tsv, en-fr/test.2k.tsv …, or as XLING names them."
        ),
    ],
    pairs: Annotated[str | None, typer.Option(metavar="en-fr,…", help="Only these pairs.")] = None,
    sizes: Annotated[str, typer.Option(metavar="1k,5k", help="Sizes of training dictionaries.")] = "1k,5k",
    methods: Annotated[
        str | None, typer.Option(metavar="fipp,…", help="Only these methods; an unknown one lists them.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="main,…", help="Only these tables; an unknown one lists them.")
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option(
            "--vectors",
            metavar="en=FILE",
            help="Which vectors to take where a language has several; en-fr:en=FILE for one pair. Repeatable.",
        ),
    ] = None,
    similarity: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Files of word similarity named by language, such as en-simlex999.tsv. Without it, a folder "
            "'similarity' beside the others.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Keep results here as they come; what it holds is not run again."),
    ] = None,
    format: _options.Format = "markdown",
    output: _options.TablesOutput = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw spectra, inner products and the descent here as PNG (matplotlib)."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Pairs at a time, each in a process with one thread.")
    ] = 1,
    sgd_steps: Annotated[int, typer.Option(metavar="N", min=1, help="Steps of descent; the paper took 10,000.")] = 100,
    limit: _options.Limit = None,
    quiet: _options.Quiet = False,
) -> None:
    """Run the study of the paper on the languages in two folders, and print its tables with the paper's figures beside.

    The paper's figures are for fastText vectors of Wikipedia: on others, compare differences, not levels.
    """
    from fipp import experiments, report, reproduce

    experiments.check_format(format)
    if output is not None:
        _files.check_output(output)
    if figures is not None:
        report.check_figures()
    console = _console.Reporter(quiet)
    wanted = _options.split_names(tables)
    found = reproduce.discover(vectors, dictionaries, choices or (), similarity)
    cells = reproduce.make_plan(
        found,
        pairs=_options.split_names(pairs),
        sizes=_options.split_names(sizes) or (),
        methods=_options.split_names(methods),
        tables=wanted,
        sgd_steps=sgd_steps,
        limit=limit,
    )
    console.note(f"pairs: {', '.join(dict.fromkeys(cell.pair for cell in cells))}")
    if results is not None:
        _console.written.append(results)  # it holds whatever is finished, also after Ctrl-C
    with console.progress("running the study") as progress:
        records = reproduce.run(cells, results, n_jobs=jobs, progress=progress)
    for record in records.values():
        if "error" in record:
            _console.warn(f"{record['pair']} {record['size']} {record['variant']}: {record['error']}")
    if figures is not None:
        drawn = report.plot_paper(cells, records, figures)
        console.note(f"{len(drawn)} figures in {figures}")
    _files.write_text(experiments.render(reproduce.make_tables(cells, records, wanted), format), output)
