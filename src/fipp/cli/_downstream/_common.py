"""Options and steps that the tasks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fipp.cli import _console, _files, _tables

if TYPE_CHECKING:
    from fipp import Lexicon, Vectors
    from fipp.tasks import Outcome

LEVEL = 0.95

Dictionary = Annotated[Path, typer.Option("--dict", metavar="SEED", help="Pairs to align by, one a line.")]
Methods = Annotated[
    str | None,
    typer.Option(
        metavar="fipp,…", help="Only these methods; none takes the vectors as they are, an unknown one lists all."
    ),
]
Sample = Annotated[
    int | None, typer.Option(metavar="N", min=2, help="Train on N texts, drawn at random.", show_default="all")
]
Epochs = Annotated[int, typer.Option(metavar="N", min=1, help="Epochs at most; held-out texts may end it sooner.")]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where the network is trained.")]
Checkpoints = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep the training of each method here after each epoch, and go on from there."),
]
Seed = Annotated[int, typer.Option("--random-state", metavar="N", help="Settles every random choice.")]


class Task(NamedTuple):
    """What tells one task from the other: names of its corpus, its network, its measure and where a result has it."""

    name: str
    corpus: str
    network: str
    measure: str
    column: str
    score: str


class Training(NamedTuple):
    """How to train, as asked for: ``network`` are settings that only the network has."""

    classifier: str
    network: Mapping[str, Any]
    random_state: int
    checkpoints: Path | None

    def options(self, task: Task, checkpoint: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the settings of the classifier; with the parts of its file's name, also where to keep its training."""
        options: dict[str, Any] = {"random_state": self.random_state}
        if self.classifier == task.network:
            options |= self.network
            if checkpoint:
                options["checkpoint"] = checkpoint_of(self.checkpoints, task.name, *checkpoint)
        return options


def check_training(task: Task, training: Training) -> None:
    """Refuse a classifier or a setting that there is not before anything is read."""
    from fipp.tasks import DocumentCorpus, InferenceCorpus

    corpus: Any = {"documents": DocumentCorpus, "inference": InferenceCorpus}[task.name]
    corpus.make_classifier(training.classifier, **training.options(task))


def compare(
    task: Task,
    pair: str,
    vectors: tuple[Vectors, Vectors, Lexicon],
    methods: Sequence[str],
    training: Training,
    transfer: Callable[..., Any],
    report: _console.Reporter,
    as_json: bool,
) -> None:
    """Train and test in the space of each method, and show what came of it."""
    from fipp.tasks import each_method

    def measure(method: str, space: Any) -> Any:
        options = training.options(task, (pair, method))
        with report.progress(f"{method}: training") as progress:
            return transfer(space, classifier=training.classifier, progress=progress, **options)

    outcomes = list(each_method(*vectors, methods, measure))
    check_outcomes(outcomes)
    if as_json:
        _console.show_json(as_dict(task, pair, outcomes))
    else:
        _console.heading(f"{task.corpus}, {pair}, {training.classifier}: {task.measure}")
        show_scores(task, pair, outcomes)


def load(
    source: Path, target: Path, dictionary: Path, report: _console.Reporter, limit: int | None
) -> tuple[Vectors, Vectors, Lexicon]:
    """Read the dictionary first, for that is quick, and then the vectors."""
    lexicon = _files.load_lexicon(dictionary)
    loaded = [_files.load_vectors(path, report, limit=limit) for path in (source, target)]
    return loaded[0], loaded[1], lexicon


def split(methods: str | None) -> list[str]:
    """Return the methods asked for, or all."""
    from fipp.tasks import check_methods

    names = None if methods is None else [name.strip().lower() for name in methods.split(",") if name.strip()]
    return check_methods(names)


def checkpoint_of(folder: Path | None, *parts: str) -> Path | None:
    """Return the file of one training in a folder, which is made if need be."""
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".".join([*parts, "safetensors"])
    _console.written.append(path)
    return path


def check_outcomes(outcomes: Sequence[Outcome[Any]]) -> None:
    """Fail as a whole if every method has failed."""
    from fipp.exceptions import FippError

    if all(outcome.error is not None for outcome in outcomes):
        raise FippError(f"no method gave a result; {outcomes[0].method}: {outcomes[0].error}")


def show_scores(task: Task, pair: str, outcomes: Sequence[Outcome[Any]]) -> None:
    """Show a row for each method: the paper's figure, ours with its interval, coverage and time; or why it failed."""
    from rich.text import Text

    from fipp.reproduce._paper_tasks import printed, was_unsuccessful

    table = _tables.table("method", "paper", task.column, "95 % interval", "words found", "seconds", "")
    for outcome in outcomes:
        figure = printed(task.name, pair, outcome.method)
        mark = "*" if was_unsuccessful(task.name, pair, outcome.method) else ""
        paper = "" if figure is None else f"{figure:.3f}{mark}"
        if outcome.result is None:
            table.add_row(outcome.method, paper, "", "", "", "", Text(outcome.error or ""))
            continue
        result = outcome.result
        low, high = result.interval(LEVEL)
        seconds = f"{outcome.align_seconds + outcome.seconds:.0f}"
        found = f"{100 * result.test.share:.1f} %"
        table.add_row(
            outcome.method, paper, f"{getattr(result, task.score):.3f}", f"{low:.3f}-{high:.3f}", found, seconds, ""
        )
    _console.show(table)
    if any(was_unsuccessful(task.name, pair, outcome.method) for outcome in outcomes):
        _console.show("* by the paper's own mark, no run of this method was successful")
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    _console.show(f"without looking at the texts: {results[0].chance:.3f}")


def as_dict(task: Task, pair: str, outcomes: Sequence[Outcome[Any]]) -> dict[str, Any]:
    """Return everything that the table shows, and more."""
    from fipp.reproduce._paper_tasks import printed, was_unsuccessful

    rows = [
        {
            "method": outcome.method,
            "paper": printed(task.name, pair, outcome.method),
            "paper_unsuccessful": was_unsuccessful(task.name, pair, outcome.method),
            **({} if outcome.result is None else outcome.result.as_dict(interval=LEVEL)),
            "error": outcome.error,
            "align_seconds": outcome.align_seconds,
            "seconds": outcome.seconds,
        }
        for outcome in outcomes
    ]
    return {"task": task.name, "pair": pair, "methods": rows}
