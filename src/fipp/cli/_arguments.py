"""Arguments and options that several commands share, and how what they name is read, checked and written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import fipp
from fipp.cli import _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner
    from fipp.cli._console import Reporter
    from fipp.io import LoadReport, Lookup
    from fipp.migrate import Migration

    Savable = fipp.Alignment | fipp.Vectors | fipp.Lexicon | fipp.evaluate.Suspects | Migration

ANY_FORMAT = "in any format that [bold]fipp info[/bold] can read."

Model = Annotated[Path, Argument(metavar="MODEL", help="A model that [bold]fipp align[/bold] wrote.")]
Source = Annotated[Path, Argument(metavar="SRC", help=f"Source vectors, {ANY_FORMAT}")]
Target = Annotated[
    Path, Argument(metavar="TGT", help="Target vectors; they may have a different number of dimensions.")
]
Seed = Annotated[
    Path, Option("--dict", metavar="SEED", help="Seed dictionary, one pair per line: source word, target word.")
]


def complete_method(incomplete: str) -> list[str]:
    """Return the methods whose names begin like this, for the shell."""
    return [name for name in fipp.aligners.METHODS if name.startswith(incomplete)]


def complete_retrieval(incomplete: str) -> list[str]:
    """Return the ways to rank target words whose names begin like this, for the shell."""
    return [name for name in ("nn", "csls", "isf", "dualis", "dot") if name.startswith(incomplete)]


Method = Annotated[
    str,
    Option(
        metavar="NAME",
        help="The alignment method; [bold]fipp methods[/bold] lists them.",
        autocompletion=complete_method,
    ),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the method; repeatable. [bold]fipp methods NAME[/bold] lists them.",
    ),
]
Limit = Annotated[int | None, Option(metavar="N", min=1, help="Read only the first N words of each vector file.")]
MaxMemory = Annotated[
    str | None, Option(metavar="SIZE", help="Limit of working memory, besides the vectors, such as 2GB.")
]
Retrieval = Annotated[
    str,
    Option(
        metavar="nn|csls|isf|dualis|dot",
        help="How target words are ranked: by cosine (nn), by CSLS, which corrects for hubs, by inverted softmax over "
        "the source (isf) or over both sides (dualis), or by inner product (dot).",
        autocompletion=complete_retrieval,
    ),
]
Beta = Annotated[
    float, Option(metavar="B", help="β of isf and dualis; larger values give the nearest words more weight.")
]
BETA = 30.0
RandomState = Annotated[int, Option(metavar="N", min=0, help="Random seed.")]
Format = Annotated[str, Option(metavar="markdown|csv|latex", help="Format of the tables.")]
TablesOutput = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write the tables to a file.")]
Results = Annotated[
    Path | None, Option(metavar="FILE.jsonl", help="Save finished results here, and do not compute them again.")
]
ReverseDict = Annotated[bool, Option("--reverse-dict", help="The dictionary lists the target word first on each line.")]
Force = Annotated[
    bool,
    Option(
        "--force",
        help="Overwrite an existing model, and go on if the dictionary or the vectors seem to be in the wrong order.",
    ),
]
Strict = Annotated[bool, Option("--strict", help="Refuse files with rows that cannot be used.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object, and no notes.")]
Narrow = Annotated[
    bool, Option("--narrow", help="Make it as wide as one column of a two-column page, not the whole page.")
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print no notes and no progress.")]

Dask = Annotated[
    str | None,
    Option(
        "--dask",
        metavar="ADDRESS",
        help="Work on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786. Needs fipp\\[dask].",
    ),
]

Names = Annotated[
    str | None,
    Option(
        metavar="SRC,TGT",
        help="What to call both sides, such as English,French; otherwise by the names of their files.",
    ),
]

FORMATS = ("markdown", "csv", "latex")
_ENDINGS = (".vec", ".gz", ".bz2", ".xz", ".zst", ".bin", ".npy", ".npz", ".txt", ".safetensors", ".parquet", ".arrow")


def cluster(address: str | None) -> AbstractContextManager[None]:
    """Return what work is done in: a cluster if --dask names one."""
    if address is None:
        return nullcontext()
    from fipp.cluster import on_dask

    return on_dask(address)


def name_of(path: Path) -> str:
    """Return the name of a file without its endings: ``wiki.en.vec.gz`` is ``wiki.en``."""
    name = path.name
    while Path(name).suffix in _ENDINGS:
        name = Path(name).stem
    return name


def names_of(names: str | None, source: Path, target: Path) -> tuple[str, str]:
    """Return what both sides are called, as given or as their files are called."""
    if names is None:
        return name_of(source), name_of(target)
    given = [name.strip() for name in names.split(",")]
    if len(given) != 2 or not all(given):
        raise FippError(f"--names {names}: give two names, such as English,French")
    return given[0], given[1]


def with_checksum(path: Path) -> str:
    """Return the name of a file, without its folder, and its checksum; that of all files in a row of a folder."""
    is_folder = path.is_dir()
    parts = sorted(part for part in path.rglob("*") if part.is_file()) if is_folder else [path]
    digest = sha256()
    for part in parts:
        with part.open("rb") as file:
            file_digest(file, lambda: digest)
    return f"{path.name}, {f'{len(parts):,} files in a row, ' * is_folder}SHA-256 {digest.hexdigest()}"


def split_names(names: str | None) -> list[str] | None:
    """Return names that were separated by commas, in lower case."""
    return None if names is None else [name.strip().lower() for name in names.split(",") if name.strip()]


def parse_value(text: str) -> Any:
    """Return the value of a setting as the library expects it: None, a truth value, a number or a word."""
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def parse_assignments(given: Iterable[str] | None, option: str, example: str) -> dict[str, str]:
    """Return the text after the equals sign by the name before it, in which a hyphen may stand for an underscore."""
    parsed = {}
    for text in given or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise FippError(f"{option} takes a setting and its value, such as {example}, not {text!r}")
        parsed[name.replace("-", "_")] = value
    return parsed


def parse_settings(settings: list[str] | None, random_state: int | None = None) -> dict[str, Any]:
    """Return the values of ``--set``, and of ``--random-state`` if it was given."""
    assigned = parse_assignments(settings, "--set", "epsilon=0.1")
    parsed = {name: parse_value(value) for name, value in assigned.items()}
    return parsed if random_state is None else {**parsed, "random_state": random_state}


def make_aligner(method: str, settings: Mapping[str, Any], max_memory: str | None = None) -> BaseAligner:
    """Return an aligner with the settings that were given, and refuse now what ``fit`` would refuse later."""
    from fipp import _inputs
    from fipp.linalg import parse_memory
    from fipp.preprocess import make_preprocess

    aligner = _inputs.make_aligner(method, settings)
    if "max_memory" in aligner.get_params(deep=False) and max_memory is not None:
        aligner.set_params(max_memory=max_memory)
    aligner._validate_params()
    make_preprocess(aligner.preprocess)
    parse_memory(max_memory)
    return aligner


def plain_settings(aligner: BaseAligner) -> dict[str, Any]:
    """Return the settings as JSON can hold them; a transformer becomes its repr."""
    from fipp.experiments import plain_settings

    return plain_settings(aligner.get_params(deep=False))


def check_retrieval(retrieval: str, beta: float = BETA, max_memory: str | None = None) -> None:
    """Refuse now what the ranking would refuse later."""
    from fipp import retrieve
    from fipp.linalg import parse_memory

    retrieve.check_retrieval(retrieval)
    retrieve.check_beta(beta)
    parse_memory(max_memory)


def check_format(format: str) -> None:
    """Refuse an unknown format of tables."""
    if format not in FORMATS:
        raise FippError(f"there is no format {format!r}; choose from {', '.join(FORMATS)}, or use --json")


def load_vectors(path: Path, report: Reporter, **options: Any) -> fipp.Vectors:
    """Read vectors and report how many there are; ``options`` are those of `Vectors.load`."""
    with report.progress(f"reading {path.name}") as progress:
        vectors = fipp.Vectors.load(path, progress=progress, **options)
    if not _warn_of_defects(vectors.report):
        report.note(f"{path.name}: {len(vectors):,} words x {vectors.dim}")
    return vectors


def load_both(source: Path, target: Path, report: Reporter, **options: Any) -> tuple[fipp.Vectors, fipp.Vectors]:
    """Read the vectors of both sides."""
    return load_vectors(source, report, **options), load_vectors(target, report, **options)


def load_lexicon(path: Path, *, strict: bool = False, reverse: bool = False, **options: Any) -> fipp.Lexicon:
    """Read a dictionary, and warn if some of its lines could not be used; ``reverse`` swaps the words of each pair."""
    lexicon = fipp.Lexicon.load(path, strict=strict, **options)
    _warn_of_defects(lexicon.report)
    return lexicon.reverse() if reverse else lexicon


def _warn_of_defects(report: LoadReport | None) -> bool:
    remarks = report.summary() if report else None
    if remarks:
        _console.warn(remarks)
    return bool(remarks)


def load_words(path: Path) -> list[str]:
    """Read words, one per line; each once."""
    from fipp.io import read_batches

    lines = (line.decode("utf-8", "replace").strip() for batch in read_batches(path) for line in batch)
    words = list(dict.fromkeys(line for line in lines if line))
    if not words:
        raise FippError(f"{path} contains no words")
    return words


def load_alignment(model: Path, source: Path, target: Path, report: Reporter, *, limit: int | None) -> fipp.Alignment:
    """Read a model with the vectors of both sides."""
    fipp.Alignment.load(model)  # refuse a wrong file before the vectors are read, which takes longer
    return fipp.Alignment.load(model, *load_both(source, target, report, limit=limit))


def save(result: Savable, output: Path, **options: Any) -> None:
    """Write a result to a file, and remember that for the message after Ctrl-C."""
    result.save(output, **options)
    _console.written.append(output)


def write_text(text: str, output: Path | None) -> None:
    """Write text to a file, whole or not at all; without a file, to standard output."""
    from fipp.io import atomic_path

    if output is None:
        sys.stdout.write(text)
        return
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    _console.written.append(output)


def check_output(output: Path | None, *inputs: Path | None) -> None:
    """Raise a FippError now if ``output`` could not be written after the long work, or would overwrite an input."""
    from fipp.io import atomic_path

    if output is None:
        return
    replaced = [path for path in _files_of(output) if path.exists()]
    for read in (path for given in inputs if given is not None for path in _files_of(given)):
        if any(read.exists() and read.samefile(path) for path in replaced):
            raise FippError(f"{output} would overwrite the input {read}; give it another name")
    with suppress(_NotNow), atomic_path(output):
        raise _NotNow


def check_model(output: Path | None, force: bool, *inputs: Path | None) -> None:
    """Do the same for a model, which is not overwritten unless that is forced."""
    check_output(output, *inputs)
    if output is not None and output.exists() and not force:
        raise FippError(f"{output} exists already; choose another name, or overwrite it with --force")


def look_up(lexicon: fipp.Lexicon, source: fipp.Vectors, target: fipp.Vectors, force: bool) -> Lookup:
    """Look up a seed dictionary; refuse one that seems to be in the wrong order unless that is forced."""
    lookup = lexicon.lookup(source, target).require()
    hint = lookup.hint()
    if hint and not force:
        raise FippError(f"{hint}. Or are the vectors swapped? --force goes on as it is")
    return lookup


class _NotNow(Exception):  # noqa: N818
    """Leaves a block that would write a file."""


def _files_of(path: Path) -> list[Path]:
    """Return the file, and its companion if it may be a matrix (.npy) with its words beside it (.txt)."""
    beside = {".npy": ".txt", ".txt": ".npy"}.get(path.suffix.lower())
    return [path] if beside is None else [path, path.with_suffix(beside)]
