"""`fipp hub` writes the vectors of all languages in one space, and the maps."""

import json

import numpy as np
import pytest

import fipp
from fipp import Lexicon, Vectors


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    for name in ("en", "fr", "fi"):
        omega = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        Vectors([f"{name}{row}" for row in range(300)], X @ omega).save(tmp_path / f"{name}.vec")
    for a, b, rows in (("en", "fr", range(150)), ("en", "fi", range(150)), ("fi", "fr", range(200, 300))):
        Lexicon([(f"{a}{row}", f"{b}{row}") for row in rows]).save(tmp_path / f"{a}-{b}.tsv")
    return tmp_path


def arguments(folder):
    vectors = [f"{name}={folder / name}.vec" for name in ("en", "fr", "fi")]
    return ["hub", *vectors, "--dict", f"en-fr={folder}/en-fr.tsv", "--dict", f"en-fi={folder}/en-fi.tsv",
            "--method", "procrustes", "-o", folder / "shared"]  # fmt: skip


def test_hub_writes_maps_and_vectors_in_one_space(files, run):
    done = run(*arguments(files), "--test", f"fi-fr={files}/fi-fr.tsv", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["hub"] == "en" and told["tests"]["fi-fr"]["map"] > 0.99
    shared = {name: Vectors.load(files / "shared" / f"{name}.npy") for name in ("en", "fr", "fi")}
    np.testing.assert_allclose(shared["fi"].matrix, shared["fr"].matrix, atol=1e-3)
    hub = fipp.Hub.load(files / "shared" / "hub.fipp", {"en": files / "en.vec"})
    np.testing.assert_array_equal(hub.transform("en").matrix, shared["en"].matrix)


def test_hub_prints_a_table_and_does_not_overwrite_unasked(files, run):
    done = run(*arguments(files), "--test", f"fi-fr={files}/fi-fr.tsv", "--format", "none")
    assert done.exit_code == 0 and "fi-fr" in done.stdout and not (files / "shared" / "en.npy").exists()
    assert run(*arguments(files)).exit_code == 2
    assert run(*arguments(files), "--force").exit_code == 0
    (files / "shared" / "hub.fipp").unlink()
    done = run(*arguments(files))
    assert done.exit_code == 2 and "en.npy exists already" in done.stderr


def test_info_shows_what_is_in_a_hub(files, run):
    run(*arguments(files), "--format", "none")
    told = json.loads(run("info", files / "shared" / "hub.fipp", "--json").stdout)
    assert told["hub"] == "en" and told["dimensions"] == 8 and told["pairs"] == {"fi": 150, "fr": 150}
    shown = run("info", files / "shared" / "hub.fipp")
    assert shown.exit_code == 0 and "a hub of fipp" in shown.stdout and "150 pairs" in shown.stdout


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--dict", "en-de=x.tsv"], "two of the names"),
        (["--hub", "de"], "no vectors for the hub"),
        (["en2"], "a name and a file"),
        (["en=other.vec"], "is taken"),
    ],
)
def test_mistakes_end_with_code_2(files, run, extra, message):
    done = run(*arguments(files), *extra)
    assert done.exit_code == 2 and message in done.stderr
