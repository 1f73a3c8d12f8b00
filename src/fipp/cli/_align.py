"""`fipp align`: learn a map from known pairs and write it to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fipp
from fipp.cli import _arguments, _console, _model
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner
    from fipp.io import Lookup

# Settings that decide the result, shown beside the method's name.
_DECISIVE = ("epsilon", "lam", "solver", "preprocess")


def align(
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dict",
            metavar="SEED",
            help="Seed dictionary: one pair per line, source word, tab, target word. Without it, auto and unsupervised "
            "methods start from words spelled alike or from the vectors alone.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The alignment method. auto tries several on held-out pairs and takes the best for these vectors; "
            "fipp is quick; [bold]fipp methods[/bold] lists all.",
        ),
    ] = "auto",
    settings: _arguments.Settings = None,
    random_state: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Random seed, for methods with the setting random_state.")
    ] = None,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    reverse_dict: _arguments.ReverseDict = False,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Learn the map from SRC to TGT from known pairs and write it to MODEL.

    Words are found whatever their case. Pairs with a word that has no vector are counted and left out. Without --dict,
    the pairs are guessed from words spelled alike; if that fails, no model is written.
    """
    report = _console.Reporter(quiet or as_json)
    aligner = _arguments.make_aligner(method, _arguments.parse_settings(settings, random_state), max_memory)
    if dictionary is None and not _learns_without_pairs(aligner):
        raise FippError(f"{method} learns from known pairs: give a seed dictionary with --dict SEED")
    _arguments.check_output(output, source, target, dictionary)
    lexicon = None
    if dictionary is not None:
        lexicon = _arguments.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    vectors = _arguments.load_both(source, target, report, limit=limit, strict=strict)
    if dictionary is None or lexicon is None:
        report.note(f"{method}: without known pairs, this takes up to a few minutes and may fail")
    else:
        report.note(f"{dictionary.name}: {coverage(lexicon.lookup(*vectors).require())}")
        if method == "auto":
            report.note(
                "auto: trying several methods takes a minute or two, longer for large vocabularies; "
                "--method fipp is quicker"
            )

    started = time.perf_counter()
    with report.progress("aligning") as progress:
        alignment = fipp.align(*vectors, lexicon, aligner, progress=progress)
    seconds = time.perf_counter() - started
    _arguments.save(alignment, output)
    if as_json:
        _console.show_json(_as_dict(alignment, method, seconds, output))
    else:
        _show(alignment, method, seconds, output)


def _learns_without_pairs(aligner: BaseAligner) -> bool:
    return aligner.learns_from != "pairs" or aligner.takes_guesses


def coverage(lookup: Lookup) -> str:
    """Return how many pairs of a dictionary were found, with an example of a word that was not."""
    text = f"{lookup.found:,} of {lookup.total:,} pairs found ({100 * lookup.coverage:.1f} %)"
    for side, missing, examples in [
        ("source", lookup.missing_source, lookup.missing_source_examples),
        ("target", lookup.missing_target, lookup.missing_target_examples),
    ]:
        if missing:
            text += f"; {missing:,} not in the {side}, such as {examples[0]!r}"
    return text


def _as_dict(alignment: fipp.Alignment, method: str, seconds: float, output: Path) -> dict[str, Any]:
    assert alignment.source is not None and alignment.target is not None
    return {
        "method": method,
        "source": {"words": len(alignment.source), "dimensions": alignment.source.dim},
        "target": {"words": len(alignment.target), "dimensions": alignment.target.dim},
        **_model.as_dict(alignment),
        "kept_fraction": getattr(alignment.aligner, "kept_fraction_", None),
        "seconds": seconds,
        "model": str(output),
    }


def _show(alignment: fipp.Alignment, method: str, seconds: float, output: Path) -> None:
    aligner = alignment.aligner
    chosen = _model.choice(aligner)
    if chosen:
        _model.show_trials(**chosen)
    settings = _arguments.plain_settings(aligner)
    decisive = [f"{name} {settings[name]}" for name in _DECISIVE if name in settings]
    described = f"{method}: {', '.join(decisive)}".replace("None", "none") if decisive else method
    rows = {"method": described, **_model.rows(alignment)}
    if hasattr(aligner, "kept_fraction_"):
        rows["filter"] = f"kept {100 * aligner.kept_fraction_:.1f} % of the inner products"
    rows |= {"time": f"{seconds:.1f} s", "model": f"{output} ({output.stat().st_size / 1000:,.0f} kB)"}
    _console.show(_console.summary(rows))
