"""`fipp hub`: several languages or models in one space."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

_FILE = "hub.fipp"


def hub(
    named: Annotated[
        list[str],
        Argument(metavar="NAME=VECTORS", help=f"The name and the vectors of each language, {_arguments.ANY_FORMAT}"),
    ],
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help=f"Where to write {_FILE} and the vectors in the shared space."),
    ],
    dictionaries: Annotated[
        list[str],
        Option("--dict", metavar="A-B=SEED", help="Seed dictionary of two of the names, words of A first; repeatable."),
    ],
    center: Annotated[
        str | None,
        Option("--hub", metavar="NAME", help="The hub; by default, the language that most dictionaries share."),
    ] = None,
    method: _arguments.Method = "auto",
    settings: _arguments.Settings = None,
    tests: Annotated[
        list[str] | None,
        Option("--test", metavar="A-B=TEST", help="Test dictionary of any two names; repeatable."),
    ] = None,
    suffix: Annotated[
        str, Option("--format", metavar=".npy|.vec|…|none", help="Format of the vectors; none writes only the maps.")
    ] = ".npy",
    random_state: Annotated[
        int | None, Option(metavar="N", min=0, help="Random seed, for methods with the setting random_state.")
    ] = None,
    retrieval: _arguments.Retrieval = "nn",
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    force: Annotated[bool, Option("--force", help="Overwrite existing files of FOLDER.")] = False,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Bring several languages or models into one space, from dictionaries with one of them or with each other.

    Each language is aligned with the hub, and the hub's own words join the results. A dictionary of two other languages
    is carried over to the hub by the translations found so far. Languages without a common dictionary can be compared
    too: all vectors in FOLDER are in one space.
    """
    report = _console.Reporter(quiet or as_json)
    aligner = _arguments.make_aligner(method, _arguments.parse_settings(settings, random_state), max_memory)
    _arguments.check_retrieval(retrieval, max_memory=max_memory)
    paths = _paths(named)
    seeds = _of_pairs(dictionaries, paths, "--dict")
    asked = _of_pairs(tests or [], paths, "--test")
    if not output.is_dir() and output.exists():
        raise FippError(f"{output} is a file; give a folder")
    files = {} if suffix == "none" else {name: output / f"{name}{suffix}" for name in paths}
    output.mkdir(parents=True, exist_ok=True)
    for file in (output / _FILE, *files.values()):
        _arguments.check_model(file, force, *paths.values(), *seeds.values(), *asked.values())
    lexicons = {pair: _arguments.load_lexicon(path, strict=strict) for pair, path in seeds.items()}
    test_lexicons = {pair: _arguments.load_lexicon(path) for pair, path in asked.items()}
    vectors = {name: _arguments.load_vectors(path, report, limit=limit, strict=strict) for name, path in paths.items()}
    with report.progress("aligning") as progress:
        joined = fipp.align_many(vectors, lexicons, aligner, hub=center, progress=progress)
    results = {pair: joined.evaluate(lexicon, *pair, retrieval=retrieval) for pair, lexicon in test_lexicons.items()}
    for name, file in files.items():
        _arguments.save(joined.transform(name), file)
    joined.save(output / _FILE)
    _console.written.append(output / _FILE)
    if as_json:
        scores = {"-".join(pair): result.as_dict() for pair, result in results.items()}
        _console.show_json({**describe(joined), "output": str(output), "tests": scores})
        return
    _show(joined, results, output)


def describe(joined: fipp.Hub) -> dict[str, Any]:
    """Return what is known of a hub, as JSON can hold it."""
    return {"hub": joined.hub, "dimensions": joined.dim, "pairs": joined.n_pairs, "chosen": _chosen(joined)}


def hub_rows(joined: fipp.Hub) -> dict[str, str]:
    """Return the same for people, as rows of a summary."""
    languages = {name: f"{joined.n_pairs[name]:,} pairs, {chosen}" for name, chosen in _chosen(joined).items()}
    return {"hub": joined.hub, "dimensions": str(joined.dim), **languages}


def _show(joined: fipp.Hub, results: dict[tuple[str, str], fipp.BLIResult], output: Path) -> None:
    languages = _console.table("language", "pairs", "method")
    for name, chosen in _chosen(joined).items():
        languages.add_row(name, f"{joined.n_pairs[name]:,}", chosen)
    _console.show(languages)
    if results:
        scores = _console.table("test", "MAP", "P@1", "coverage")
        for pair, result in results.items():
            found = _console.share(result.n_queries, result.total)
            scores.add_row("-".join(pair), f"{result.map:.4f}", f"{result.p_at_1:.4f}", found)
        _console.show(scores)
    _console.show(_console.summary({"hub": joined.hub, "dimensions": str(joined.dim), "folder": str(output)}))


def _chosen(joined: fipp.Hub) -> dict[str, str]:
    """Return the method of each language; that which was chosen if one was."""
    aligners: dict[str, Any] = joined.aligners
    return {name: getattr(aligner, "chosen_", type(aligner).__name__) for name, aligner in aligners.items()}


def _paths(named: list[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for text in named:
        name, _, path = text.partition("=")
        if not path or not re.fullmatch(r"\w[\w.-]*", name):
            raise FippError(f"give a name and a file of vectors, such as en=en.vec, not {text!r}")
        if name in paths or name == "hub":
            raise FippError(f"the name {name!r} is taken; give each language a name of its own")
        paths[name] = Path(path)
    return paths


def _of_pairs(given: list[str], names: dict[str, Path], option: str) -> dict[tuple[str, str], Path]:
    """Return a file for each pair of names, which may contain hyphens themselves."""
    pairs = {"-".join(pair): pair for pair in permutations(names, 2)}
    found: dict[tuple[str, str], Path] = {}
    for text in given:
        name, _, path = text.partition("=")
        if not path or name not in pairs:
            first, second = [*names, "fr", "en"][:2]
            raise FippError(
                f"{option} takes two of the names {', '.join(names)} and a file, such as {first}-{second}=FILE, "
                f"not {text!r}"
            )
        if pairs[name] in found:
            raise FippError(f"{option} {name} is given twice; join the files")
        found[pairs[name]] = Path(path)
    return found
