"""A probe finds the right option on spaces whose relation is known."""

import json

import numpy as np
import pytest

from fipp import FippError
from fipp.migrate import PairedSample, probe


def sample_of(relate, n=600, d=24, queries=150, seed=0):
    rng = np.random.default_rng(seed)
    new = rng.standard_normal((n, d)) * np.geomspace(1, 0.3, d)
    asked = new[:queries] + 0.15 * rng.standard_normal((queries, d))
    both = relate(np.vstack([new, asked]), rng)
    texts = [f"item {row}" for row in range(n)]
    queries = {"old_queries": both[n:], "new_queries": asked, "gold": list(range(len(asked)))}
    return PairedSample.from_arrays(both[:n], new, texts=texts, **queries)


def first_items(whole, n):
    """Return a sample of the first items, with the queries that they answer."""
    queries = {"old_queries": whole.old_queries[:n], "new_queries": whole.new_queries[:n], "gold": list(range(n))}
    return PairedSample.from_arrays(whole.old[:n], whole.new[:n], **queries)


def rotated(X, rng):
    return X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]


def half_lost(X, rng):
    return X[:, : X.shape[1] // 3] + 0.3 * rng.standard_normal((len(X), X.shape[1] // 3))


def test_nothing_needs_to_be_done_if_the_old_model_is_as_good():
    found = probe(sample_of(rotated), size=600)
    assert found.recommended == "stay on the old model"
    assert found.way("convert").recall.value > 0.95


def test_embedding_again_or_scoring_again_is_advised_if_the_old_model_lost_much():
    found = probe(sample_of(half_lost), size=6000)
    assert found.recommended == "embed again" or "score the first" in found.recommended
    assert found.way("convert").mrr.value < found.way("embed again").mrr.value - 0.1
    assert "Embed everything again" in found.verdict or "score the first" in found.verdict


def test_figures_are_ordered_and_have_intervals():
    found = probe(sample_of(half_lost), size=6000)
    for way in found.ways:
        for each in (way.recall, way.mrr, way.ndcg):
            assert 0 <= each.low <= each.value <= each.high <= 1
    rescored = [found.way(f"convert, score the first {first} again").recall.value for first in (50, 100, 200)]
    assert found.way("convert").recall.value < rescored[0] < rescored[1] < rescored[2] <= 1
    assert found.way("embed again").share == 1


def test_the_forecast_is_near_the_truth():
    whole = sample_of(half_lost, n=4400, queries=4400)
    part = first_items(whole, 1000)
    from fipp import KernelRidge

    found = probe(part, size=3400)
    aligner = KernelRidge("linear" if found.map == "linear" else "rbf").fit(part.old, part.new)
    pool, asked = aligner.transform(whole.old[1000:]), whole.new_queries[1000:]
    scores = (asked / np.linalg.norm(asked, axis=1)[:, None]) @ (pool / np.linalg.norm(pool, axis=1)[:, None]).T
    own = np.diag(scores)[:, None]
    truth = (1 / (1 + (scores > own).sum(axis=1))).mean()
    forecast = found.way("convert").mrr
    assert forecast.value == pytest.approx(truth, abs=0.08)
    assert forecast.low < forecast.value < forecast.high < forecast.low + 0.2


def test_answers_among_the_first_found_are_forecast():
    whole = sample_of(half_lost, n=2400, queries=2400)
    part = first_items(whole, 600)
    found = probe(part, size=1800)
    pool, asked = whole.old[600:], whole.old_queries[600:]
    scores = asked @ (pool / np.linalg.norm(pool, axis=1)[:, None]).T
    truth = np.mean((scores > np.diag(scores)[:, None]).sum(axis=1) < 100)
    assert found.way("stay on the old model, score the first 100 again").hits == pytest.approx(truth, abs=0.05)
    hits = [found.way(f"convert, score the first {first} again").hits for first in (50, 100, 200)]
    assert 0 < hits[0] < hits[1] < hits[2] <= 1
    assert found.way("convert").hits is None and found.as_dict()["ways"][1]["hits"] == found.ways[1].hits


def test_a_cascade_embeds_at_most_what_queries_with_random_candidates_need():
    found = probe(sample_of(half_lost), size=6000)
    rng = np.random.default_rng(0)
    simulated = len(set(np.concatenate([rng.choice(6000, 100, replace=False) for _ in range(80)]).tolist()))
    assert found.most_embedded(80) == pytest.approx(simulated, rel=0.02)
    assert found.most_embedded(1) == 100 and found.most_embedded(10**7) == 6000
    assert found.most_embedded(10, first=20) < found.most_embedded(10)


def test_without_queries_only_recall_is_known_and_the_verdict_says_so():
    whole = sample_of(half_lost)
    found = probe(PairedSample.from_arrays(whole.old, whole.new))
    assert found.way("convert").mrr is None and "Without queries" in found.verdict and found.size == 6000


def test_clusters_are_shown_by_their_texts_and_everything_as_json():
    found = probe(sample_of(half_lost), size=6000)
    assert found.clusters and found.clusters[0].recall <= found.clusters[-1].recall
    assert found.clusters[0].examples[0].startswith("item ")
    assert json.loads(json.dumps(found.as_dict()))["recommended"] == found.recommended


def test_the_same_sample_gives_the_same_figures():
    sample = sample_of(half_lost)
    assert probe(sample, size=6000).as_dict() == probe(sample, size=6000).as_dict()


def test_a_collection_is_at_least_as_large_as_the_sample():
    with pytest.raises(FippError, match="at least the 600"):
        probe(sample_of(rotated), size=10)


def test_the_command_prints_a_table_and_json(tmp_path):
    from typer.testing import CliRunner

    from fipp.cli import app

    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    sample = sample_of(half_lost)
    columns = {"old": list(sample.old), "new": list(sample.new), "id": range(len(sample))}
    parquet.write_table(arrow.table(columns), tmp_path / "sample.parquet")
    asked = {"old": list(sample.old_queries), "new": list(sample.new_queries), "gold": range(150)}
    parquet.write_table(arrow.table(asked), tmp_path / "queries.parquet")
    command = ["migrate", "probe", str(tmp_path / "sample.parquet"), "--queries", str(tmp_path / "queries.parquet")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "recall@10" in shown.stdout and "embed again" in shown.stdout
    assert (
        "the first 50, 100 and 200 converted items include" in shown.stdout
        and "the new model embeds at most" in shown.stdout
    )
    assert json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["n_items"] == 600
