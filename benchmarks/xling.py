"""The paper's tables on our vectors, as `fipp reproduce xling` makes them, with further methods in one of them."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import _data
from _benchmark import Benchmark
from _figures import Figure

from fipp import experiments, report, reproduce

PLACE = ("pair", "size", "variant", "retrieval", "measure")
"""The fields that identify a record of the study."""
FURTHER = ("vecmap", "muse", "pls", "ridge", "low-rank")
"""Methods that the paper does not have."""
OWN_PAGE = "methods"
"""The table with its own page and further methods."""
SIMILARITY = {
    "en-mturk771.tsv": "en", "en-simlex999.tsv": "en", "en-wordsim353-all.tsv": "en", "en.semeval17.csv": "en",
    "fi-finnsim300.tsv": "fi", "ru.simlex965.csv": "ru", "en-fr.rg65.csv": "en-fr",
}  # fmt: skip
# Five minutes and more for each pair; the tables of 1K have them.
_LONG = {("5k", variant) for variant in ("cca-scikit", "cca-scikit-250", "cca-scikit-200")}
_NOT_KEPT = ("version", "warnings")
# Long, and not part of a table: kept only where a figure shows them.
_DRAWN = {"spectra": ("en-fr", "5k"), "histograms": ("en-fr", "5k")}


@cache
def _cells(further):
    """Return the cells of the tables, or of the one with further methods, by place; the files need not exist."""
    vectors, dictionaries = _data.DATA / "vectors", _data.DATA / "xling"
    chosen = {
        f"{pair}:{language}": vectors / f"{name}.npy"
        for pair in _data.VISIBLE
        for language, name in zip(pair.split("-"), _data.PAIRS[pair], strict=False)
    }
    data = reproduce.Data(
        vectors={name.split(":")[1]: [path] for name, path in chosen.items()},
        dictionaries={
            (pair, *part.split(".")): dictionaries / pair / f"{part}.tsv"
            for pair in _data.VISIBLE
            for part in ("train.1k", "train.5k", "test.2k")
        },
        chosen=chosen,
        similarity=tuple(
            reproduce.SimilaritySet(
                _data.DATA / "similarity" / name, _set_name(name, languages), tuple(languages.split("-"))
            )
            for name, languages in SIMILARITY.items()
        ),
    )
    methods = [*(column.variant for column in reproduce.TABLES[OWN_PAGE].columns), *FURTHER] if further else None
    cells = reproduce.make_plan(data, pairs=sorted(_data.VISIBLE), tables=_tables(further), methods=methods)
    chosen = [cell for cell in cells if (cell.size, cell.variant) not in _LONG]
    return {tuple(getattr(cell, name) for name in PLACE): cell for cell in chosen}


def _tables(further):
    return [OWN_PAGE] if further else [name for name in reproduce.TABLES if name != OWN_PAGE]


def _set_name(file, languages):
    return file.removeprefix(languages).strip(".-").rpartition(".")[0]


def measure(**place):
    record = reproduce.run_cell(ALL[tuple(place[name] for name in PLACE)])
    if "error" in record:
        raise RuntimeError(record["error"])
    here = (place["pair"], place["size"])
    left_out = [*PLACE, *_NOT_KEPT, *(name for name, drawn in _DRAWN.items() if drawn != here)]
    return {name: value for name, value in record.items() if name not in left_out}


ALL = _cells(further=False) | _cells(further=True)
PLAN = [dict(zip(PLACE, place, strict=True)) for place in ALL]
benchmark = Benchmark("xling", PLAN, measure, minutes=120, obstacle=_data.obstacle)


def tables(size):
    """Return the study's tables for one size of training dictionaries, except that of all methods."""
    return _rendered(size, further=False)


def methods_table(size):
    """Return the table of all methods, with further ones."""
    return _rendered(size, further=True)


def mean(size, variant, value="map", **place):
    """Return the mean of the score, or of another figure, over the pairs that have it."""
    return f"{_mean(_values(size, variant, value, place)):.3f}"


def gain(size, variant, other, **place):
    """Return the lead of a variant's mean score over another's, for the pairs that have both."""
    mine, others = (_values(size, name, "map", place) for name in (variant, other))
    both = mine.keys() & others.keys()
    return _signed(_mean({pair: mine[pair] - others[pair] for pair in both}))


def by_csls(size, variant):
    """Return the gain in mean score from CSLS."""
    by_cosine, by_csls = (_values(size, variant, "map", {"retrieval": way}) for way in _data.WAYS)
    return _signed(_mean(by_csls) - _mean(by_cosine))


def one(pair, size, variant, value="map"):
    """Return a figure for one pair."""
    figure = _values(size, variant, value, {})[pair]
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.3f}"


def _values(size, variant, value, place):
    records = benchmark.find(size=size, variant=variant, **{"retrieval": "cosine", "measure": "bli", **place})
    found = {each["pair"]: (each.get("test", {}) | each.get("fitted", {})).get(value) for each in records}
    return {pair: figure for pair, figure in found.items() if figure is not None}


def _mean(values):
    if not values:
        raise LookupError("the study has no such record: make results RUN=xling")
    return sum(values.values()) / len(values)


def _signed(difference):
    return f"{difference:+.3f}".replace("-", "−")


def _rendered(size, *, further):
    cells = _cells(further)
    records = [each for each in benchmark.find(size=size) if tuple(each[name] for name in PLACE) in cells]
    return experiments.render(reproduce.make_tables(*_placed(records), _tables(further))).strip()


def _placed(records):
    """Return the records in the form that the study's functions expect: cells, and records by cell key."""
    cells = [SimpleNamespace(key=key, **{name: record[name] for name in PLACE}) for key, record in enumerate(records)]
    return cells, dict(enumerate(records))


def _drawn(field, pair, size):
    """Return the records that a figure needs, or None if there are none."""
    needed = [
        {**{name: record[name] for name in PLACE}, field: record[field]}
        for record in benchmark.find(pair=pair, size=size, retrieval="cosine")
        if field in record and (field != "fitted" or "losses" in record[field])
    ]
    return needed or None


def draw(records, path):
    """Draw one figure with the study's own function."""
    with tempfile.TemporaryDirectory() as folder:
        (drawn,) = report.plot_paper(*_placed(records), folder)
        Path(path).write_bytes(drawn.read_bytes())


FIGURES = [
    Figure("xling-spectrum.png", lambda: _drawn("spectra", "en-fr", "5k"), draw),
    Figure("xling-products.png", lambda: _drawn("histograms", "en-fr", "5k"), draw),
    Figure("xling-descent.png", lambda: _drawn("fitted", "fi-fr", "5k"), draw),
]

if __name__ == "__main__":
    benchmark.main()
