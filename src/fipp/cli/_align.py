"""`fipp align`: learn a map from known pairs and write it to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _files, _options, _tables

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
    dictionary: Annotated[
        Path, typer.Option("--dict", metavar="SEED", help="Known pairs, one a line: source word, tab, target word.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    method: Annotated[str, typer.Option(metavar="fipp|procrustes", help="How to align.")] = "fipp",
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E", help="ε: inner products that differ by less are used; 0.05 by default, none for no filter."
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option("--lambda", metavar="L", help="λ: weight of the target's inner products; 1 by default."),
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
            "(default of procrustes), centre, none, or several joined by +.",
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
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    reverse_dict: Annotated[
        bool,
        typer.Option(
            "--reverse-dict", metavar=_options.FLAG, help="The dictionary is target word first, source word second."
        ),
    ] = False,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Learn the map from SRC to TGT from known pairs, and write it to MODEL.

    Words are looked up in any case. Pairs that are not in both vocabularies are left out and counted.
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
    aligner = _make_aligner(method, settings, preprocess, components)
    _files.check_output(output, source, target, dictionary)
    lexicon = _files.load_lexicon(dictionary, strict=strict)
    lexicon = lexicon.reverse() if reverse_dict else lexicon
    source_vectors = _files.load_vectors(source, report, limit=limit, strict=strict)
    target_vectors = _files.load_vectors(target, report, limit=limit, strict=strict)
    report.note(f"{dictionary.name}: {_coverage(lexicon.lookup(source_vectors, target_vectors).require())}")

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


def _make_aligner(method: str, settings: dict[str, Any], preprocess: str | None, components: int | None) -> BaseAligner:
    """Make an aligner of what the user gave and nothing else, and refuse now what `fit` would refuse later."""
    from fipp.aligners import METHODS
    from fipp.exceptions import FippError
    from fipp.linalg._memory import parse_memory
    from fipp.preprocess import make_preprocess, with_components

    if method not in METHODS:
        raise FippError(f"there is no method {method!r}; known are {', '.join(METHODS)}")
    aligner = METHODS[method]()
    known = aligner.get_params(deep=False)
    given = {name: value for name, value in settings.items() if value is not None}
    for name in given:
        if name not in known:
            raise FippError(f"{method} has no --{_OPTIONS[name]}")
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
        "kept_fraction": getattr(alignment.aligner, "kept_fraction_", None),
        "seconds": seconds,
        "model": str(output),
    }


def _settings(aligner: BaseAligner) -> dict[str, Any]:
    """Give the settings as JSON can hold them; a transformer is named as Python would write it."""
    plain = (str, int, float, bool, type(None))
    settings = aligner.get_params(deep=False)
    return {
        name: value if isinstance(value, plain) else " ".join(str(value).split()) for name, value in settings.items()
    }


def _describe(method: str, aligner: BaseAligner) -> str:
    """Name the method and those of its settings that decide what comes out."""
    settings = _settings(aligner)
    named = [f"{_OPTIONS[name]} {settings[name]}" for name in _DECISIVE if name in settings]
    return f"{method}: {', '.join(named)}".replace("None", "none")


def _show(alignment: Alignment, method: str, seconds: float, output: Path) -> None:
    aligner = alignment.aligner
    rows = {"method": _describe(method, aligner), "pairs": f"{len(aligner.pairs_):,}"}
    learned = len(getattr(aligner, "self_learned_pairs_", ()))
    if learned:
        rows["pairs"] += f", {learned:,} of them found by self-learning"
    if hasattr(aligner, "kept_fraction_"):
        rows["filter"] = f"kept {100 * aligner.kept_fraction_:.1f} % of the inner products"
    rows |= {"time": f"{seconds:.1f} s", "model": f"{output} ({output.stat().st_size / 1000:,.0f} kB)"}
    _console.show(_tables.summary(rows))
