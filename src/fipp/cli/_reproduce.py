"""`fipp reproduce`: the experiments of the paper, with its figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Argument, Option

import fipp
from fipp.cli import _arguments, _console
from fipp.cli._methods import show_tables
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.evaluate import ScoredPair
    from fipp.tasks import DocumentCorpus, InferenceCorpus, Outcome

_LEVEL = 0.95

_Methods = Annotated[
    str | None, Option(metavar="NAME,…", help="Only these methods; none uses the vectors as they are.")
]
_Sample = Annotated[
    int | None, Option(metavar="N", min=2, help="Train on N texts, drawn at random.", show_default="all")
]
_Epochs = Annotated[
    int, Option(metavar="N", min=1, help="Largest number of epochs; held-out texts may stop the training early.")
]
_Device = Annotated[str, Option(metavar="auto|cpu|cuda", help="Where the network is trained.")]
_Checkpoints = Annotated[
    Path | None, Option(metavar="DIR", help="Save the training after each epoch here, and resume from it.")
]


def xling(
    vectors: Annotated[Path, Argument(metavar="VECTORS_DIR", help="Vectors named by language, such as wiki.en.vec.")],
    dictionaries: Annotated[
        Path,
        Argument(metavar="DICTIONARIES_DIR", help="en-fr/train.1k.tsv, en-fr/test.2k.tsv, …, or as XLING names them."),
    ],
    pairs: Annotated[str | None, Option(metavar="en-fr,…", help="Only these language pairs.")] = None,
    sizes: Annotated[str, Option(metavar="1k,5k", help="Sizes of the seed dictionaries.")] = "1k,5k",
    methods: Annotated[
        str | None, Option(metavar="fipp,…", help="Only these methods; an unknown name lists them.")
    ] = None,
    tables: Annotated[
        str | None, Option(metavar="main,…", help="Only these tables; an unknown name lists them.")
    ] = None,
    choices: Annotated[
        list[str] | None,
        Option(
            "--vectors",
            metavar="en=FILE",
            help="The file to use if a language has several, or en-fr:en=FILE for one pair; repeatable.",
        ),
    ] = None,
    similarity: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Word similarity sets named by language, such as en-simlex999.tsv.",
            show_default="similarity/ beside the others",
        ),
    ] = None,
    results: _arguments.Results = None,
    format: _arguments.Format = "markdown",
    output: _arguments.TablesOutput = None,
    figures: Annotated[
        Path | None, Option(metavar="DIR", help="Draw the figures here; needs [bold]fipp\\[plot][/bold].")
    ] = None,
    jobs: Annotated[
        int, Option(metavar="N", min=1, help="Run N pairs at a time, each in a process with one thread.")
    ] = 1,
    sgd_steps: Annotated[
        int, Option(metavar="N", min=1, help="Steps of gradient descent; the paper used 10,000.")
    ] = 100,
    limit: _arguments.Limit = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Run the experiments on bilingual lexicon induction for the languages in two folders.

    The paper's figures are shown beside ours. They are for fastText vectors trained on Wikipedia: with other
    vectors, compare differences, not levels.
    """
    from dataclasses import asdict

    from fipp import reproduce
    from fipp.experiments import render
    from fipp.report import check_figures, plot_paper

    _arguments.check_format(format)
    _arguments.check_output(output)
    if figures is not None:
        check_figures()
    report = _console.Reporter(quiet or as_json)
    wanted = _arguments.split_names(tables)
    found = reproduce.discover(vectors, dictionaries, choices or (), similarity)
    cells = reproduce.make_plan(
        found,
        pairs=_arguments.split_names(pairs),
        sizes=_arguments.split_names(sizes) or (),
        methods=_arguments.split_names(methods),
        tables=wanted,
        sgd_steps=sgd_steps,
        limit=limit,
    )
    report.note(f"pairs: {', '.join(dict.fromkeys(cell.pair for cell in cells))}")
    if results is not None:
        _console.written.append(results)  # after Ctrl-C too, it has everything that was finished
    with report.progress("running the experiments") as progress:
        records = reproduce.run(cells, results, n_jobs=jobs, progress=progress)
    for record in records.values():
        if "error" in record:
            _console.warn(f"{record['pair']} {record['size']} {record['variant']}: {record['error']}")
    if figures is not None:
        drawn = plot_paper(cells, records, figures)
        report.note(f"{len(drawn)} figures in {figures}")
    made = reproduce.make_tables(cells, records, wanted)
    show_tables(render(made, format), {"tables": [asdict(table) for table in made]}, output, as_json)


class _Task(NamedTuple):
    """What distinguishes one task of classification from the other; ``score`` is an attribute of its results."""

    name: str
    corpus: str
    network: str
    measure: str
    column: str
    score: str


class _Training(NamedTuple):
    """How to train; ``network`` has settings that only the network has."""

    classifier: str
    network: Mapping[str, Any]
    random_state: int
    checkpoints: Path | None

    def options(self, task: _Task, *checkpoint: str) -> dict[str, Any]:
        """Return the settings of the classifier, and where to save its training if its file name is given in parts."""
        options: dict[str, Any] = {"random_state": self.random_state}
        if self.classifier == task.network:
            options |= self.network
            if checkpoint and self.checkpoints is not None:
                self.checkpoints.mkdir(parents=True, exist_ok=True)
                options["checkpoint"] = self.checkpoints / ".".join([task.name, *checkpoint, "safetensors"])
                _console.written.append(options["checkpoint"])
        return options


_DOCUMENTS = _Task("documents", "TED-CLDC", "cnn", "micro-averaged F1", "F1", "micro_f1")
_INFERENCE = _Task("inference", "XNLI", "esim", "accuracy", "accuracy", "accuracy")


def documents(
    source: _arguments.Source,
    target: _arguments.Target,
    corpus: Annotated[Path, Argument(metavar="CORPUS", help="The folder ted-cldc, or its archive.")],
    dictionary: _arguments.Seed,
    pair: Annotated[str, Option(metavar="en-fr", help="Train on the first language, test on the second.")],
    methods: _Methods = None,
    classifier: Annotated[
        str, Option(metavar="cnn|logistic", help="The paper's network (fipp\\[torch]), or a quick baseline.")
    ] = "cnn",
    sample: _Sample = None,
    epochs: _Epochs = 20,
    checkpoints: _Checkpoints = None,
    device: _Device = "auto",
    random_state: _arguments.RandomState = 0,
    limit: _arguments.Limit = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Train a topic classifier on TED talks in one language and test it in another (TED-CLDC, section 5.2).

    The paper's F1 is shown beside ours. It is for fastText vectors trained on Wikipedia: with other vectors,
    compare differences, not levels.
    """
    from fipp.tasks import DocumentCorpus, load_ted, transfer

    report = _console.Reporter(quiet or as_json)
    training = _Training(classifier, {"epochs": epochs, "device": device}, random_state, checkpoints)
    chosen = _check(_DOCUMENTS, methods, training, DocumentCorpus)
    train = load_ted(corpus, pair, "train")
    test = load_ted(corpus, "-".join(reversed(pair.split("-"))), "test")
    report.note(f"{pair}: {len(train):,} documents to train on, {len(test):,} to test on, {len(train.topics)} topics")
    learn = partial(transfer, train=train.sample(sample, random_state), test=test)
    vectors = _load(source, target, dictionary, report, limit)
    _compare(_DOCUMENTS, pair, vectors, chosen, training, learn, report, as_json)


def inference(
    source: _arguments.Source,
    target: _arguments.Target,
    dictionary: _arguments.Seed,
    train: Annotated[Path, Option(metavar="FILE", help="English sentence pairs: .jsonl or .txt of MultiNLI.")],
    test: Annotated[Path, Option(metavar="FILE", help="Sentence pairs in the other language: .tsv or .jsonl of XNLI.")],
    language: Annotated[str, Option(metavar="fr", help="The language of --test to use.")],
    methods: _Methods = None,
    classifier: Annotated[
        str, Option(metavar="esim|logistic", help="The paper's network (fipp\\[torch]), or a quick baseline.")
    ] = "esim",
    sample: _Sample = None,
    hidden: Annotated[int, Option(metavar="N", min=1, help="Units in each layer of the network.")] = 300,
    epochs: _Epochs = 20,
    checkpoints: _Checkpoints = None,
    device: _Device = "auto",
    random_state: _arguments.RandomState = 0,
    limit: _arguments.Limit = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Train ESIM on English sentence pairs (MultiNLI) and test it in another language (XNLI, section 5.2).

    The paper's accuracy is shown beside ours. It is for fastText vectors trained on Wikipedia: with other vectors,
    compare differences, not levels.
    """
    from fipp.tasks import InferenceCorpus, load_nli, transfer

    report = _console.Reporter(quiet or as_json)
    network = {"epochs": epochs, "device": device, "hidden": hidden}
    training = _Training(classifier, network, random_state, checkpoints)
    chosen = _check(_INFERENCE, methods, training, InferenceCorpus)
    other = load_nli(test, language)
    english = load_nli(train)
    pair = f"en-{language}"
    report.note(
        f"{pair}: {len(english):,} pairs to train on ({english.left_out:,} without agreement left out), "
        f"{len(other):,} to test on"
    )
    learn = partial(transfer, train=english.sample(sample, random_state), test=other)
    vectors = _load(source, target, dictionary, report, limit)
    _compare(_INFERENCE, pair, vectors, chosen, training, learn, report, as_json)


def _check(
    task: _Task, methods: str | None, training: _Training, corpus: type[DocumentCorpus | InferenceCorpus]
) -> list[str]:
    """Return the methods asked for, or all; refuse an unknown method, classifier or setting before anything is read."""
    from fipp.tasks import check_methods

    corpus.make_classifier(training.classifier, **training.options(task))
    return check_methods(_arguments.split_names(methods))


def _load(
    source: Path, target: Path, dictionary: Path, report: _console.Reporter, limit: int | None
) -> tuple[fipp.Vectors, fipp.Vectors, fipp.Lexicon]:
    lexicon = _arguments.load_lexicon(dictionary)  # first, because it is quick
    return *_arguments.load_both(source, target, report, limit=limit), lexicon


def _compare(
    task: _Task,
    pair: str,
    vectors: tuple[fipp.Vectors, fipp.Vectors, fipp.Lexicon],
    methods: Sequence[str],
    training: _Training,
    transfer: Callable[..., Any],
    report: _console.Reporter,
    as_json: bool,
) -> None:
    """Train and test in the space of each method, and show the results."""
    from fipp.tasks import each_method

    def measure(method: str, space: Any) -> Any:
        with report.progress(f"{method}: training") as progress:
            options = training.options(task, pair, method)
            return transfer(space, classifier=training.classifier, progress=progress, **options)

    outcomes = list(each_method(*vectors, methods, measure))
    _check_outcomes(outcomes)
    if as_json:
        _console.show_json(_as_dict(task, pair, outcomes))
    else:
        _console.heading(f"{task.corpus}, {pair}, {training.classifier}: {task.measure}")
        _show_scores(task, pair, outcomes)


def _check_outcomes(outcomes: Sequence[Outcome[Any]]) -> None:
    if all(outcome.error is not None for outcome in outcomes):
        raise FippError(f"no method succeeded; {outcomes[0].method}: {outcomes[0].error}")


def _show_scores(task: _Task, pair: str, outcomes: Sequence[Outcome[Any]]) -> None:
    """Show the paper's figure and ours, with its interval, coverage and time, or why the method failed."""
    from fipp.reproduce import printed_task

    table = _console.table("method", "paper", task.column, "95 % interval", "words found", "seconds", "")
    marked = False
    for outcome in outcomes:
        figure, unsuccessful = printed_task(task.name, pair, outcome.method) or (None, False)
        marked = marked or unsuccessful
        paper = "" if figure is None else f"{figure:.3f}{'*' if unsuccessful else ''}"
        result = outcome.result
        if result is None:
            table.add_row(outcome.method, paper, "", "", "", "", outcome.error or "")
            continue
        low, high = result.interval(_LEVEL)
        scores = f"{getattr(result, task.score):.3f}", f"{low:.3f}-{high:.3f}", f"{100 * result.test.share:.1f} %"
        table.add_row(outcome.method, paper, *scores, f"{outcome.align_seconds + outcome.seconds:.0f}", "")
    _console.show(table)
    if marked:
        _console.show("* marked in the paper: no run of this method was successful")
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    _console.show(f"without looking at the texts: {results[0].chance:.3f}")


def _as_dict(task: _Task, pair: str, outcomes: Sequence[Outcome[Any]]) -> dict[str, Any]:
    from fipp.reproduce import printed_task

    rows = [
        {
            "method": outcome.method,
            "paper": figure,
            "paper_unsuccessful": unsuccessful,
            **({} if outcome.result is None else outcome.result.as_dict(interval=_LEVEL)),
            "error": outcome.error,
            "align_seconds": outcome.align_seconds,
            "seconds": outcome.seconds,
        }
        for outcome in outcomes
        for figure, unsuccessful in [printed_task(task.name, pair, outcome.method) or (None, False)]
    ]
    return {"task": task.name, "pair": pair, "methods": rows}


def words(
    source: _arguments.Source,
    target: _arguments.Target,
    dictionary: _arguments.Seed,
    source_sets: Annotated[
        list[Path] | None, Option("--source-set", metavar="FILE", help="Scored pairs of source words; repeatable.")
    ] = None,
    target_sets: Annotated[
        list[Path] | None, Option("--target-set", metavar="FILE", help="Scored pairs of target words; repeatable.")
    ] = None,
    across_sets: Annotated[
        list[Path] | None,
        Option("--across", metavar="FILE", help="Scored pairs of a source and a target word; repeatable."),
    ] = None,
    methods: _Methods = None,
    limit: _arguments.Limit = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Measure word similarity within each language, before and after alignment, and across the two (appendix D.3).

    The paper asks whether alignment harms English. Its figures, for fastText vectors aligned to Turkish, are shown
    beside those of the same English sets.
    """
    from fipp.evaluate import load_similarity
    from fipp.tasks import NOT_ALIGNED, check_methods, each_method

    report = _console.Reporter(quiet or as_json)
    chosen = [method for method in check_methods(_arguments.split_names(methods)) if method != NOT_ALIGNED]
    kinds = {"source": source_sets, "target": target_sets, "across": across_sets}
    items = {kind: {path: load_similarity(path) for path in paths or ()} for kind, paths in kinds.items()}
    if not any(items.values()):
        raise FippError("name a set of scored word pairs: --source-set, --target-set or --across")
    if not chosen:
        raise FippError("name a method besides none: similarity before alignment is always shown")
    vectors = _load(source, target, dictionary, report, limit)
    outcomes = list(each_method(*vectors, chosen, lambda method, space: _measure_words(space, items)))
    _check_outcomes(outcomes)
    if as_json:
        told = [{"method": each.method, "error": each.error, "sets": each.result or []} for each in outcomes]
        _console.show_json({"methods": told})
    else:
        _show_words(outcomes)


def _measure_words(alignment: Any, items: Mapping[str, Mapping[Path, list[ScoredPair]]]) -> list[dict[str, Any]]:
    """Return a row for each set, before and after alignment; across languages, there is no before."""
    from fipp.evaluate import cross_similarity, similarity_before_after

    rows: list[dict[str, Any]] = []
    for kind in ("source", "target"):
        for path, pairs in items[kind].items():
            before, after = similarity_before_after(alignment, pairs, kind)
            rows.append({"kind": kind, "file": str(path), "before": before.as_dict(), "after": after.as_dict()})
    for path, pairs in items["across"].items():
        rows.append({"kind": "across", "file": str(path), "after": cross_similarity(alignment, pairs).as_dict()})
    return rows


def _show_words(outcomes: Sequence[Outcome[list[dict[str, Any]]]]) -> None:
    from fipp.reproduce import printed_similarity

    table = _console.table("set", "words of", "method", "before", "after", "pairs found", "paper: before", "after")
    for outcome in outcomes:
        if outcome.result is None:
            table.add_row("", "", outcome.method, "", "", outcome.error or "")
        for row in outcome.result or ():
            name, after = Path(row["file"]).name, row["after"]
            paper = printed_similarity("en", name) if row["kind"] == "source" else {}
            table.add_row(
                name,
                "both" if row["kind"] == "across" else row["kind"],
                outcome.method,
                f"{row['before']['spearman']:.3f}" if "before" in row else "",
                f"{after['spearman']:.3f}",
                f"{after['pairs']:,} of {after['total']:,}",
                *(f"{figure:.3f}" for figure in paper.values()),
            )
    _console.heading("word similarity: Spearman's correlation")
    _console.show(table)
