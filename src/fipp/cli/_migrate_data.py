"""`fipp migrate demo`, `sample` and `convert`, and what belongs to it: status, resume, verify, switch and rollback."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.migrate import Conversion

_Source = Annotated[
    str,
    Argument(
        metavar="SOURCE",
        help="A file, a folder or a pattern in quotes, of Parquet, Arrow, Feather, .npy, .safetensors or .faiss; a "
        "table of LanceDB, such as db/docs.lance; or postgresql://HOST/DB#TABLE or qdrant://HOST:PORT#COLLECTION.",
    ),
]
_Sink = Annotated[
    str,
    Argument(
        metavar="SINK",
        help="Where to write: a folder, or whatever SOURCE can be, of the same kind or another. It must not exist yet.",
    ),
]
_Converted = Annotated[
    str,
    Argument(metavar="SINK", help="The converted collection, as it was named for [bold]fipp migrate convert[/bold]."),
]
_Manifest = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Where progress is recorded.",
        show_default="SINK.migration.jsonl; for a database, in the current folder",
    ),
]


_Column = Annotated[str | None, Option(metavar="NAME", help="The column of vectors, if there are several.")]


def demo(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder to write to.")],
    items: Annotated[int, Option("--items", metavar="N", min=1, help="How many items.")] = 50_000,
    embed: Annotated[
        bool, Option("--embed", help="Embed the sample in DIR with the new model instead of making a collection.")
    ] = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Make up a collection to try a migration on: Parquet files with vectors of an old model.

    With --embed, DIR is a folder that [bold]fipp migrate sample[/bold] wrote for such a collection. A made-up new model
    embeds the sample, as your own model would otherwise do, and DIR/queries.parquet gets queries with known answers.
    """
    from fipp.datasets import embed_sample, make_collection

    report = _console.Reporter(quiet or as_json)
    with report.progress("embedding" if embed else "making items") as progress:
        paths = embed_sample(folder) if embed else make_collection(folder, items, progress=progress)
    _console.written.extend(paths)
    if as_json:
        _console.show_json({"paths": list(map(str, paths))})
        return
    _console.show(*map(str, paths))


def sample(
    source: _Source,
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="The folder to write the sample to.")],
    n: Annotated[int, Option("-n", metavar="N", min=1, help="How many items.")] = 2000,
    column: _Column = None,
    key: Annotated[str | None, Option("--id", metavar="NAME", help="The column with the ids.")] = None,
    text: Annotated[str | None, Option("--text", metavar="NAME", help="The column with the texts.")] = None,
    random_state: _arguments.RandomState = 0,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Draw items from all parts of a collection for the new model to embed.

    The collection is read once, in constant memory. DIR/old.parquet has the ids, texts and old vectors of the items.
    Embed the texts with the new model, write ids and vectors to DIR/new.parquet, and give DIR to
    [bold]fipp migrate probe[/bold].
    """
    from fipp import migrate

    report = _console.Reporter(quiet or as_json)
    migrate.sample_path(output, source)  # before the whole collection is read
    with report.progress("drawing") as progress:
        table = migrate.draw(
            source, n, column=column, id_column=key, text_column=text, random_state=random_state, progress=progress
        )
        path = migrate.write_sample(table, output)
    _console.written.append(path)
    if "text" not in table.column_names:
        report.note("texts: the collection has none, or --text is needed to find them; the sample has ids only")
    if as_json:
        _console.show_json({"path": str(path), "items": len(table), "columns": table.column_names})
        return
    _console.show(
        f"{path}: {len(table):,} items; embed them with the new model and write {path.with_name('new.parquet')}"
    )


def convert(
    model: Annotated[Path, Argument(metavar="MODEL", help="A model that fipp wrote.")],
    source: _Source,
    sink: _Sink,
    column: _Column = None,
    key: Annotated[
        str | None, Option("--id", metavar="NAME", help="The column with the ids, which orders the rows of a database.")
    ] = None,
    dtype: Annotated[
        str,
        Option(
            metavar="float32|float16|int8",
            help="Type of the converted numbers; int8 adds a column with the scale of each vector.",
        ),
    ] = "float32",
    fragment_rows: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="Rows per fragment; an interruption loses at most one.",
            show_default="65,536, or whole row groups of Parquet",
        ),
    ] = None,
    manifest: _Manifest = None,
    dask: _arguments.Dask = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Convert the vectors of a collection of any size; all other columns stay as they are, in the same order.

    Rows are read, converted and written fragment by fragment, in constant memory, on all cores. SOURCE is never
    changed, and SINK appears when it is complete. To continue after an interruption, run [bold]fipp migrate resume
    SINK[/bold]. Rows that change during the conversion are noticed and converted again. With --dask, all workers
    must see the same files.

    Passwords and keys are taken from the environment (PGPASSWORD, QDRANT_API_KEY) or from the database's own
    configuration, never from the command line. Qdrant gets the converted column as its only vector, unless an empty
    collection is there whose vectors have the names of columns.
    """
    from fipp import migrate

    with _arguments.cluster(dask):
        conversion = migrate.Conversion.start(
            model, source, sink, column=column, key=key, dtype=dtype, fragment_rows=fragment_rows, manifest=manifest
        )
        _run(conversion, as_json, quiet)


def resume(
    sink: _Converted,
    manifest: _Manifest = None,
    dask: _arguments.Dask = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Resume a conversion that was interrupted; the result is the same as without the interruption."""
    from fipp import migrate

    with _arguments.cluster(dask):
        _run(migrate.Conversion.load(sink, manifest=manifest), as_json, quiet)


def _run(conversion: Conversion, as_json: bool, quiet: bool) -> None:
    from fipp.io import counted

    report = _console.Reporter(quiet or as_json)
    manifest = conversion.manifest
    left = manifest.total - manifest.rows
    report.note(f"{manifest.source}: {manifest.total:,} rows, of which {left:,} are to be converted")
    _console.written.append(f"a part of {manifest.sink} (`fipp migrate resume` goes on)")
    try:
        with report.progress("converting") as progress:
            conversion.run(progress)
    except FippError:
        if manifest.rows and manifest.state == "converting":
            report.note(
                f"{counted(manifest.rows, 'row')} are done: `fipp migrate resume {quote(manifest.sink)}` goes on"
            )
        raise
    _console.written[-1] = manifest.sink
    if as_json:
        _console.show_json(manifest.status())
        return
    rate = manifest.status()["rows_per_second"]
    _console.show(
        f"{manifest.sink}: {counted(manifest.rows, 'row')} in {counted(len(manifest.fragments), 'fragment')}, "
        f"{rate:,.0f} rows/s"
    )


def status(sink: _Converted, manifest: _Manifest = None, as_json: _arguments.Json = False) -> None:
    """Show the progress of a conversion, even while it runs."""
    from fipp.migrate import Manifest, manifest_path

    found = Manifest.load(manifest or manifest_path(sink)).status()
    if as_json:
        _console.show_json(found)
        return
    _console.show(_console.summary({name: _shown(value) for name, value in found.items()}))


def _shown(value: object) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, (int, float)) else str(value)


def verify(
    sink: _Converted,
    native: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Items embedded by the new model, with their ids, to measure recall on; preferably not those that the "
            "map was fitted on.",
        ),
    ] = None,
    manifest: _Manifest = None,
    random_state: _arguments.RandomState = 0,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Verify a finished conversion: row counts, checksums, and a sample of rows converted again.

    The exit code is 2 if anything is not as it should be.
    """
    from fipp import migrate

    report = _console.Reporter(quiet or as_json)
    conversion = migrate.Conversion.load(sink, manifest=manifest)
    with report.progress("verifying") as progress:
        found = migrate.verify(conversion, native=native, random_state=random_state, progress=progress)
    if as_json:
        _console.show_json(found.as_dict())
    else:
        converted = f"{found.converted_rows:,} converted of {found.source_rows:,}"
        rows = {
            "rows": converted if found.converted_rows >= 0 else "what was converted cannot be read any more",
            "checksums": f"{found.checksums - len(found.changed):,} of {found.checksums:,} as they were written",
            "changed since": f"{found.outdated:,} fragments of the source",
            "converted again": f"{found.sampled:,} rows, of which {found.different:,} differ",
        }
        if found.recall is not None:
            rows["recall@10"] = f"{found.recall:.3f} of the new model's own neighbours among the items given"
        _console.show(_console.summary(rows), "All is right." if found.is_right else "Something is wrong.")
    if not found.is_right:
        raise Exit(2)


def switch(
    sink: _Converted,
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="What applications read: a symbolic link to files, a table in PostgreSQL, an alias in Qdrant.",
        ),
    ],
    manifest: _Manifest = None,
) -> None:
    """Point NAME at the converted collection, in one step."""
    from fipp import migrate

    conversion = migrate.Conversion.load(sink, manifest=manifest)
    conversion.switch(name)
    _console.show(f"{name} now means {conversion.manifest.sink}; `fipp migrate rollback {quote(sink)}` switches back")


def rollback(
    sink: _Converted,
    manifest: _Manifest = None,
    delete: Annotated[bool, Option("--delete", help="Remove the converted collection, finished or not.")] = False,
) -> None:
    """Undo a switch: NAME means again what it meant before. The converted collection stays unless --delete."""
    from fipp import migrate

    conversion = migrate.Conversion.load(sink, manifest=manifest)
    name, before = conversion.manifest.name, conversion.manifest.before
    if delete:
        conversion.delete()
        _console.show(f"{conversion.manifest.sink} is removed")
    else:
        conversion.rollback()
        _console.show(f"{name} means again what it meant before" if before else f"{name} is gone again")
