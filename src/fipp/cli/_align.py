"""`fipp align`: learn a map from known pairs and write it to a file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _auto_report, _console, _files, _options, _tables, _unsupervised_report

if TYPE_CHECKING:
    from fipp import Alignment
    from fipp.aligners import BaseAligner
    from fipp.io import Lookup

EXAMPLE = "Example: [bold]fipp align en.vec fr.vec --dict seed.tsv -o en-fr.fipp[/bold]"

# Names of the options by those of the settings in the library.
_OPTIONS = {
    "epsilon": "epsilon",
    "lam": "lambda",
    "solver": "solver",
    "self_learning": "self-learning",
    "preprocess": "preprocess",
    "max_memory": "max-memory",
}
_DECISIVE = ("epsilon", "lam", "solver", "preprocess")


def command(
    source: _options.Source,
    target: _options.Target,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dict",
            metavar="SEED",
            help="Known pairs, one a line: source word, tab, target word. auto and unsupervised methods need none.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How to align: auto tries several methods on held-out pairs and takes the best for these vectors; "
            "fipp is the quick one; [bold]fipp methods[/bold] lists all.",
        ),
    ] = "auto",
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E",
            help="ε of fipp: inner products that differ by less are used; 0.1 by default, none for no filter.",
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option("--lambda", metavar="L", help="λ of fipp: weight of the target's inner products; 1 by default."),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(metavar="linear|eigen|sgd", help="How fipp is solved; linear by default."),
    ] = None,
    self_learning: Annotated[
        int | None, typer.Option(metavar="N", help="Let fipp add N pairs that it finds itself.")
    ] = None,
    preprocess: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is done to vectors first: isotropic (default of fipp), isotropic-textbook, iterative, unit "
            "(default of procrustes), centre, none, or several joined by +. Not for auto, which tries several.",
        ),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            metavar="D",
            min=0,
            help="Components that isotropic preprocessing removes; 1 by default, 2 to 6 are often better.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting of the method; may be repeated."),
    ] = None,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    reverse_dict: _options.ReverseDict = False,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Learn the map from SRC to TGT from known pairs, or without --dict from words spelled alike; write it to MODEL.

    Words are looked up in any case. Pairs that are not in both vocabularies are left out and counted.

    Settings that belong to one method, such as --epsilon of fipp, are taken with that --method only.
    """
    import fipp

    report = _console.Reporter(quiet or as_json)
    settings = {
        "epsilon": epsilon,
        "lam": lam,
        "solver": solver,
        "self_learning": self_learning,
        "max_memory": max_memory,
    }
    aligner = _make_aligner(method, settings, preprocess, components, _options.parse_settings(set_))
    if dictionary is None and not _learns_without_pairs(aligner):
        raise fipp.FippError(f"{method} learns from known pairs: give them with --dict SEED")
    _files.check_output(output, source, target, *([dictionary] if dictionary else []))
    lexicon = None if dictionary is None else _files.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    source_vectors = _files.load_vectors(source, report, limit=limit, strict=strict)
    target_vectors = _files.load_vectors(target, report, limit=limit, strict=strict)
    if lexicon is not None and dictionary is not None:
        report.note(f"{dictionary.name}: {_coverage(lexicon.lookup(source_vectors, target_vectors).require())}")
        if method == "auto":
            report.note(
                "auto: trying several methods takes a minute or two, longer for large vocabularies; "
                "--method fipp is quicker"
            )

    if lexicon is None:
        report.note(
            f"{method}: without known pairs it takes up to a few minutes, and fails if there is nothing to find"
        )

    started = time.perf_counter()
    with report.progress("aligning") as progress:
        alignment = fipp.align(source_vectors, target_vectors, lexicon, aligner, progress=progress)
    seconds = time.perf_counter() - started
    alignment.save(output)
    _console.written.append(output)
    if as_json:
        _console.show_json(_as_dict(alignment, method, seconds, output))
    else:
        _show(alignment, method, seconds, output)


def _make_aligner(
    method: str,
    settings: Mapping[str, Any],
    preprocess: str | None,
    components: int | None,
    others: Mapping[str, Any] | None = None,
) -> BaseAligner:
    """Make an aligner of what the user gave and nothing else, and refuse now what `fit` would refuse later."""
    from fipp._inputs import make_aligner
    from fipp.exceptions import FippError
    from fipp.linalg._memory import parse_memory
    from fipp.preprocess import make_preprocess, with_components

    aligner = make_aligner(method, others or {})
    known = aligner.get_params(deep=False)
    given = {name: value for name, value in settings.items() if value is not None}
    if "max_memory" not in known:
        given.pop("max_memory", None)
    for name in given:
        if name not in known:
            raise FippError(f"{method} has no --{_OPTIONS[name]}: it belongs to --method fipp")
    if "preprocess" not in known and (preprocess is not None or components is not None):
        option = "components" if preprocess is None else "preprocess"
        raise FippError(f"{method} has no --{option}: name a method that has, such as --method fipp")
    if "epsilon" in given:
        given["epsilon"] = _parse_epsilon(given["epsilon"])
    if preprocess is not None:
        given["preprocess"] = preprocess
    if components is not None:
        given["preprocess"] = with_components(preprocess or known["preprocess"], components)
    aligner.set_params(**given)
    aligner._validate_params()
    make_preprocess(aligner.preprocess)
    parse_memory(settings["max_memory"])
    return aligner


def _learns_without_pairs(aligner: BaseAligner) -> bool:
    return aligner.learns_from != "pairs" or aligner.takes_guesses


def _parse_epsilon(text: str) -> float | None:
    from fipp.exceptions import FippError

    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise FippError(f"--epsilon takes a number, or none for no filter, not {text!r}") from None


def _coverage(lookup: Lookup) -> str:
    text = f"{lookup.found:,} of {lookup.total:,} pairs found ({100 * lookup.coverage:.1f} %)"
    for side, missing, examples in [
        ("source", lookup.missing_source, lookup.missing_source_examples),
        ("target", lookup.missing_target, lookup.missing_target_examples),
    ]:
        if missing:
            text += f"; {missing:,} not in the {side}, such as {examples[0]!r}"
    return text


def _as_dict(alignment: Alignment, method: str, seconds: float, output: Path) -> dict[str, Any]:
    assert alignment.source is not None and alignment.target is not None
    return {
        "method": method,
        "settings": _settings(alignment.aligner),
        "source": {"words": len(alignment.source), "dimensions": alignment.source.dim},
        "target": {"words": len(alignment.target), "dimensions": alignment.target.dim},
        "seed": alignment.seed,
        "pairs": len(alignment.aligner.pairs_),
        "induced_pairs": len(alignment.aligner.induced_pairs_),
        "kept_fraction": getattr(alignment.aligner, "kept_fraction_", None),
        **_auto_report.as_dict(alignment.aligner),
        **_unsupervised_report.as_dict(alignment.aligner),
        "seconds": seconds,
        "model": str(output),
    }


def _settings(aligner: BaseAligner) -> dict[str, Any]:
    """Return the settings as JSON can hold them."""
    return {name: _tables.plain(value) for name, value in aligner.get_params(deep=False).items()}


def _describe(method: str, aligner: BaseAligner) -> str:
    """Name the method and those of its settings that decide what comes out."""
    settings = _settings(aligner)
    named = [f"{_OPTIONS[name]} {settings[name]}" for name in _DECISIVE if name in settings]
    return f"{method}: {', '.join(named)}".replace("None", "none") if named else method


def _show(alignment: Alignment, method: str, seconds: float, output: Path) -> None:
    aligner = alignment.aligner
    rows = {"method": _describe(method, aligner), "pairs": f"{len(aligner.pairs_):,}"}
    if len(aligner.induced_pairs_):
        rows["pairs"] += f", and {len(aligner.induced_pairs_):,} found by the method itself"
    choice = _auto_report.as_dict(aligner)
    if choice:
        _auto_report.show_trials(**choice)
        rows |= {"chosen": choice["chosen"], "why": _auto_report.why(**choice)}
    rows |= _unsupervised_report.rows(aligner)
    if hasattr(aligner, "kept_fraction_"):
        rows["filter"] = f"kept {100 * aligner.kept_fraction_:.1f} % of the inner products"
    rows |= {"time": f"{seconds:.1f} s", "model": f"{output} ({output.stat().st_size / 1000:,.0f} kB)"}
    _console.show(_tables.summary(rows))
