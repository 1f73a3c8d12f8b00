"""Reports about probes of a migration: what they say, and that texts of items in them do no harm."""

import numpy as np
import pytest
from test_report_page import HOSTILE, read_page

from fipp.migrate import PairedSample, probe
from fipp.report import write_probe_report


def sample_of(queries, n=300):
    rng = np.random.default_rng(0)
    new = rng.standard_normal((n, 12))
    asked = new[:60] + 0.2 * rng.standard_normal((60, 12))
    old, old_asked = new[:, :8] @ np.diag(np.linspace(1, 2, 8)), asked[:, :8] @ np.diag(np.linspace(1, 2, 8))
    known = {"old_queries": old_asked, "new_queries": asked, "gold": list(range(60))} if queries else {}
    return PairedSample.from_arrays(old, new, texts=[HOSTILE[row % len(HOSTILE)] for row in range(n)], **known)


@pytest.mark.parametrize("queries", [True, False])
def test_a_probe_report_has_every_way_the_curve_the_worst_groups_and_the_verdict(tmp_path, queries):
    found = probe(sample_of(queries), size=5000)
    path = tmp_path / "probe.html"
    write_probe_report(found, path, names=("<b>v1", "v2"), details={"Queries": "q.parquet"})
    page, text = read_page(path)
    assert found.verdict in text and "q.parquet" in text and "<b>v1" in text
    for way in found.ways:
        assert way.name in text and f"{way.recall.value:.3f}" in text
    assert ("nDCG@10" in text) == queries
    assert all(f"{count:,}" in text for count, _ in found.curve)
    assert all(f"{100 * cluster.recall:.0f} %" in text for cluster in found.clusters)
    names = [name for name, _ in page.tags]
    assert names.count("script") == 1 and "img" not in names and "b" not in names
    assert names.count("svg") == 4 and path.stat().st_size < 3_000_000
    assert not any(each.startswith("on") or each == "style" for _, given in page.tags for each in given)
