"""`fipp align`: learn a map and write it to a file; and what is known of a fitted model, such as why it was chosen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner
    from fipp.io import Lookup

# Settings that decide the result, shown beside the method's name.
_DECISIVE = ("epsilon", "lam", "solver", "preprocess")
# More trials would push the summary out of sight; --json and the model have all of them.
_SHOWN = 8
# So many suspicious pairs are named in the report.
_NAMED = 3
# These are always shown, so that the others can be compared with them.
_YARDSTICKS = ("fipp", "procrustes")

Trial = dict[str, Any]


def align(
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[Path, Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    dictionary: Annotated[
        Path | None,
        Option(
            "--dict",
            metavar="SEED",
            help="Seed dictionary: one pair per line, source word, tab, target word. Without it, auto and unsupervised "
            "methods start from words spelled alike or from the vectors alone.",
        ),
    ] = None,
    method: Annotated[
        str,
        Option(
            metavar="NAME",
            help="The alignment method. auto tries several on held-out pairs and takes the best for these vectors; "
            "fipp is quick; [bold]fipp methods[/bold] lists all.",
            autocompletion=_arguments.complete_method,
        ),
    ] = "auto",
    settings: _arguments.Settings = None,
    random_state: Annotated[
        int | None, Option(metavar="N", min=0, help="Random seed, for methods with the setting random_state.")
    ] = None,
    suspects: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Where to write the pairs of SEED that look wrong, worst first, with their cosines."
        ),
    ] = None,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    dask: _arguments.Dask = None,
    reverse_dict: _arguments.ReverseDict = False,
    force: _arguments.Force = False,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Learn the map from SRC to TGT from known pairs and write it to MODEL.

    Words are looked up as they are spelled, and then regardless of case. Pairs with a word that has no vector are
    counted and left out. Without --dict, the pairs are guessed from words spelled alike; if that fails, no model is
    written.
    """
    report = _console.Reporter(quiet or as_json)
    aligner = _arguments.make_aligner(method, _arguments.parse_settings(settings, random_state), max_memory)
    if dictionary is None and not _learns_without_pairs(aligner):
        raise FippError(f"{method} learns from known pairs: give a seed dictionary with --dict SEED")
    if dictionary is None and suspects is not None:
        raise FippError("--suspects names pairs of a seed dictionary: give one with --dict SEED")
    _arguments.check_model(output, force, source, target, dictionary)
    _arguments.check_output(suspects, source, target, dictionary, output)
    if suspects is not None and suspects.resolve() == output.resolve():
        raise FippError("the model and the suspicious pairs need two files")
    lexicon = None
    if dictionary is not None:
        lexicon = _arguments.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    vectors = _arguments.load_both(source, target, report, limit=limit, strict=strict)
    if dictionary is None or lexicon is None:
        report.note(f"{method}: without known pairs, this takes up to a few minutes and may fail")
    else:
        report.note(f"{dictionary.name}: {coverage(_arguments.look_up(lexicon, *vectors, force))}")
        if method == "auto":
            report.note(
                "auto: trying several methods takes about half a minute, longer for large vocabularies; "
                "--method fipp is quicker"
            )

    started = time.perf_counter()
    with _arguments.cluster(dask), report.progress("aligning") as progress:
        alignment = fipp.align(*vectors, lexicon, aligner, progress=progress)
    seconds = time.perf_counter() - started
    _arguments.save(alignment, output)
    judged = None if lexicon is None else _judge(vectors, lexicon, suspects)
    if as_json:
        _console.show_json(_as_dict(alignment, method, seconds, output, judged))
    else:
        _show(alignment, method, seconds, output)
    if judged is not None and judged.noisy:
        worst = ", ".join(f"{source} {target}" for source, target in judged.lexicon.head(_NAMED))
        kept = f"{suspects} names all of them" if suspects else "--suspects FILE names all of them"
        _console.warn(f"the dictionary looks noisy: {judged.summary()}, such as {worst}; {kept}")


def _judge(
    vectors: tuple[fipp.Vectors, fipp.Vectors], lexicon: fipp.Lexicon, path: Path | None
) -> fipp.evaluate.Suspects | None:
    """Find the pairs that look wrong and write them to a file if one is named; few pairs are not judged unasked."""
    sources = {source for source, _ in lexicon.filter(*vectors)}
    if path is None and len(sources) < fipp.aligners.FEWEST_TO_JUDGE:
        return None
    found = fipp.evaluate.suspects(*vectors, lexicon)
    if path is not None:
        _arguments.save(found, path)
    return found


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


def _as_dict(
    alignment: fipp.Alignment, method: str, seconds: float, output: Path, judged: fipp.evaluate.Suspects | None
) -> dict[str, Any]:
    assert alignment.source is not None and alignment.target is not None
    return {
        "method": method,
        "source": {"words": len(alignment.source), "dimensions": alignment.source.dim},
        "target": {"words": len(alignment.target), "dimensions": alignment.target.dim},
        **describe_model(alignment),
        "kept_fraction": getattr(alignment.aligner, "kept_fraction_", None),
        "wrong_share": None if judged is None else judged.wrong_share,
        "suspects": None if judged is None else len(judged.lexicon),
        "seconds": seconds,
        "model": str(output),
    }


def _show(alignment: fipp.Alignment, method: str, seconds: float, output: Path) -> None:
    aligner = alignment.aligner
    chosen = choice(aligner)
    if chosen:
        show_trials(**chosen)
    settings = _arguments.plain_settings(aligner)
    decisive = [f"{name} {settings[name]}" for name in _DECISIVE if name in settings]
    described = f"{method}: {', '.join(decisive)}".replace("None", "none") if decisive else method
    rows = {"method": described, **model_rows(alignment)}
    if hasattr(aligner, "kept_fraction_"):
        rows["filter"] = f"kept {100 * aligner.kept_fraction_:.1f} % of the inner products"
    rows |= {"time": f"{seconds:.1f} s", "model": f"{output} ({output.stat().st_size / 1000:,.0f} kB)"}
    _console.show(_console.summary(rows))


def describe_model(alignment: fipp.Alignment) -> dict[str, Any]:
    """Return settings, pairs, what was chosen and where it began, as JSON can hold them."""
    aligner = alignment.aligner
    return {
        "settings": _arguments.plain_settings(aligner),
        "seed": alignment.seed,
        "pairs": len(aligner.pairs_),
        "induced_pairs": len(aligner.induced_pairs_),
        **choice(aligner),
        **_start(aligner),
    }


def model_rows(alignment: fipp.Alignment) -> dict[str, str]:
    """Return the same for people, as rows of a summary."""
    aligner = alignment.aligner
    told = {"pairs": f"{len(aligner.pairs_):,}"}
    if len(aligner.induced_pairs_):
        told["pairs"] += f", and {len(aligner.induced_pairs_):,} found by the method itself"
    return told | choice_rows(aligner) | _start_rows(aligner)


def choice(aligner: BaseAligner) -> dict[str, Any]:
    """Return ``trials``, ``chosen`` and ``skipped`` of a method that chooses among others, nothing for others."""
    if not hasattr(aligner, "trials_"):
        return {}
    return {"trials": aligner.trials_, "chosen": aligner.chosen_, "skipped": aligner.skipped_}


def choice_rows(aligner: BaseAligner) -> dict[str, str]:
    """Return what was chosen and why, as rows of a summary."""
    chosen = choice(aligner)
    return {"chosen": chosen["chosen"], "why": fipp.aligners.why_chosen(**chosen)} if chosen else {}


def show_trials(trials: list[Trial], chosen: str, skipped: Sequence[Mapping[str, Any]] = ()) -> None:
    """Show the best of what was tried, what was chosen, and the yardsticks; best first."""
    if not trials:
        return
    ranked = sorted(trials, key=lambda trial: (-trial.get("words", 0), -trial["mrr"]))
    shown = [trial for i, trial in enumerate(ranked) if i < _SHOWN or trial["name"] in (chosen, *_YARDSTICKS)]
    left_out = len(ranked) - len(shown)
    _console.heading("Mean reciprocal rank of held-out pairs, ± its standard error; * marks the choice")
    table = _console.table("tried", "MRR", "±", "words")
    for column in table.columns[1:]:
        column.no_wrap = True
    for trial in shown:
        taken = trial["name"] == chosen
        score, error = f"{trial['mrr']:.4f}{'*' if taken else ''}", f"{trial['standard_error']:.4f}"
        words = f"{trial['words']:,}" if "words" in trial else ""
        table.add_row(trial["name"], score, error, words, style="bold" if taken else None)
    if left_out:
        table.add_row(f"… and {left_out} more", "", "", "", style="dim")
    _console.show(table)


def _start(aligner: BaseAligner) -> dict[str, Any]:
    """Return where a method without known pairs began and how well the result holds together; nothing for others."""
    began = _began(aligner)
    if began is None:
        return {}
    return {
        "start": began.start_,
        "guesses": began.n_guesses_,
        "starts": began.starts_,
        "skipped": began.skipped_,
        "consistency": began.consistency_,
        "chance_consistency": began.chance_consistency_,
    }


def _start_rows(aligner: BaseAligner) -> dict[str, str]:
    began = _began(aligner)
    if began is None:
        return {}
    tried = [f"{each['consistency']:.2f} from {each['start']}" for each in began.starts_]
    told = {
        "start": began.describe(),
        "consistency": f"{', '.join(tried)}, {began.chance_consistency_:.2f} from random pairs",
    }
    skipped = [each["start"] for each in began.skipped_]
    return {**told, "not tried": f"{', '.join(skipped)}, because of the deadline"} if skipped else told


def _began(aligner: Any) -> Any:
    """Return the aligner that began without known pairs: this one or one that it delegates to; None without any."""
    while aligner is not None and not hasattr(aligner, "starts_"):
        aligner = getattr(aligner, "aligner_", None)
    return aligner
