"""A migration maps in one direction, and refuses everything else."""

import numpy as np
import pytest
from safetensors.numpy import load_file

import fipp
from fipp import FippError, FippWarning
from fipp.io import read_model, write_model
from fipp.migrate import Fingerprint, Migration, PairedSample

SPREAD = {"old": np.geomspace(1, 0.1, 12), "new": np.geomspace(0.1, 1, 12)}


def vectors(n=400, d_new=12, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 12))
    return hidden * SPREAD["old"] + 0.3, (hidden * SPREAD["new"])[:, :d_new] - 0.2


def migration(direction="documents", d_new=12, queries=True, **names):
    old, new = vectors(d_new=d_new)
    asked = {"old_queries": old[300:], "new_queries": new[300:]} if queries else {}
    return Migration.fit(PairedSample.from_arrays(old[:300], new[:300], **asked), direction=direction, **names)


@pytest.fixture(scope="module")
def documents():
    return migration(old_name="v1", new_name="v2")


@pytest.fixture(scope="module")
def queries():
    return migration("queries", old_name="v1", new_name="v2")


def test_documents_become_vectors_of_the_new_model(documents):
    old, new = vectors(seed=1)
    converted = documents.convert_documents(old)
    cosines = (converted * new).sum(axis=1) / np.linalg.norm(converted, axis=1) / np.linalg.norm(new, axis=1)
    assert converted.dtype == np.float32 and cosines.mean() > 0.85
    assert np.allclose(
        converted,
        documents.aligner.transform(old)
        / np.linalg.norm(documents.aligner.transform(old), axis=1)[:, None]
        * documents.new.length,
        atol=1e-5,
    )


def test_queries_become_vectors_of_the_old_model(queries):
    old, new = vectors(seed=1)
    adapted = queries.adapt_queries(new)
    cosines = (adapted * old).sum(axis=1) / np.linalg.norm(adapted, axis=1) / np.linalg.norm(old, axis=1)
    assert cosines.mean() > 0.85 and queries.n_queries == 100


def test_converted_vectors_are_as_long_as_those_of_the_new_model():
    old, new = vectors()
    unit = new / np.linalg.norm(new, axis=1, keepdims=True)
    for length in (1, 7.5):
        fitted = Migration.fit(PairedSample.from_arrays(old, length * unit), direction="documents")
        assert np.allclose(np.linalg.norm(fitted.convert_documents(old), axis=1), length, rtol=1e-4)


def test_vectors_of_zeros_stay_zero(documents):
    X = vectors()[0]
    X[3] = 0
    assert not documents.convert_documents(X)[3].any() and documents.convert_documents(X)[4].any()


def test_the_wrong_verb_is_refused_before_the_vectors_are_looked_at(documents, queries):
    with pytest.raises(FippError, match="converts stored vectors of 'v1' to 'v2': to adapt queries of 'v2' to 'v1'"):
        documents.adapt_queries("nothing that could be an array")
    with pytest.raises(FippError, match="adapts queries of 'v2' to 'v1': to convert stored vectors of 'v1' to 'v2'"):
        queries.convert_documents("nothing that could be an array")
    with pytest.raises(FippError, match="'documents' or 'queries', not 'backwards'"):
        migration("backwards")


def test_other_dimensions_are_refused_and_a_swap_is_named():
    fitted = migration(d_new=9)
    with pytest.raises(
        FippError, match="takes vectors of 'old', which have 12 dimensions; these have 9, as vectors of"
    ):
        fitted.convert_documents(vectors(d_new=9)[1])
    with pytest.raises(FippError, match=r"these have 5$"):
        fitted.expect("documents", 5)
    fitted.expect("documents", 12)


def test_vectors_of_the_other_model_are_recognised_though_the_dimensions_agree(documents, queries):
    old, new = vectors(seed=2)
    with pytest.raises(FippError, match=r"not vectors of the model 'v1'.*look like vectors of 'v2'"):
        documents.convert_documents(new)
    with pytest.raises(FippError, match=r"not vectors of the model 'v2'.*look like vectors of 'v1'"):
        queries.adapt_queries(old)
    assert documents.convert_documents(new, check=False).shape == new.shape


def test_vectors_of_a_third_model_are_refused(documents):
    with pytest.raises(FippError, match="texts unlike those of the sample"):
        documents.check(vectors()[0] @ np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0])


def test_a_few_vectors_are_not_judged(documents):
    assert documents.convert_documents(vectors()[1][:5]).shape == (5, 12)


def test_a_query_adapter_without_queries_says_what_it_lacks():
    with pytest.warns(FippWarning, match="no queries embedded by both models"):
        fitted = migration("queries", queries=False)
    # What queries look like is not known, so that none are refused.
    assert fitted.adapt_queries(vectors()[0]).shape == (400, 12) and fitted.n_queries == 0


def test_a_fingerprint_is_the_density_of_a_gaussian():
    from scipy.stats import multivariate_normal

    X = vectors()[0]
    found = Fingerprint.of(X, "v1")
    k, V = len(found.variances), found.directions.astype(np.float64)
    covariance = V.T @ np.diag(found.variances - found.noise) @ V + found.noise * np.eye(12)
    unit = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    expected = multivariate_normal(found.mean, covariance).logpdf(unit) + 6 * np.log(2 * np.pi)
    assert k == 11 and np.allclose(found.log_density(unit), expected, atol=1e-2)
    assert found.share_unusual(X[1::2]) == pytest.approx(0.01)


def test_it_is_saved_and_loaded_as_it_was(documents, tmp_path):
    path = tmp_path / "v1-v2.fipp"
    documents.save(path)
    loaded = Migration.load(path)
    assert repr(loaded) == repr(documents) and loaded.as_dict() == documents.as_dict()
    old, new = vectors(seed=1)
    assert np.array_equal(loaded.convert_documents(old), documents.convert_documents(old))
    with pytest.raises(FippError, match="look like vectors of 'v2'"):
        loaded.check(new)
    loaded.save(tmp_path / "again.fipp")
    assert (tmp_path / "again.fipp").read_bytes() == path.read_bytes()


def test_an_alignment_and_a_migration_are_not_mistaken_for_each_other(documents, tmp_path):
    documents.save(tmp_path / "migration.fipp")
    with pytest.raises(FippError, match="is a migration between embedding models"):
        fipp.Alignment.load(tmp_path / "migration.fipp")
    documents.aligner.save(tmp_path / "aligner.fipp")
    with pytest.raises(FippError, match="no migration between embedding models"):
        Migration.load(tmp_path / "aligner.fipp")


@pytest.mark.parametrize(
    ("tensor", "header"),
    [
        ({"old.mean": np.zeros(5, np.float32)}, {}),
        ({"new.variances": -np.ones(11, np.float32)}, {}),
        ({"old.more": np.zeros(5, np.float32)}, {}),
        ({}, {"direction": "sideways"}),
        ({}, {"recall": 7.0}),
        ({}, {"n_items": "many"}),
        ({}, {"old": {"name": "v1"}}),
        ({}, {"secret": 1}),
    ],
)
def test_damaged_files_are_refused(documents, tmp_path, tensor, header):
    path = tmp_path / "v1-v2.fipp"
    documents.save(path)
    tensors, described = read_model(path)
    assert set(tensors) == set(load_file(path))
    described["migration"] |= header
    write_model(path, {**tensors, **tensor}, described)
    with pytest.raises(FippError, match="is damaged, or was written by a newer fipp"):
        Migration.load(path)
