"""MultiNLI and XNLI, read from the files that their authors publish.

MultiNLI 1.0 (Williams et al. 2018, cims.nyu.edu/~sbowman/multinli) is "distributed in a single ZIP file containing the
corpus as both JSON lines (jsonl) and tab-separated text (txt)"; the columns of the latter are ``gold_label``,
``sentence1_binary_parse``, ``sentence2_binary_parse``, ``sentence1_parse``, ``sentence2_parse``, ``sentence1``,
``sentence2``, ``promptID``, ``pairID``, ``genre``, ``label1`` to ``label5``. XNLI 1.0 (Conneau et al. 2018) has
``language`` before them and ``sentence1_tokenized``, ``sentence2_tokenized``, ``match`` after them, in
``xnli.dev.tsv`` and ``xnli.test.tsv``, and the same fields in ``.jsonl``. A ``gold_label`` of ``-`` means that the
annotators did not agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fipp.exceptions import FippError
from fipp.io import Budget, counted, quoted, read_batches
from fipp.tasks._inference import InferenceCorpus
from fipp.tasks._texts import decode

_FIELDS = ("gold_label", "sentence1", "sentence2")
_UNDECIDED = "-"


def load_nli(
    path: str | os.PathLike[str],
    language: str | None = None,
    *,
    limit: int | None = None,
    max_bytes: int | float | str | None = None,
) -> InferenceCorpus:
    r"""Read a file of MultiNLI, SNLI or XNLI: ``.jsonl`` or tab-separated, as its content shows, compressed or not.

    Parameters
    ----------
    path : str or path-like
        Such as ``multinli_1.0_train.jsonl`` or ``xnli.test.tsv``.
    language : str, optional
        The language to read from a file of XNLI, such as ``"fr"``.
    limit : int, optional
        Take only the first pairs.
    max_bytes : int or str, optional
        Refuse a file that takes more memory than this, as in `Vectors.load`.

    Returns
    -------
    InferenceCorpus
        Without pairs whose label is ``-``, on which the annotators did not agree; ``left_out`` counts them.

    Raises
    ------
    FippError
        If a line is cut, lacks a field or has another label; the error names the line. Also if there are no pairs of
        that language, or several languages and none is named.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "xnli.test.tsv")
    >>> lines = ["language\tgold_label\tsentence1\tsentence2", "fr\tneutral\tUn chat dort.\tIl est noir."]
    >>> _ = path.write_text("\n".join(lines) + "\n")
    >>> load_nli(path, "fr").premises
    ('Un chat dort.',)
    """
    path = Path(path)
    premises, hypotheses, labels, undecided = [], [], [], 0
    known = InferenceCorpus.label_names
    languages: set[str] = set()
    budget = Budget(path, max_bytes)
    for where, record in _records(path, language is not None, budget.max_bytes):
        if record.get("language", "") not in languages:
            languages.add(record.get("language", ""))
            budget.take_words([record.get("language", "")])
        if language is None and len(languages) > 1:
            raise FippError(f"{where} is in another language than those before: say which to read, such as 'fr'")
        if language is not None and record["language"] != language:
            continue
        label = record["gold_label"]
        if label == _UNDECIDED:
            undecided += 1
            continue
        if label not in known:
            raise FippError(f"{where} has the label {quoted(label)}, which is none of {', '.join(known)} and -")
        budget.take_words([record["sentence1"], record["sentence2"]])
        premises.append(record["sentence1"])
        hypotheses.append(record["sentence2"])
        labels.append(known[known.index(label)])  # one string, however many lines have it
        if limit is not None and len(labels) >= limit:
            break
    if language is not None and language not in languages:
        raise FippError(f"{path} has no pairs in {language!r}; it has {', '.join(sorted(languages)) or 'none at all'}")
    if not labels:
        raise FippError(f"{path} holds no pair of sentences with a label")
    return InferenceCorpus(premises, hypotheses, labels, undecided)


def _records(path: Path, with_language: bool, max_bytes: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the wanted fields of each line, with the line's name for errors."""
    wanted = ("language", *_FIELDS) if with_language else _FIELDS
    columns: dict[str, int] = {}
    widths = range(0)
    lines = (line for batch in read_batches(path, max_bytes) for line in batch)
    is_json: bool | None = None
    for number, raw in enumerate(lines, 1):
        where = f"line {number:,} of {path}"
        line = decode(raw.rstrip(b"\r\n"), where)
        if not line.strip():
            continue
        if is_json is None:
            is_json = line.lstrip().startswith("{")
            if not is_json:
                header = line.split("\t")
                columns, widths = _columns(header, wanted, path), _widths(header)
                continue
        yield where, _from_json(line, wanted, where) if is_json else _from_columns(line, columns, widths, where)
    if is_json is None:
        raise FippError(f"{path} is empty")


def _columns(header: list[str], wanted: tuple[str, ...], path: Path) -> dict[str, int]:
    missing = [name for name in wanted if name not in header]
    if missing:
        raise FippError(
            f"{path} has no column {missing[0]!r} in its first line; the layout is that of MultiNLI and XNLI: "
            f"{', '.join(wanted)}, separated by tabs"
        )
    return {name: header.index(name) for name in {*wanted, "language"} & set(header)}


def _widths(header: list[str]) -> range:
    """Return how many fields a line may have: MultiNLI has one annotator's label or five, XNLI has all columns."""
    least = len(header) if "language" in header or "label1" not in header else header.index("label1") + 1
    return range(least, len(header) + 1)


def _from_columns(line: str, columns: dict[str, int], widths: range, where: str) -> dict[str, str]:
    fields = line.split("\t")
    if len(fields) not in widths:
        few = len(fields) < widths.start
        raise FippError(
            f"{where} has {counted(len(fields), 'field')} where {widths.stop - 1} are expected"
            f"{'; the file was cut, or has another layout' if few else ''}"
        )
    return {name: fields[column] for name, column in columns.items()}


def _from_json(line: str, wanted: tuple[str, ...], where: str) -> dict[str, str]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FippError(
            f"{where} is not a whole JSON record ({error}): the file was cut or has another format"
        ) from error
    if not isinstance(record, dict):
        raise FippError(f"{where} is not a JSON record with fields")
    for name in wanted:
        if not isinstance(record.get(name), str):
            raise FippError(f"{where} has no field {name!r} with text in it")
    return {name: record[name] for name in {*wanted, "language"} & set(record)}
