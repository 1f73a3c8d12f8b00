"""Results cannot go stale: every table and figure of the documentation is what its records render."""

import doctest
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import fipp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import _benchmark  # noqa: E402
import _data  # noqa: E402
import _tables  # noqa: E402
import results  # noqa: E402
import security  # noqa: E402
from _benchmark import Benchmark  # noqa: E402

WITHOUT_OTHER_TABLES = [ROOT / "README.md", ROOT / "docs" / "methods.md", *(ROOT / "docs" / "results").glob("*.md")]
"""Pages whose tables with figures are all results. Tables of the guide show settings and formats."""


def test_every_page_is_what_its_records_render():
    changed, _ = results.changes()
    assert not changed, f"run `make results`: {', '.join(path.name for path in changed)} differ from their records"


def test_every_figure_is_drawn_from_its_records():
    _, undrawn = results.changes()
    assert not undrawn, f"run `make results`: {', '.join(figure.name for figure in undrawn)} are of other records"


@pytest.mark.parametrize("page", WITHOUT_OTHER_TABLES, ids=lambda page: page.name)
def test_no_table_of_figures_is_written_by_hand(page):
    assert not results.outside(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", results.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_cell_of_a_result_is_empty(page):
    for block in results.BLOCK.finditer(page.read_text(encoding="utf-8")):
        _header, _rule, *rows = [line for line in block[0].splitlines() if line.startswith("|")]
        assert rows, f"{block[2]} has no rows"
        for line in rows:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert all(cells) and "None" not in cells, line


@pytest.mark.parametrize("name", results.benchmarks())
def test_every_key_of_a_plan_has_a_record(name):
    missing = results.benchmarks()[name].missing()
    assert not missing, f"run `make results RUN={name}`: {len(missing)} records are missing, such as {missing[0]}"


def test_every_record_says_where_it_comes_from():
    for benchmark in results.benchmarks().values():
        lines = benchmark.path.read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == benchmark.records, f"{benchmark.name} is not in order"
        for record in benchmark.records:
            assert record["version"] and record["date"]
            assert "code" in record or (record["transcribed"] and record["commit"])


def test_figures_draw_whatever_was_measured_and_the_same_data_give_the_same_svg(tmp_path):
    pytest.importorskip("matplotlib")
    for figure in results.figures().values():
        if figure.data() is not None:
            paths = [tmp_path / figure.name, tmp_path / "again" / figure.name]
            for path in paths:
                path.parent.mkdir(exist_ok=True)
                figure.draw(figure.data(), path)
            assert path.suffix != ".svg" or paths[0].read_bytes() == paths[1].read_bytes()


def test_examples_of_the_tables_are_true():
    assert doctest.testmod(_tables).failed == 0


class TestRendering:
    def test_a_changed_figure_is_written_anew(self):
        score = results.modules()["auto"].score("en-fr", "1k")
        page = '# Page\n\nIt has <!-- = auto.score("en-fr", "1k") -->.1 / .2<!-- /= --> there.\n'
        assert results.rendered(page) == page.replace(".1 / .2", score)

    def test_a_changed_table_is_written_anew_and_a_second_time_changes_nothing(self):
        page = "before\n\n<!-- results: tune.choices_table() -->\nold | rows\n<!-- end of results -->\n\nafter\n"
        once = results.rendered(page)
        assert "| en-fr 1K |" in once and "old" not in once
        assert once.startswith("before") and once.endswith("after\n")
        assert results.rendered(once) == once

    def test_a_figure_at_the_beginning_of_a_line_is_refused(self):
        with pytest.raises(ValueError, match="HTML"):
            results.rendered('text\n<!-- = auto.score("en-fr", "1k") --><!-- /= -->\n')

    def test_what_was_not_measured_cannot_be_quoted(self):
        with pytest.raises(LookupError, match="make results RUN=auto"):
            results.rendered('It has <!-- = auto.score("en-tr", "1k") --><!-- /= -->.')

    def test_only_functions_of_benchmarks_with_plain_arguments_are_called(self):
        for expression in ('__import__("os")', "auto.score(print())"):
            with pytest.raises(ValueError):
                results.rendered(f"It has <!-- = {expression} --><!-- /= -->.")

    def test_rows_and_columns_that_were_not_run_are_left_out(self):
        cells = {("a", 1): "x", ("a", 2): "y", ("b", 1): "z"}
        table = _tables.pivot(
            "row", {"a": "a", "b": "b"}, {"1": 1, "2": 2, "3": 3}, lambda row, column: cells.get((row, column))
        )
        assert table.splitlines() == ["| row | 1 | 2 |", "|---|---|---|", "| a | x | y |"]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a benchmark of four keys that counts what it measures."""
    monkeypatch.setattr(_benchmark, "KEPT", tmp_path)
    measured = []

    def make(measure=None):
        def count(pair, size):
            if measure is not None:
                measure(pair, size)
            measured.append((pair, size))
            return {"score": 1 / 3, "array": np.float32(0.1)}

        plan = [{"pair": pair, "size": size} for pair in ("en-fr", "en-ru") for size in (1, 5)]
        return Benchmark("made", plan, count, minutes=1)

    make.measured = measured
    return make


class TestRun:
    def test_records_are_kept_in_the_order_of_the_plan_with_their_provenance(self, made):
        benchmark = made()
        benchmark.run(list(reversed(benchmark.plan)))
        assert [(record["pair"], record["size"]) for record in benchmark.records] == [
            ("en-fr", 1), ("en-fr", 5), ("en-ru", 1), ("en-ru", 5),
        ]  # fmt: skip
        record = json.loads(benchmark.path.read_text().splitlines()[0])
        assert record["score"] == 0.333333 and record["array"] == 0.1
        assert record["version"] == fipp.__version__ and record["code"] == _benchmark.fingerprint()

    def test_what_the_present_code_has_measured_is_not_measured_again(self, made):
        made().run()
        made().run()
        assert len(made.measured) == 4
        made().run(again=True)
        assert len(made.measured) == 8

    def test_what_other_code_has_measured_stands_until_it_is_measured_again(self, made, monkeypatch):
        made().run()
        monkeypatch.setattr(_benchmark, "fingerprint", lambda: "other")
        benchmark = made()
        benchmark.run(benchmark.plan[1:2])
        assert len(made.measured) == 5
        assert [record["code"] == "other" for record in benchmark.records] == [False, True, False, False]

    def test_an_interrupted_run_keeps_what_is_finished_and_goes_on_from_there(self, made):
        def interrupt(pair, size):
            if (pair, size) == ("en-ru", 1):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            made(interrupt).run()
        benchmark = made()
        assert benchmark.missing() == benchmark.plan[2:]
        benchmark.run()
        assert made.measured == [("en-fr", 1), ("en-fr", 5), ("en-ru", 1), ("en-ru", 5)]

    def test_a_line_that_was_cut_off_is_measured_again(self, made):
        benchmark = made()
        benchmark.run()
        benchmark.path.write_text(benchmark.path.read_text()[:-20])
        again = made()
        assert again.missing() == again.plan[3:]
        again.run()
        assert not again.missing() and len(benchmark.path.read_text().splitlines()) == 4

    def test_one_failure_does_not_cost_the_others(self, made, capsys):
        def fail(pair, size):
            if size == 1:
                raise ValueError("it went wrong")

        benchmark = made(fail)
        assert benchmark.run() == 2
        assert [record["size"] for record in benchmark.records] == [5, 5]
        assert "it went wrong" in capsys.readouterr().err

    def test_the_command_line_measures_what_it_is_asked_for(self, made, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["made.py", "--pair", "en-f*", "--size", "5"])
        monkeypatch.setattr(_benchmark, "ROOT", _benchmark.KEPT)
        with pytest.raises(SystemExit) as ended:
            made().main()
        assert ended.value.code == 0 and made.measured == [("en-fr", 5)]


def test_the_fingerprint_is_of_the_code_and_not_of_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(_benchmark, "SOURCE", tmp_path)

    def of(text, name="module.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return _benchmark.fingerprint.__wrapped__()

    first = of('"""A module."""\ndef f(x):\n    """Return x."""\n    return x  # as it is\n')
    assert of('"""Another word."""\ndef f(x):\n    return x\n') != first  # a docstring less leaves no `pass`
    assert of('"""Another word."""\ndef f(x):\n    """Give x."""\n    return x\n') == first
    assert of("print()", "cli/command.py") == first
    assert of('"""A module."""\ndef f(x):\n    """Return x."""\n    return -x\n') != first


def test_the_counts_of_long_searches_are_shown_with_their_provenance(tmp_path, monkeypatch):
    monkeypatch.setattr(security, "COUNTS", tmp_path / "counts.json")
    assert "| writers | no run is recorded | none | none |" in security.table().splitlines()
    told = {"cases": 1_000_000, "failures": 0, "version": "0.1.0", "date": "2026-11-18"}
    security.COUNTS.write_text(json.dumps({"another": told, "writers": told}))
    shown = "1,000,000 cases, 0 failures | 0.1.0 | 2026-11-18 |"
    assert {f"| {key} | {shown}" for key in ("writers", "another")} < set(security.table().splitlines())
    parts = {"kills": {"failures": 0, "kills": 4234}, "full disk": {"failures": 0, "skipped": "it may not mount"}}
    methods = {"cases": 5, "methods": {"cca": {"results": 1, "refusals": 1}, "fipp": {"results": 3}}}
    provenance = {"version": "0.1.0", "date": "2026-11-18"}
    security.COUNTS.write_text(json.dumps({"writers": parts | provenance, "numbers": methods | provenance}))
    table = security.table()
    assert "kills: 0 failures, 4,234 kills; full disk: 0 failures, skipped, because it may not mount |" in table
    assert "| 5 cases; 2 cases of each of 2 methods at least |" in table


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Make small vectors and dictionaries in the place of the real ones."""
    rng = np.random.default_rng(0)
    words, shared = [f"w{row}" for row in range(300)], rng.standard_normal((300, 12))
    (tmp_path / "vectors").mkdir()
    for name in ("en.spacymd300", "fr.spacymd300"):
        rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        matrix = shared @ rotation + 0.1 * rng.standard_normal((300, 12))
        fipp.Vectors(words, matrix.astype(np.float32)).save(tmp_path / "vectors" / f"{name}.npy")
    folder = tmp_path / "xling" / "en-fr"
    folder.mkdir(parents=True)
    for part, rows in (("train.1k", range(150)), ("train.5k", range(200)), ("test.2k", range(200, 300))):
        (folder / f"{part}.tsv").write_text("".join(f"w{row}\tw{row}\n" for row in rows))
    monkeypatch.setattr(_data, "DATA", tmp_path)
    for cached in (_data.load, _data.dictionary):
        cached.cache_clear()
        monkeypatch.setattr(_data, cached.__name__, cached)
    yield
    for cached in (_data.load, _data.dictionary):
        cached.cache_clear()


@pytest.mark.parametrize("name", ["accuracy", "curve", "hubs", "parts", "ranking", "tune", "variants"])
@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_benchmarks_measure_what_their_tables_show(name, data):
    benchmark = results.benchmarks()[name]
    measured = _benchmark.rounded(benchmark.measure(**benchmark.plan[0]))
    shown = benchmark.records[0].keys() - benchmark.plan[0].keys() - {"transcribed", "commit", "version", "date"}
    assert shown - {"took", "code"} <= measured.keys()
    assert json.loads(json.dumps(measured)) == measured
