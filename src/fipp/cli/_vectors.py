"""`fipp info`, `fipp convert`, `fipp transform` and `fipp download`: files of vectors, and what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import fipp
from fipp.cli import _align, _arguments, _console, _hub, _migrate
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fipp.evaluate import SpaceReport

_Output = Annotated[
    Path, Option("--output", "-o", metavar="OUT", help="Where to write; the extension selects the format.")
]
_TYPES = ("float32", "float16", "float64")


def info(
    path: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A model, or vectors: word2vec (text or binary), GloVe, fastText, floret, .npy with words in .txt, "
            ".npz, .safetensors, Parquet, Arrow, Feather, or a folder of spaCy or model2vec; compressed or not.",
        ),
    ],
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Show what is in a file.

    For vectors: format, size, lengths, defects, isotropy and hubness. For a model: its method, what was tried and
    chosen, what it maps, the pairs it was learned from, and its scores.
    """
    from fipp.io import is_model

    if is_model(path):
        _show_model(path, as_json)
    else:
        _show_vectors(path, limit, strict, as_json, _console.Reporter(quiet or as_json))


def _show_vectors(path: Path, limit: int | None, strict: bool, as_json: bool, report: _console.Reporter) -> None:
    from fipp.evaluate import describe_space
    from fipp.io import format_to_read

    description = format_to_read(path).description
    loaded = _arguments.load_vectors(path, report, limit=limit, strict=strict)
    with report.progress("measuring") as progress:
        space = describe_space(loaded, progress=progress)
    skipped = {finding.kind.many: finding.count for finding in loaded.report.skipped} if loaded.report else {}
    if as_json:
        _console.show_json({"file": str(path), "format": description, "skipped": skipped, **space.as_dict()})
        return
    table = _console.table("", "", "what it means")
    table.columns[1].justify = "right"
    for row in _rows_of_vectors(space, skipped):
        table.add_row(*row)
    _console.show(_console.summary({"file": str(path), "format": description}), table)


def _rows_of_vectors(space: SpaceReport, skipped: dict[str, int]) -> list[tuple[str, str, str]]:
    def share(count: int, total: int) -> str:
        return f"{count:,} ({100 * count / total:.1f} %)" if count else "0"

    left_out = sum(skipped.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
    return [
        ("words", f"{space.rows:,}", ""),
        ("dimensions", f"{space.dimensions:,}", f"as many as {space.effective_dimensions:.0f} used evenly"),
        ("skipped rows", share(left_out, space.rows + left_out), kinds or "every row could be used"),
        ("zero vectors", share(space.zero_rows, space.rows), "they have no direction and match nothing"),
        ("repeated vectors", share(space.repeated_rows, space.rows), "equal to the vector of an earlier word"),
        ("length, least", f"{space.norm_min:.4g}", ""),
        ("length, mean", f"{space.norm_mean:.4g}", "1 if the vectors were scaled to unit length"),
        ("length, largest", f"{space.norm_max:.4g}", ""),
        ("length of the mean", f"{space.mean_length:.3f}", "of unit vectors: 0 if centred, 1 if all are alike"),
        ("variance, first component", f"{100 * space.top_1:.1f} %", f"{100 / space.dimensions:.1f} % if spread evenly"),
        ("variance, first 10", f"{100 * space.top_10:.1f} %", "if large, a few directions drown the others"),
        ("isotropy", f"{space.isotropy:.3f}", "1 if even in all directions (Mu and Viswanath 2018)"),
        ("hubness", f"{space.hubness:.2f}", "0 is none; above 1, a few words are near to many: CSLS helps"),
        (
            "largest hub",
            f"{space.largest_hub:,}",
            f"words have it among their {space.neighbours} nearest, of {space.sample:,} sampled",
        ),
    ]


def _show_model(path: Path, as_json: bool) -> None:
    from fipp.io import read_model
    from fipp.migrate import MIGRATION, Migration

    header = read_model(path)[1]
    if MIGRATION in header:
        migration = Migration.load(path)
        told = {"file": str(path), "format": f"a migration of fipp {header['version']}", **migration.as_dict()}
        rows = {"file": told["file"], "format": told["format"], **_migrate.migration_rows(migration)}
        _console.show_json(told) if as_json else _console.show(_console.summary(rows))
        return
    if "hub" in header:
        hub = fipp.Hub.load(path)
        told = {"file": str(path), "format": f"a hub of fipp {header['version']}", **_hub.describe(hub)}
        rows = {"file": told["file"], "format": told["format"], **_hub.hub_rows(hub)}
        _console.show_json(told) if as_json else _console.show(_console.summary(rows))
        return
    alignment = fipp.Alignment.load(path)
    try:
        told = {
            "file": str(path),
            "format": f"a model of fipp {header['version']}",
            "method": type(alignment.aligner).__name__,
            **{side: {key: header[side][key] for key in ("words", "dimensions")} for side in ("source", "target")},
            **_align.describe_model(alignment),
            "scores": alignment.scores,
        }
        rows = _rows_of_model(alignment, told)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FippError(f"{path} is damaged: its header cannot be read ({error!r})") from None
    if as_json:
        _console.show_json(told)
        return
    if "trials" in told:
        _align.show_trials(**_align.choice(alignment.aligner))
    _console.show(_console.summary(rows))


def _rows_of_model(alignment: fipp.Alignment, told: Mapping[str, Any]) -> dict[str, str]:
    rows = {"file": told["file"], "format": told["format"], "method": " ".join(str(alignment.aligner).split())}
    for side in ("source", "target"):
        rows[side] = f"{told[side]['words']:,} words x {told[side]['dimensions']}"
    rows |= _align.model_rows(alignment)
    if alignment.seed:
        rows["pairs"] += f"; {alignment.seed['found']:,} of {alignment.seed['total']:,} of the dictionary were found"
    for name, scores in alignment.scores.items():
        if name == "tuning":  # of `fipp tune`
            rows["tuning"] = f"MRR {scores['best_score']:.4f} on {scores['holdout']:,} held-out source words"
            continue
        text = f"MAP {scores['map']:.4f}, P@1 {scores['p@1']:.4f} on {scores['n_queries']:,} words"
        if scores.get("seen_pairs"):
            text += f", {scores['seen_pairs']:,} of them with the same translation in the seed"
        rows[f"scores ({name})"] = text
    return rows


def convert(
    vectors: Annotated[Path, Argument(metavar="IN", help=f"Vectors, {_arguments.ANY_FORMAT}")],
    output: _Output,
    limit: _arguments.Limit = None,
    words: Annotated[
        Path | None, Option(metavar="FILE", help="Keep only the words listed in this file, one per line; case matters.")
    ] = None,
    dtype: Annotated[
        str, Option(metavar="float32|float16|float64", help="Type of the numbers; float16 keeps three digits.")
    ] = "float32",
    strict: _arguments.Strict = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Convert the vectors of IN to another file format.

    Rows keep their order, and numbers are unchanged unless --dtype rounds them. IN is never overwritten.
    """
    report = _console.Reporter(quiet)
    if dtype not in _TYPES:
        raise FippError(f"--dtype is {' or '.join(_TYPES)}, not {dtype!r}")
    _check_output(output, vectors, words)
    wanted = None if words is None else _arguments.load_words(words)
    # On disk, not in memory, until it is written.
    options: dict[str, Any] = {"limit": limit, "strict": strict, "scratch": output.parent}
    loaded = _arguments.load_vectors(vectors, report, words=wanted, **options).astype(dtype)
    if wanted is not None and len(loaded) < len(wanted):
        _console.warn(f"{len(wanted) - len(loaded):,} of the {len(wanted):,} words to keep are not there")
    with report.progress(f"writing {output.name}") as progress:
        _arguments.save(loaded, output, progress=progress)
    _console.show(f"{output}: {len(loaded):,} words x {loaded.dim}")


def transform(
    model: _arguments.Model,
    vectors: Annotated[Path, Argument(metavar="IN", help=f"Source vectors, {_arguments.ANY_FORMAT}")],
    output: _Output,
    target: Annotated[
        bool, Option("--target", help="IN has target vectors; map them into the shared space as well.")
    ] = False,
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Map the vectors of IN into the shared space of a model.

    They need not be the vectors that the model was learned from, but they must come from the same embedding. IN is
    never overwritten. From one table (Parquet, Arrow, Feather) to another, all columns and rows are kept;
    [bold]fipp migrate convert[/bold] does the same for collections of any size, and can be resumed.
    """
    report = _console.Reporter(quiet)
    _check_output(output, model, vectors)
    alignment = fipp.Alignment.load(model)
    if not target and alignment.aligner.target_map_ is not None:
        report.note(f"{model.name}: the target is mapped too; compare with target vectors transformed by --target")
    if _is_table(vectors) and _is_table(output) and _transform_table(alignment, model, vectors, output, target, limit):
        return
    loaded = _arguments.load_vectors(vectors, report, limit=limit, strict=strict, scratch=output.parent)
    _check_dimension(alignment, loaded.dim, target, model, vectors)
    aligner = alignment.aligner
    mapped = aligner.transform_target if target else aligner.transform
    with report.progress(f"writing {output.name}") as progress:
        _arguments.save(loaded, output, transform=mapped, progress=progress)
    _console.show(f"{output}: {len(loaded):,} words x {aligner.map_.shape[1]}")


def _is_table(path: Path) -> bool:
    from fipp.stores import TABLE_SUFFIXES

    return path.suffix.lower() in TABLE_SUFFIXES


def _transform_table(
    alignment: fipp.Alignment, model: Path, vectors: Path, output: Path, target: bool, limit: int | None
) -> bool:
    """Transform a table with all its columns; return whether it has a column of vectors."""
    from fipp.migrate import convert_table

    aligner = alignment.aligner

    def mapped(X: NDArray[Any]) -> NDArray[Any]:
        _check_dimension(alignment, X.shape[1], target, model, vectors)
        return aligner.transform_target(X) if target else aligner.transform(X)

    rows = convert_table(mapped, vectors, output, limit=limit)
    if rows is None:
        return False
    _console.written.append(output)
    _console.show(f"{output}: {rows:,} rows x {aligner.map_.shape[1]}")
    return True


def _check_output(output: Path, *inputs: Path | None) -> None:
    from fipp.io import format_to_write

    format_to_write(output)
    _arguments.check_output(output, *inputs)


def _check_dimension(alignment: fipp.Alignment, found: int, target: bool, model: Path, path: Path) -> None:
    """Name the files, which the library does not know."""
    aligner = alignment.aligner
    dimensions = {False: aligner.n_features_in_, True: aligner.n_features_out_}
    if found != dimensions[target]:
        side = "target" if target else "source"
        hint = "" if target or found != dimensions[True] else "; are they target vectors (--target)?"
        raise FippError(
            f"{model} maps {side} vectors of {dimensions[target]} dimensions, but those of {path} have {found}{hint}"
        )


def download(
    names: Annotated[
        list[str] | None, Argument(metavar="NAME", help="Data sets, such as fasttext:hr, muse:en-hr or xling.")
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="DIR", help="Where to put the files.", show_default="user cache")
    ] = None,
    list_all: Annotated[
        bool, Option("--list", help="List all data sets with their licences, or the files of those named.")
    ] = False,
    timeout: Annotated[float, Option(metavar="SECONDS", help="Reconnect if no data arrives for this long.")] = 30.0,
    max_size: Annotated[
        str | None,
        Option(metavar="SIZE", help="Refuse larger files.", show_default="twice the known size, or 64GiB"),
    ] = None,
    force: Annotated[bool, Option("--force", help="Download files again even if they are already there.")] = False,
    no_verify: Annotated[bool, Option("--no-verify", help="Do not verify checksums.")] = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Download public vectors and dictionaries, and print the paths of the files.

    If a download is interrupted, run the same command again to resume it. Files that are already there are not
    downloaded again, but compared with their checksums: with published ones, or with those of the first download, which
    are kept beside the files.

    The environment variable FIPP_MIRROR names a mirror that has each file at MIRROR/HOST/PATH.
    """
    from fipp.datasets import download, find_data_set

    if list_all:
        _list(names or [], as_json)
        return
    if not names:
        raise FippError("name a data set, such as fasttext:hr; `fipp download --list` lists all")
    report = _console.Reporter(quiet or as_json)
    data_sets = [find_data_set(name) for name in names]  # refuse a wrong name before anything is downloaded
    results: list[dict[str, Any]] = []
    for data_set in data_sets:
        report.note(f"{data_set.name}: {data_set.title}; licence: {data_set.licence}, see {data_set.homepage}")
        with report.progress(f"downloading {data_set.name}") as progress:
            paths = download(
                data_set.name,
                output,
                progress,
                timeout=timeout,
                max_size=max_size,
                verify=not no_verify,
                force=force,
            )
        _console.written.extend(paths)
        files = [{"path": str(path), "bytes": path.stat().st_size} for path in paths]
        results.append({"name": data_set.name, "licence": data_set.licence, "files": files})
        if not as_json:
            _console.show(*map(str, paths))
    if as_json:
        _console.show_json({"data_sets": results})


def _list(names: list[str], as_json: bool) -> None:
    from fipp.datasets import FAMILIES, find_data_set

    if names:
        _list_files([find_data_set(name) for name in names], as_json)
        return
    families = list(FAMILIES.values())
    if as_json:
        told = ("name", "parameter", "example", "choices", "title", "licence", "homepage")
        _console.show_json({"data_sets": [{key: getattr(family, key) or None for key in told} for family in families]})
        return
    table = _console.table("name", "what it is", "licence", "from")
    for family in families:
        name = f"{family.name}:{family.parameter}" if family.parameter else family.name
        table.add_row(name, family.title, family.licence, family.homepage)
    _console.show(table)


def _list_files(data_sets: list[Any], as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        _console.show_json({"data_sets": [asdict(data_set) for data_set in data_sets]})
        return
    table = _console.table("file", "address", "checksum")
    for data_set in data_sets:
        for file in data_set.files:
            table.add_row(file.path, file.url, file.checksum or "none published")
    _console.show(table)
