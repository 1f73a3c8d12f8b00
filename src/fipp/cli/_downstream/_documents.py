"""`fipp downstream documents`: topics of documents, learned in one language and told in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _options
from fipp.cli._downstream import _common

if TYPE_CHECKING:
    from fipp.evaluate.documents import DocumentResult

EXAMPLE = (
    "Example: [bold]fipp downstream documents en.vec fr.vec ted-cldc/ --pair en-fr --dict seed.tsv "
    "--methods none,procrustes,fipp[/bold]"
)


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
    from fipp.evaluate._methods import each_method
    from fipp.evaluate.documents import load_ted, transfer
    from fipp.evaluate.documents._transfer import make_classifier

    report = _console.Reporter(quiet or as_json)
    chosen = _common.split(methods)
    network = {"epochs": epochs, "device": device} if classifier == "cnn" else {}
    make_classifier(classifier, {**network, "random_state": random_state})
    train = load_ted(corpus, pair, "train")
    test = load_ted(corpus, "-".join(reversed(pair.split("-"))), "test")
    report.note(f"{pair}: {len(train):,} documents to train on, {len(test):,} to test on, {len(train.topics)} topics")
    train = train.sample(sample, random_state)
    vectors = _common.load(source, target, dictionary, report, limit)

    def measure(method: str, space: Any) -> DocumentResult:
        options: dict[str, Any] = {**network, "random_state": random_state}
        if classifier == "cnn":
            options["checkpoint"] = _common.checkpoint_of(checkpoints, "documents", pair, method)
        with report.progress(f"{method}: training") as progress:
            return transfer(space, train, test, classifier, progress=progress, **options)

    outcomes = list(each_method(*vectors, chosen, measure))
    _common.check_outcomes(outcomes)
    if as_json:
        _console.show_json(_common.as_dict("documents", pair, outcomes))
    else:
        _console.heading(f"TED-CLDC, {pair}, {classifier}: micro-averaged F1")
        _common.show_scores("documents", pair, "F1", outcomes, lambda result: result.micro_f1)
