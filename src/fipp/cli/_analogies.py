"""`fipp analogies`: a is to b as c is to what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from fipp import Alignment
    from fipp.evaluate import AnalogyResult

EXAMPLE = "Example: [bold]fipp analogies en.vec questions-words.txt --method 3cosmul --model en-fr.fipp[/bold]"


def command(
    vectors: Annotated[Path, typer.Argument(metavar="VECTORS", help="Vectors in any format.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Four words a line, and lines ': name' that begin a section."),
    ],
    method: Annotated[
        str, typer.Option(metavar="3cosadd|3cosmul", help="What the answer maximises.", show_default=True)
    ] = "3cosadd",
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Ask the vectors after alignment by this model too, as its source."),
    ] = None,
    target: Annotated[
        bool,
        typer.Option("--target", metavar=_options.FLAG, help="With --model: the vectors are of the target's kind."),
    ] = False,
    across: Annotated[
        Path | None,
        typer.Option(metavar="TGT", help="With --model: the last two words of each line are sought in these vectors."),
    ] = None,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Complete analogies, a is to b as c is to d: tell how often d is the best of all words but a, b and c.

    With --across, a and b are source words and c and d target words. Questions of which a word has no vector are left
    out; the coverage says how many were asked.
    """
    from fipp import Alignment
    from fipp.evaluate import analogies, cross_analogies, load_analogies
    from fipp.evaluate._analogy import check_method
    from fipp.linalg import parse_memory

    report = _console.Reporter(quiet or as_json)
    check_method(method)
    parse_memory(max_memory)
    _files.check_sides(model, target, across)
    questions = {path: load_analogies(path, strict=strict) for path in files}
    if model is not None:
        Alignment.load(model)  # a wrong file is refused before the vectors are read, which takes longer
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict)
    options: dict[str, Any] = {"method": method, "max_memory": max_memory}
    if model is None:
        measured = {path: {"as they are": analogies(loaded, asked, **options)} for path, asked in questions.items()}
    elif across is not None:
        alignment = Alignment.load(model, loaded, _files.load_vectors(across, report, limit=limit, strict=strict))
        measured = {path: {"across": cross_analogies(alignment, asked, **options)} for path, asked in questions.items()}
    else:
        side = "target" if target else "source"
        spaces = {"before": loaded, "after": _mapped(Alignment.load(model, **{side: loaded}), side)}
        measured = {
            path: {name: analogies(space, asked, **options) for name, space in spaces.items()}
            for path, asked in questions.items()
        }
    if as_json:
        _console.show_json({"vectors": str(vectors), "sets": [_as_dict(*each) for each in measured.items()]})
    else:
        _show(measured)


def _mapped(alignment: Alignment, side: str) -> Any:
    from fipp import Vectors

    vectors = alignment._side(side)
    transform = alignment.aligner.transform if side == "source" else alignment.aligner.transform_target
    return Vectors(vectors.words, transform(vectors.matrix))


def _as_dict(path: Path, found: dict[str, AnalogyResult]) -> dict[str, Any]:
    """Return the last result, with the one before alignment beside it if there is one."""
    last = list(found.values())[-1]
    before = {"before": found["before"].as_dict()} if "before" in found else {}
    return {"file": str(path), "vectors": list(found)[-1], **last.as_dict(), **before}


def _show(measured: dict[Path, dict[str, AnalogyResult]]) -> None:
    from rich.text import Text

    table = _tables.table("set", "section", "vectors", "accuracy", "right", "questions found")
    for path, found in measured.items():
        for name, result in found.items():
            table.add_row(Text(path.name), "all", name, *_scores(result.correct, result.questions, result.total))
        sections = list(next(iter(found.values())).sections)
        for section in sections if len(sections) > 1 else ():
            for name, result in found.items():
                table.add_row("", Text(section), name, *_scores(*result.sections[section]))
    _console.show(table)


def _scores(correct: int, questions: int, total: int) -> tuple[str, str, str]:
    accuracy = f"{correct / questions:.4f}" if questions else "-"
    return accuracy, f"{correct:,}", f"{questions:,} of {total:,} ({100 * questions / total:.1f} %)"
