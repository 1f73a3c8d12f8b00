"""Results are kept as they come, and what is finished is not run again."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.cross_decomposition import CCA

import fipp
from fipp import FIPP, FippError, Lexicon, Procrustes, Vectors
from fipp.aligners import METHODS
from fipp.experiments import read_results, render
from fipp.reproduce import _run, discover, make_plan, make_tables, run
from fipp.reproduce._run import reduced


def lines_of(path):
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def plan(folders, **options):
    return make_plan(discover(*folders), **{"tables": ["main", "retrieval"], "sizes": ["1k"], **options})


def test_scores_are_those_of_fitting_and_evaluating_by_hand(folders):
    cells = plan(folders, pairs=["en-fr"], methods=["procrustes", "fipp"])
    records = run(cells)
    source, target = (Vectors.load(folders.vectors / name) for name in ("wiki.en.vec", "cc.fr.300.vec.gz"))
    rows = [(i, i) for i in range(100)]
    for cell in cells:
        aligner = {"procrustes": Procrustes, "fipp": FIPP}[cell.method]().fit(source.matrix, target.matrix, rows)
        test = [(i, i) for i in range(100, 200)]
        scores = aligner.transform(source.matrix[100:]) @ aligner.transform_target(target.matrix).T
        record = records[cell.key]
        assert record["seed"]["used"] == 100
        assert (record["test"]["n_queries"], record["test"]["total"]) == (100, 110)
        if cell.retrieval == "cosine":
            scores /= (aligner.transform_target(target.matrix) ** 2).sum(axis=1) ** 0.5
            ranks = [(scores[i - 100] >= scores[i - 100, j]).sum() for i, j in test]
            assert record["test"]["map"] == pytest.approx(sum(1 / rank for rank in ranks) / 100, abs=1e-6)


def test_a_finished_cell_is_not_run_again(folders, tmp_path, monkeypatch):
    results = tmp_path / "results.jsonl"
    first = run(plan(folders, pairs=["en-fr"]), results)
    monkeypatch.setattr(_run, "run_cell", lambda cell: pytest.fail(f"{cell} was run again"))
    assert run(plan(folders, pairs=["en-fr"]), results) == first
    assert len(lines_of(results)) == len(first)


def test_other_inputs_and_settings_are_other_cells(folders):
    before = {cell.key for cell in plan(folders)}
    assert before.isdisjoint(cell.key for cell in plan(folders, limit=150))
    path = folders.vectors / "wiki.en.vec"
    vectors = Vectors.load(path)
    Vectors(vectors.words, vectors.matrix * 2).save(path)
    assert before.isdisjoint(cell.key for cell in plan(folders))  # English is in both pairs


def test_a_cut_last_line_is_dropped_and_run_again(folders, tmp_path):
    results = tmp_path / "results.jsonl"
    cells = plan(folders, pairs=["en-fr"])
    run(cells, results)
    whole = results.read_bytes()
    results.write_bytes(whole[:-20])
    assert len(read_results(results)) == len(cells) - 1
    run(cells, results)
    assert [json.loads(line)["key"] for line in lines_of(results)] == [
        json.loads(line)["key"] for line in whole.splitlines()
    ]


def test_a_file_of_something_else_is_refused_and_left_alone(folders, tmp_path):
    results = tmp_path / "notes.txt"
    results.write_text("my notes\nmore")
    with pytest.raises(FippError, match=r"line 1 of .*notes\.txt"):
        run(plan(folders), results)
    assert results.read_text() == "my notes\nmore"


def test_a_run_that_is_killed_goes_on_where_it_was(larger_folders, tmp_path):
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "fipp", "reproduce", "xling", *map(str, larger_folders), "--results", str(results)]
    command += ["--sizes", "1k", "--tables", "main,ablation,preprocessing,retrieval,rounds"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        while len(lines_of(results)) < 2 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = lines_of(results)

    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    lines = lines_of(results)
    keys = [json.loads(line)["key"] for line in lines]
    cells = plan(larger_folders, tables=["main", "ablation", "preprocessing", "retrieval", "rounds"])
    assert 2 <= len(kept) < len(lines)
    assert lines[: len(kept)] == kept
    assert sorted(keys) == sorted({cell.key for cell in cells})
    assert "Repeated rounds" in done.stdout


def test_workers_do_not_outlive_a_run_that_is_killed(larger_folders, tmp_path):
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "fipp", "reproduce", "xling", *map(str, larger_folders), "--results", str(results)]
    process = subprocess.Popen(
        [*command, "--sizes", "1k", "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not lines_of(results) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    # Workers hold the other ends of these pipes, which close when the last of them has ended.
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert read_results(results)


def end_at_once(cell):
    os._exit(1)


def test_a_worker_that_ends_unexpectedly_is_reported(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(_run, "run_cell", end_at_once)
    with pytest.raises(FippError, match=r"ended unexpectedly.*fewer jobs"):
        run(plan(folders), tmp_path / "results.jsonl", n_jobs=2)


def test_ctrl_c_keeps_what_is_finished_and_says_where(larger_folders, tmp_path):
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "fipp", "reproduce", "xling", *map(str, larger_folders), "--results", str(results)]
    process = subprocess.Popen(
        [*command, "--sizes", "1k"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # A shell's background jobs ignore SIGINT, and their children with them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not lines_of(results) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert str(results) in complaint and "Traceback" not in complaint
    assert read_results(results)


def test_pairs_in_parallel_give_the_same_scores(folders, tmp_path):
    cells = plan(folders, tables=["main"])
    alone, together = run(cells), run(cells, tmp_path / "results.jsonl", n_jobs=2)
    assert {key: record["test"] for key, record in alone.items()} == {
        key: record["test"] for key, record in together.items()
    }
    assert len(lines_of(tmp_path / "results.jsonl")) == len(cells)


def test_a_pair_that_fails_does_not_stop_the_others_and_is_tried_again(folders, tmp_path):
    results = tmp_path / "results.jsonl"
    train = folders.dictionaries / "en-fr" / "train.1k.tsv"
    good = Lexicon.load(train)
    Lexicon([("nothing", "rien")]).save(train)
    records = run(plan(folders, methods=["procrustes"], tables=["main"]), results)
    assert ["error" in record for record in records.values()] == [True, False]
    assert len(read_results(results)) == 1
    good.save(train)
    records = run(plan(folders, methods=["procrustes"], tables=["main"]), results)
    assert not any("error" in record for record in records.values())


class Unwilling(Procrustes):
    """Fails as numerical code does, not as fipp would."""

    def fit(self, X, Y, pairs=None, *, progress=None):
        if X.shape[1] != Y.shape[1]:
            raise np.linalg.LinAlgError("SVD did not converge")
        return super().fit(X, Y, pairs, progress=progress)


def test_a_further_method_joins_the_tables_and_where_it_fails_stands_why(folders, monkeypatch):
    monkeypatch.setitem(METHODS, "unwilling", Unwilling())
    english = Vectors.load(folders.vectors / "wiki.en.vec")
    Vectors(english.words, english.matrix[:, :9]).save(folders.vectors / "wiki.en.vec")
    french = Vectors.load(folders.vectors / "xx.small.npy")
    Vectors(french.words, french.matrix[:, :9]).save(folders.vectors / "xx.small.npy")
    cells = plan(folders, methods=["procrustes", "unwilling"])
    records = run(cells)
    methods, retrieval = make_tables(cells, records, ["methods", "retrieval"])
    place = methods.header.index("unwilling")
    assert [row[place] is None for row in methods.rows[:2]] == [True, False]  # en-fr has 9 and 12 dimensions
    assert methods.notes == [("en-fr", "unwilling", "LinAlgError: SVD did not converge")]
    assert "unwilling + CSLS" in retrieval.header
    assert "| – (1) |" in render([methods]) and "(1) en-fr, unwilling: LinAlgError: SVD did not converge" in render(
        [methods]
    )
    assert "en-fr,unwilling,failed: LinAlgError" in render([methods], "csv")
    assert "SVD did not converge" in render([methods], "latex") and "SVD did not converge" in render([methods], "json")


def test_tuned_settings_are_those_chosen_on_the_seed(folders):
    cells = plan(folders, pairs=["en-fr"], methods=["fipp-tuned"], tables=["tuning"])
    (record,) = run(cells).values()
    source, target = (Vectors.load(folders.vectors / name) for name in ("wiki.en.vec", "cc.fr.300.vec.gz"))
    tuning = fipp.tune(source, target, folders.dictionaries / "en-fr" / "train.1k.tsv")
    assert record["chosen"] == tuning.best_params and record["held_out_mrr"] == tuning.best_score
    result = tuning.alignment.evaluate(folders.dictionaries / "en-fr" / "test.2k.tsv")
    assert record["test"] == result.as_dict()


def test_scikit_learns_cca_is_scikit_learns_cca(folders):
    (record,) = run(plan(folders, pairs=["en-fr"], methods=["cca-scikit"], tables=["dimensions"])).values()
    X, Y = (Vectors.load(folders.vectors / name).matrix for name in ("wiki.en.vec", "cc.fr.300.vec.gz"))
    X, Y = (V.astype(float) / np.linalg.norm(V, axis=1, keepdims=True) for V in (X, Y))
    A, B = CCA(n_components=12, max_iter=5000).fit(X[:100], Y[:100]).transform(X, Y)
    A, B = (V / np.linalg.norm(V, axis=1, keepdims=True) for V in (A, B))
    scores = A @ B.T
    ranks = [(scores[i] >= scores[i, i]).sum() for i in range(100, 200)]
    assert record["test"]["map"] == pytest.approx(np.mean([1 / rank for rank in ranks]), abs=1e-3)


def test_the_authors_settings_are_taken_for_pairs_that_they_list(folders):
    (cell,) = plan(folders, methods=["fipp-authors"], tables=["deviation"])
    assert cell.pair == "en-fr" and (cell.settings["epsilon"], cell.settings["lam"]) == (0.1, 0.5)


def test_the_descent_is_compared_with_the_low_rank_solution(folders):
    cells = plan(folders, pairs=["en-fr"], methods=["fipp-published-sgd"], tables=["sgd"], sgd_steps=300)
    (record,) = run(cells).values()
    source, target = (Vectors.load(folders.vectors / name) for name in ("wiki.en.vec", "cc.fr.300.vec.gz"))
    solutions, pairs = {}, [(i, i) for i in range(100)]
    for solver in ("eigen", "sgd"):
        aligner = FIPP.published(solver=solver, n_steps=300).fit(source.matrix, target.matrix, pairs)
        X_s, _, solutions[solver] = aligner.seed_vectors()
    for name, other in (("from_low_rank", solutions["sgd"]), ("source_from_low_rank", X_s)):
        omega, _ = orthogonal_procrustes(solutions["eigen"], other)
        distance = np.linalg.norm(other - solutions["eigen"] @ omega) / np.linalg.norm(solutions["eigen"])
        assert record["fitted"][name] == pytest.approx(distance, rel=1e-3)
    losses = record["fitted"]["losses"]
    assert (losses[0][0], losses[-1][0], len(losses)) == (0, 300, 50) and losses[-1][1] < losses[0][1]


def test_a_source_is_reduced_by_principal_components_or_left_out_if_it_has_too_few(folders):
    vectors = Vectors.load(folders.vectors / "wiki.en.vec")
    smaller = reduced(vectors, 5)
    centred = vectors.matrix - vectors.matrix.mean(axis=0)
    assert smaller.matrix.shape == (200, 5)
    singular = np.linalg.svd(centred, compute_uv=False)
    assert (smaller.matrix**2).sum() == pytest.approx((singular[:5] ** 2).sum(), rel=1e-4)
    (record,) = run(plan(folders, pairs=["en-fr"], methods=["fipp-250"], tables=["dimensions"])).values()
    assert "12 dimensions" in record["skipped"]


def test_progress_counts_what_is_already_there(folders, tmp_path):
    results, seen = tmp_path / "results.jsonl", []
    run(plan(folders, pairs=["en-fr"]), results)
    cells = plan(folders)
    run(cells, results, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, len(cells)) for done in range(len(cells) // 2, len(cells) + 1)]
