"""`fipp transform`."""

import numpy as np
import pytest

from fipp import Alignment, Vectors


@pytest.mark.parametrize("name", ["out.vec", "out.vec.gz", "out.npy"])
def test_mapped_vectors_are_those_of_the_library(run, aligned, name):
    output = aligned.folder / name
    result = run("transform", aligned.model, aligned.source, "-o", output)
    assert result.exit_code == 0 and f"{output}: 300 words x 8" in result.stdout
    expected = Alignment.load(aligned.model).transform(Vectors.load(aligned.source))
    written = Vectors.load(output)
    assert written.words == expected.words and np.array_equal(written.matrix, expected.matrix)


def test_target_vectors_go_to_the_shared_space_too(run, aligned):
    output = aligned.folder / "out.npy"
    assert run("transform", aligned.model, aligned.target, "-o", output, "--target", "--limit", 50).exit_code == 0
    expected = Alignment.load(aligned.model).transform_target(Vectors.load(aligned.target, limit=50))
    assert np.array_equal(Vectors.load(output).matrix, expected.matrix)


def test_a_note_says_so_if_the_target_must_be_transformed_too(run, aligned):
    output, arguments = (
        aligned.folder / "out.npy",
        ("--dict", aligned.seed, "-o", aligned.model, "--force", "--method", "spectral"),
    )
    note = "the target is mapped too; compare with target vectors transformed by --target"
    assert note not in run("transform", aligned.model, aligned.source, "-o", output).stderr
    assert run("align", aligned.source, aligned.target, *arguments).exit_code == 0
    assert note in run("transform", aligned.model, aligned.source, "-o", output).stderr
    assert note not in run("transform", aligned.model, aligned.target, "-o", output, "--target").stderr


def test_the_wrong_dimension_is_refused_with_a_hint(run, aligned):
    result = run("transform", aligned.model, aligned.target, "-o", aligned.folder / "out.npy")
    assert result.exit_code == 2
    assert "maps source vectors of 12 dimensions" in result.stderr and "--target" in result.stderr
    assert not (aligned.folder / "out.npy").exists()


@pytest.mark.parametrize("output", ["e.vec", "link.vec", "e-f.fipp"])
def test_the_inputs_are_never_overwritten(run, aligned, output):
    (aligned.folder / "link.vec").symlink_to(aligned.source)
    before = aligned.source.read_bytes(), aligned.model.read_bytes()
    result = run("transform", aligned.model, aligned.source, "-o", aligned.folder / output)
    assert result.exit_code == 2
    assert (aligned.source.read_bytes(), aligned.model.read_bytes()) == before


def test_the_words_of_a_matrix_are_never_overwritten(run, aligned):
    matrix = aligned.folder / "e.npy"
    Vectors.load(aligned.source).save(matrix)
    words = matrix.with_suffix(".txt").read_bytes()
    result = run("transform", aligned.model, matrix, "-o", matrix.with_suffix(".txt"))
    assert result.exit_code == 2 and "would overwrite the input" in result.stderr
    assert matrix.with_suffix(".txt").read_bytes() == words


def test_an_unknown_format_is_refused_before_anything_is_read(run, aligned):
    result = run("transform", aligned.model, aligned.folder / "nothing.vec", "-o", aligned.folder / "out.h5")
    assert result.exit_code == 2 and "in no format that fipp knows" in result.stderr


def test_a_table_keeps_all_of_its_columns_and_rows(run, aligned):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    model, source = Alignment.load(aligned.model), Vectors.load(aligned.source)
    n = len(source)
    columns = {
        "id": [None, 7, 7, *range(n - 3)],
        "word": ["twice", "twice", None, *source.words[3:]],
        "tags": [["a", None]] * n,
        "vector": source.matrix.tolist(),
    }
    columns["vector"][5] = None
    table = pa.table(columns)
    pq.write_table(table, aligned.folder / "in.parquet", row_group_size=70)
    done = run("transform", aligned.model, aligned.folder / "in.parquet", "-o", aligned.folder / "out.arrow")
    assert done.exit_code == 0 and f"{n} rows x 8" in done.stdout
    found = pa.ipc.open_file(aligned.folder / "out.arrow").read_all()
    assert found.drop(["vector"]).equals(table.drop(["vector"]))
    expected = model.aligner.transform(np.delete(source.matrix, 5, axis=0))
    np.testing.assert_allclose([row for row in found["vector"].to_pylist() if row], expected, rtol=1e-5, atol=1e-6)
    output = aligned.folder / "out.parquet"
    assert run("transform", aligned.model, aligned.folder / "in.parquet", "-o", output, "--limit", 90).exit_code == 0
    assert pq.read_table(output)["tags"].to_pylist() == columns["tags"][:90]
    wrong = run("transform", aligned.model, aligned.folder / "in.parquet", "-o", output, "--target")
    assert wrong.exit_code == 2 and "maps target vectors of 8 dimensions" in wrong.stderr
    wide = pa.table({"word": source.words, **{f"d{place}": source.matrix[:, place] for place in range(source.dim)}})
    pq.write_table(wide, aligned.folder / "wide.parquet")
    assert f"{n} words x 8" in run("transform", aligned.model, aligned.folder / "wide.parquet", "-o", output).stdout
