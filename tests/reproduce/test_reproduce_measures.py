"""Word similarity, spectra and inner products: several rows a pair, against calculations by hand."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from fipp import FIPP, RCSLS, FippError, Lexicon, Procrustes, Vectors
from fipp.experiments import read_results
from fipp.report import plot_paper
from fipp.reproduce import discover, make_plan, make_tables, run


@pytest.fixture
def with_similarity(folders):
    folder = folders.vectors.parent / "similarity"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name, first, second in (
        ("en-simlex999.tsv", "en", "en"),
        ("fr.sim.csv", "fr", "fr"),
        ("en-fr.rg65.csv", "en", "fr"),
        ("xx_other.txt", "xx", "xx"),
        ("readme.txt", "no", "no"),
        ("en.absent.tsv", "zz", "zz"),
    ):
        separator = "," if name.endswith("csv") else "\t"
        lines = (separator.join((f"{first}{i}", f"{second}{i + 1}", f"{rng.random():.3f}")) for i in range(60))
        (folder / name).write_text("\n".join(lines) + "\n")
    return folders


def table_of(folders, name, **options):
    cells = make_plan(discover(*folders), sizes=["1k"], pairs=["en-fr"], tables=[name], **options)
    results = folders.vectors.parent / "results.jsonl"
    run(cells, results)
    records = read_results(results)  # as another run would find them
    (table,) = make_tables(cells, records, [name])
    return table, cells, records


def fitted(folders, aligner):
    source, target = (Vectors.load(folders.vectors / name) for name in ("wiki.en.vec", "cc.fr.300.vec.gz"))
    rows = Lexicon.load(folders.dictionaries / "en-fr" / "train.1k.tsv").lookup(source, target).rows
    return aligner.fit(source.matrix, target.matrix, rows), source, target, rows


def test_similarity_is_correlated_before_and_after_in_either_language_and_across(with_similarity):
    table, *_ = table_of(with_similarity, "similarity")
    assert [row[:2] for row in table.rows] == [
        ["en-fr", "en simlex999"],
        ["en-fr", "fr sim"],
        ["en-fr", "en-fr rg65"],
    ]
    rows = {row[1]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert (
        rows["en simlex999"]["FIPP (published), paper (en-tr)"] == 0.381
        and rows["fr sim"]["before, paper (en-tr)"] is None
    )
    assert rows["en-fr rg65"]["before"] is None and rows["en-fr rg65"]["pairs found"] == "60 of 60"

    ours, source, *_ = fitted(with_similarity, FIPP())
    published, *_ = fitted(with_similarity, FIPP.published())
    text = (with_similarity.vectors.parent / "similarity" / "en-simlex999.tsv").read_text()
    scores = [float(line.split("\t")[2]) for line in text.splitlines()]

    def cosines(X):
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        return (X[:60] * X[1:61]).sum(axis=1)

    row = rows["en simlex999"]
    assert row["before"] == pytest.approx(spearmanr(cosines(source.matrix), scores).statistic)
    for label, aligner in (("ours", ours), ("published", published)):
        after = spearmanr(cosines(aligner.transform(source.matrix)), scores).statistic
        assert row[f"FIPP ({label})"] == pytest.approx(after, abs=1e-3)
    assert row["Procrustes"] == pytest.approx(row["before"], abs=1e-3)  # a rotation changes no cosine


def test_a_folder_of_similarity_is_taken_if_given_and_refused_if_it_is_none(with_similarity, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    assert discover(*with_similarity).similarity_sets("en-fr")
    assert not discover(*with_similarity, similarity=tmp_path / "elsewhere").similarity_sets("en-fr")
    with pytest.raises(FippError, match="absent is not a folder"):
        discover(*with_similarity, similarity=tmp_path / "absent")


def test_spectra_are_those_of_the_seed_words_and_their_ranks_are_told(folders):
    path = folders.vectors / "wiki.en.vec"
    english = Vectors.load(path)
    Vectors(english.words, english.matrix[:, :8]).save(path)  # as if reduced: 8 dimensions to 12
    table, *_ = table_of(folders, "spectrum")
    rows = {row[1]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    aligner, source, target, pairs = fitted(folders, FIPP())
    mapped = np.linalg.svd(aligner.transform(source.matrix[pairs[:, 0]]), compute_uv=False) ** 2
    aimed = np.linalg.svd(aligner.transform_target(target.matrix[pairs[:, 1]]), compute_uv=False) ** 2
    assert [rows[place]["FIPP (ours), mapped"] for place in ("1", "5")] == pytest.approx(mapped[[0, 4]], rel=1e-4)
    assert rows["10"]["target"] == pytest.approx(aimed[9], rel=1e-4) and rows["10"]["source"] is None
    for label, other in (("Procrustes + IP", Procrustes(preprocess="isotropic")), ("RCSLS", RCSLS())):
        turned = fitted(folders, other)[0].transform(source.matrix[pairs[:, 0]])
        assert rows["5"][label] == pytest.approx(np.linalg.svd(turned, compute_uv=False)[4] ** 2, rel=1e-4)
    # The paper's equal rank is that of its X̃_s; words, mapped linearly, keep the source's.
    assert rows["rank"]["FIPP (published), X̃_s"] == rows["rank"]["target"] == "12"
    assert rows["rank"]["FIPP (published), mapped"] == rows["rank"]["FIPP (ours), mapped"] == "8"


def test_inner_products_are_described_by_quantiles_and_how_far_the_sides_are_apart(folders):
    table, *_ = table_of(folders, "products")
    rows = {row[1]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    aligner, source, target, pairs = fitted(folders, FIPP())
    X, Y = source.matrix[pairs[:, 0]], target.matrix[pairs[:, 1]]

    def products(X):
        return np.array([X[i] @ X[j] for i in range(len(X)) for j in range(i)])

    assert list(rows)[:4] == ["mean", "standard deviation", "1 %", "5 %"]
    assert rows["5 %"]["source"] == pytest.approx(np.quantile(products(X), 0.05), rel=1e-4)
    assert rows["mean"]["target, IP"] == pytest.approx(products(aligner.transform_target(Y)).mean(), rel=1e-3)
    for label, mapped in (("ours", aligner), ("published", fitted(folders, FIPP.published())[0])):
        deviation = products(mapped.transform(X)).std()
        assert rows["standard deviation"][f"source, aligned ({label})"] == pytest.approx(deviation, rel=1e-3)
    apart = ks_2samp(products(X), products(Y)).statistic
    assert rows["KS distance of the sides"]["target"] == pytest.approx(apart, abs=1e-3)


def test_figures_are_drawn_for_every_pair(with_similarity, tmp_path):
    cells = make_plan(discover(*with_similarity), sizes=["1k"], tables=["spectrum", "products", "sgd"], sgd_steps=3)
    written = plot_paper(cells, run(cells), tmp_path / "figures")
    assert {path.name for path in written} == {
        f"{name}.{pair}.1k.png" for name in ("spectrum", "products", "descent") for pair in ("en-fr", "xx-en")
    }
    assert all(path.read_bytes()[1:4] == b"PNG" for path in written)
