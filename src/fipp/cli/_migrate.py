"""`fipp migrate`: from one embedding model to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.cli._console import Reporter
    from fipp.migrate import Estimate, Migration, PairedSample, Probe

_Old = Annotated[
    Path,
    Argument(
        metavar="OLD",
        help="Items embedded by the old model: Parquet, Arrow, a folder of Parquet files, or .npy. Without NEW, a "
        "table with the columns [bold]old[/bold] and [bold]new[/bold].",
    ),
]
_New = Annotated[
    Path | None,
    Argument(
        metavar="NEW", help="The same items embedded by the new model, matched by id, or by position without ids."
    ),
]
_Queries = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Queries: a table with the columns [bold]new[/bold], [bold]old[/bold] (to measure staying) and "
        "[bold]gold[/bold] (the id of the answer, or several).",
    ),
]
_Id = Annotated[str | None, Option("--id", metavar="NAME", help="The column with the ids.")]
_Size = Annotated[
    int | None, Option(metavar="N", min=1, help="Items in the whole collection; ten times the sample by default.")
]


def probe(
    old: _Old,
    new: _New = None,
    queries: _Queries = None,
    size: _Size = None,
    id_column: _Id = None,
    random_state: _arguments.RandomState = 0,
    page: Annotated[
        Path | None,
        Option("--report", metavar="FILE.html", help="Also write a page to pass on. Needs fipp\\[plot]."),
    ] = None,
    dask: _arguments.Dask = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Find out from a sample whether converting vectors is good enough to skip embedding everything again.

    Embed about 2,000 items, and some queries whose answers you know, with both models. No item is judged by a map that
    was fitted on it. Recall is that of the new model's own ten nearest neighbours; MRR and nDCG need queries with gold.
    All figures are forecasts for the whole collection, with 95 % intervals.
    """
    from fipp import migrate

    if page is not None:
        _check_page(page, old, new, queries)
    report = _console.Reporter(quiet or as_json)
    sample = _load(old, new, queries, id_column, report)
    with _arguments.cluster(dask), report.progress("measuring") as progress:
        result = migrate.probe(sample, size=size, random_state=random_state, progress=progress)
    if page is not None:
        both = "Old vectors" if new is not None else "Vectors of both"
        _write_page(result, page, {both: old, "New vectors": new, "Queries": queries}, random_state)
    _console.show_json(result.as_dict()) if as_json else _show(result)
    if page is not None and not as_json:
        _console.show(f"The report is in {page}.")


def plot(
    name: Annotated[str, Argument(metavar="options|curve", help="Every option, or recall by the number of pairs.")],
    old: _Old,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="A file that ends in .pdf, .png or .svg.")],
    new: _New = None,
    queries: _Queries = None,
    size: _Size = None,
    id_column: _Id = None,
    random_state: _arguments.RandomState = 0,
    narrow: _arguments.Narrow = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Draw one figure of the report about a probe for a paper or a talk: PDF, PNG or SVG."""
    from fipp import migrate
    from fipp.report import PROBE_FIGURES, check_figure, check_figures, plot_probe

    check_figure(name, PROBE_FIGURES)
    check_figures(output)
    _arguments.check_output(output, old, new, queries)
    report = _console.Reporter(quiet)
    sample = _load(old, new, queries, id_column, report)
    with report.progress("measuring") as progress:
        result = migrate.probe(sample, size=size, random_state=random_state, progress=progress)
    plot_probe(name, result, output, narrow=narrow)
    _console.written.append(output)
    _console.show(f"The figure is in {output}.")


def fit(
    old: _Old,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The migration to write.")],
    direction: Annotated[
        str,
        Option(
            metavar="documents|queries",
            help="Convert stored vectors of the old model to the new one, or adapt queries of the new model to the "
            "old vectors.",
        ),
    ],
    new: _New = None,
    queries: _Queries = None,
    old_name: Annotated[str, Option(metavar="NAME", help="The name of the old model.")] = "old",
    new_name: Annotated[str, Option(metavar="NAME", help="The name of the new model.")] = "new",
    id_column: _Id = None,
    dask: _arguments.Dask = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Fit a map between two embedding models on a sample embedded by both.

    The file knows its direction, the names of both models and what their vectors look like, so that it refuses the
    vectors of the wrong model. To adapt queries, give queries embedded by both models.
    """
    from fipp import migrate

    if direction not in ("documents", "queries"):
        raise FippError(f"--direction is documents or queries, not {direction!r}")
    _arguments.check_output(output, old, new, queries)
    report = _console.Reporter(quiet or as_json)
    sample = _load(old, new, queries, id_column, report)
    with _arguments.cluster(dask), report.progress("fitting") as progress:
        migration = migrate.Migration.fit(
            sample,
            direction=direction,  # type: ignore[arg-type]
            old_name=old_name,
            new_name=new_name,
            progress=progress,
        )
    _arguments.save(migration, output)
    if as_json:
        _console.show_json({"file": str(output), **migration.as_dict()})
        return
    _console.show(_console.summary({"file": str(output), **migration_rows(migration)}))


def export(
    model: Annotated[Path, Argument(metavar="MIGRATION", help="A file that [bold]fipp migrate fit[/bold] wrote.")],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A file that ends in .onnx, or in .npz for numpy, with the Python module that uses it beside it.",
        ),
    ],
) -> None:
    """Write a map for programs that do not have fipp, such as the service that embeds queries.

    Scaling to unit length before the map, and to the length of the other model's vectors after it, is included. ONNX
    has the input [bold]vectors[/bold] and the output [bold]mapped[/bold], one vector per row. Neither format checks
    whether vectors come from the right model.
    """
    from fipp.migrate import Migration

    _arguments.check_output(output, model)
    migration = Migration.load(model)
    written = migration.export(output)
    _console.written.extend(written)
    names = " and ".join(map(str, written))
    sizes = f"{migration.source.dimensions} to {migration.target.dimensions} dimensions"
    _console.show(f"{names}: {migration_rows(migration)['direction']}, {sizes}")


def migration_rows(migration: Migration) -> dict[str, str]:
    """Return what is known of a migration, to be shown."""
    queries = f" and {migration.n_queries:,} queries" if migration.n_queries else ""
    verb = {"documents": "converts stored vectors", "queries": "adapts queries"}[migration.direction]
    return {
        "direction": f"{verb} of {migration.source.name} to {migration.target.name}",
        "old model": f"{migration.old.name}, {migration.old.dimensions} dimensions",
        "new model": f"{migration.new.name}, {migration.new.dimensions} dimensions",
        "map": f"{migration.map}, fitted on {migration.n_items:,} items{queries}",
        "recall@10": f"{migration.recall:.3f} of the new model's neighbours in the sample, items not fitted on",
    }


def _load(old: Path, new: Path | None, queries: Path | None, id_column: str | None, report: Reporter) -> PairedSample:
    from fipp import migrate

    with report.progress("reading the sample"):
        sample = migrate.PairedSample.load(old, new, queries=queries, id_column=id_column)
    report.note(
        f"sample: {len(sample):,} items paired by {sample.paired_by}, {sample.old.shape[1]} to {sample.new.shape[1]} "
        f"dimensions; the models share {100 * sample.agreement:.0f} % of the ten nearest neighbours"
    )
    return sample


def _check_page(page: Path, *inputs: Path | None) -> None:
    from fipp.report import check_figures

    check_figures()
    _arguments.check_output(page, *inputs)


def _write_page(result: Probe, page: Path, files: dict[str, Path | None], random_state: int) -> None:
    from fipp.report import write_probe_report

    given = {name: path for name, path in files.items() if path is not None}
    details = {name: _arguments.with_checksum(path) for name, path in given.items()}
    details["Random seed"] = str(random_state)
    names = tuple(_arguments.name_of(given[name]) for name in ("Old vectors", "New vectors") if name in given)
    write_probe_report(result, page, names=names if len(names) == 2 else ("old", "new"), details=details)
    _console.written.append(page)


def _show(result: Probe) -> None:
    asked = result.ways[0].mrr is not None or result.ways[-1].mrr is not None
    table = _console.table("", "recall@10", *(["MRR", "nDCG@10"] if asked else []), "of embedding again")
    for way in result.ways:
        figures = [way.recall, way.mrr, way.ndcg] if asked else [way.recall]
        style = "bold" if way.name == result.recommended else ""
        table.add_row(way.name, *map(_shown, figures), f"{100 * way.share:.0f} %", style=style)
    sample = f"{result.n_items:,} items and {result.n_queries:,} queries"
    _console.heading(f"Forecast for {result.size:,} items from {sample}")
    _console.show(table)
    _show_cascade(result)
    curve = ", ".join(f"{recall:.2f} from {count:,}" for count, recall in result.curve[:-2])
    more = " and ".join(f"{recall:.2f} from {count:,}" for count, recall in result.curve[-2:])
    kind = "a linear map" if result.map == "linear" else "a kernel map"
    _console.show(f"Pairs: {kind} reaches a recall in the sample of {curve}; expect {more}.")
    for cluster in result.clusters:
        examples = " · ".join(cluster.examples)
        _console.show(f"Converted worst: recall {cluster.recall:.2f} of {cluster.n_items:,} items such as {examples}")
    _console.show("", result.verdict)


def _show_cascade(result: Probe) -> None:
    """Say what scoring the first found again reaches and costs."""
    reached = [way for way in result.ways if way.hits is not None and way.name.startswith("convert")]
    if reached:
        firsts = _listed([way.name.split()[-2] for way in reached])
        shares = _listed([f"{100 * (way.hits or 0):.0f} %" for way in reached])
        _console.show(f"Scoring again: the first {firsts} converted items include {shares} of the answers.")
    many, more = (result.most_embedded(n_queries) for n_queries in (1_000, 10_000))
    _console.show(
        f"Scoring the first 100 again, the new model embeds at most {many:,} of the {result.size:,} items for 1,000 "
        f"queries, and {more:,} for 10,000."
    )


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _shown(estimate: Estimate | None) -> str:
    return "-" if estimate is None else str(estimate)
