"""`fipp downstream inference`: does a sentence follow from another, learned in one language and told in another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fipp.cli import _console, _options
from fipp.cli._downstream import _common

EXAMPLE = (
    "Example: [bold]fipp downstream inference en.vec fr.vec --dict seed.tsv --train multinli_1.0_train.jsonl "
    "--test xnli.test.tsv --language fr[/bold]"
)
TASK = _common.Task("inference", "XNLI", "esim", "accuracy", "accuracy", "accuracy")


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
    from fipp.tasks import load_nli, transfer

    report = _console.Reporter(quiet or as_json)
    chosen = _common.split(methods)
    network = {"epochs": epochs, "device": device, "hidden": hidden}
    training = _common.Training(classifier, network, random_state, checkpoints)
    _common.check_training(TASK, training)
    other = load_nli(test, language)
    english = load_nli(train)
    pair = f"en-{language}"
    report.note(
        f"{pair}: {len(english):,} pairs to train on ({english.left_out:,} without agreement left out), "
        f"{len(other):,} to test on"
    )
    learn = partial(transfer, train=english.sample(sample, random_state), test=other)
    vectors = _common.load(source, target, dictionary, report, limit)
    _common.compare(TASK, pair, vectors, chosen, training, learn, report, as_json)
