"""`fipp downstream documents`: topics of documents, learned in one language and told in another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fipp.cli import _console, _options
from fipp.cli._downstream import _common

EXAMPLE = (
    "Example: [bold]fipp downstream documents en.vec fr.vec ted-cldc/ --pair en-fr --dict seed.tsv "
    "--methods none,procrustes,fipp[/bold]"
)
TASK = _common.Task("documents", "TED-CLDC", "cnn", "micro-averaged F1", "F1", "micro_f1")


def command(
    source: _options.Source,
    target: _options.Target,
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="The folder ted-cldc, or its archive.")],
    dictionary: _common.Dictionary,
    pair: Annotated[str, typer.Option(metavar="en-fr", help="Trained on the first language, tested on the second.")],
    methods: _common.Methods = None,
    classifier: Annotated[
        str, typer.Option(metavar="cnn|logistic", help="The paper's network (fipp[torch]), or a quick baseline.")
    ] = "cnn",
    sample: _common.Sample = None,
    epochs: _common.Epochs = 20,
    checkpoints: _common.Checkpoints = None,
    device: _common.Device = "auto",
    random_state: _common.Seed = 0,
    limit: _options.Limit = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Train a classifier of topics on TED talks of one language, and test it on talks of another (TED-CLDC).

    The micro-averaged F1 of each method stands beside what the paper printed, for fastText vectors of Wikipedia: on
    others, compare differences, not levels.
    """
    from fipp.tasks import load_ted, transfer

    report = _console.Reporter(quiet or as_json)
    chosen = _common.split(methods)
    training = _common.Training(classifier, {"epochs": epochs, "device": device}, random_state, checkpoints)
    _common.check_training(TASK, training)
    train = load_ted(corpus, pair, "train")
    test = load_ted(corpus, "-".join(reversed(pair.split("-"))), "test")
    report.note(f"{pair}: {len(train):,} documents to train on, {len(test):,} to test on, {len(train.topics)} topics")
    learn = partial(transfer, train=train.sample(sample, random_state), test=test)
    vectors = _common.load(source, target, dictionary, report, limit)
    _common.compare(TASK, pair, vectors, chosen, training, learn, report, as_json)
