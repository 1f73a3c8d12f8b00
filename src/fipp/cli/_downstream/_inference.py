"""`fipp downstream inference`: does a sentence follow from another, learned in one language and told in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _options
from fipp.cli._downstream import _common

if TYPE_CHECKING:
    from fipp.evaluate.inference import InferenceResult

EXAMPLE = (
    "Example: [bold]fipp downstream inference en.vec fr.vec --dict seed.tsv --train multinli_1.0_train.jsonl "
    "--test xnli.test.tsv --language fr[/bold]"
)


def command(
    source: _options.Source,
    target: _options.Target,
    dictionary: _common.Dictionary,
    train: Annotated[Path, typer.Option(metavar="FILE", help="English pairs: .jsonl or .txt of MultiNLI.")],
    test: Annotated[Path, typer.Option(metavar="FILE", help="Pairs of the other language: .tsv or .jsonl of XNLI.")],
    language: Annotated[str, typer.Option(metavar="fr", help="Which language of that file.")],
    methods: _common.Methods = None,
    classifier: Annotated[
        str, typer.Option(metavar="esim|logistic", help="The paper's network (fipp[torch]), or a quick baseline.")
    ] = "esim",
    sample: _common.Sample = None,
    hidden: Annotated[int, typer.Option(metavar="N", min=1, help="Units of each layer of the network.")] = 300,
    epochs: _common.Epochs = 20,
    checkpoints: _common.Checkpoints = None,
    device: _common.Device = "auto",
    random_state: _common.Seed = 0,
    limit: _options.Limit = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Train ESIM on English pairs of sentences (MultiNLI), and test it on pairs of another language (XNLI).

    The accuracy of each method stands beside what the paper printed, for fastText vectors of Wikipedia: on others,
    compare differences, not levels.
    """
    from fipp.evaluate._methods import each_method
    from fipp.evaluate.inference import load_multinli, load_xnli, transfer
    from fipp.evaluate.inference._transfer import make_classifier

    report = _console.Reporter(quiet or as_json)
    chosen = _common.split(methods)
    network = {"epochs": epochs, "device": device, "hidden": hidden} if classifier == "esim" else {}
    make_classifier(classifier, {**network, "random_state": random_state})
    other = load_xnli(test, language)
    english = load_multinli(train)
    report.note(
        f"en-{language}: {len(english):,} pairs to train on ({english.left_out:,} without agreement left out), "
        f"{len(other):,} to test on"
    )
    english = english.sample(sample, random_state)
    vectors = _common.load(source, target, dictionary, report, limit)
    pair = f"en-{language}"

    def measure(method: str, space: Any) -> InferenceResult:
        options: dict[str, Any] = {**network, "random_state": random_state}
        if classifier == "esim":
            options["checkpoint"] = _common.checkpoint_of(checkpoints, "inference", pair, method)
        with report.progress(f"{method}: training") as progress:
            return transfer(space, english, other, classifier, progress=progress, **options)

    outcomes = list(each_method(*vectors, chosen, measure))
    _common.check_outcomes(outcomes)
    if as_json:
        _console.show_json(_common.as_dict("inference", pair, outcomes))
    else:
        _console.heading(f"XNLI, {pair}, {classifier}: accuracy")
        _common.show_scores("inference", pair, "accuracy", outcomes, lambda result: result.accuracy)
