"""The pieces of examples/debian_descriptions.py."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import fipp

SCRIPT = Path(__file__).parents[1] / "examples" / "debian_descriptions.py"

PACKAGES = """Package: alpha
Version: 1
Section: games
Description: a game
Tag: role::program,
 game::toys

Package: alpha-data
Source: alpha (1.0)
Section: contrib/games

Package: omega
Section: sound

Package: without
Version: 3
"""
FRENCH = """Package: alpha
Description-md5: 1
Description-fr: un jeu
 Avec des   toupies.
 .
 Fin.

Package: alpha-data
Description-fr: un jeu
 Avec des   toupies.
 .
 Fin.

Package: omega
Description-fr: du son

Package: elsewhere
Description-fr: rien"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("debian_descriptions", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "x_main_binary-amd64_Packages").write_text(PACKAGES)
    (tmp_path / "x_main_i18n_Translation-fr").write_text(FRENCH)
    return tmp_path


def test_fields_continue_over_lines_and_a_full_stop_is_an_empty_one(script, lists):
    first, *_, last = script.stanzas(lists / "x_main_i18n_Translation-fr")
    assert first["Description-fr"] == "un jeu\nAvec des   toupies.\n\nFin."
    assert last == {"Package": "elsewhere", "Description-fr": "rien"}  # no empty line at the end of the file


def test_a_package_has_its_section_without_the_area_and_its_source(script, lists):
    assert script.read_packages(lists) == {
        "alpha": ("games", "alpha"),
        "alpha-data": ("games", "alpha"),
        "omega": ("sound", "omega"),
    }


def test_a_text_is_taken_once_and_no_source_is_on_both_sides(script, lists):
    packages, french = script.read_packages(lists), script.read_descriptions(lists, "fr")
    assert set(french) == {"alpha", "alpha-data", "omega", "elsewhere"}
    sides = []
    for training in (True, False):
        own = {source for _, source in packages.values() if script.is_for_training(source) == training}
        sides.append(own)
        if own:
            made = script.corpus(packages, french, ["games", "sound"], training)
            assert len(made) == len(own)  # alpha and alpha-data are described by the same words
    assert sides[0].isdisjoint(sides[1]) and sides[0] | sides[1] == {"alpha", "omega"}


def test_halves_are_about_equal(script):
    count = sum(script.is_for_training(f"package-{number}") for number in range(2000))
    assert 900 < count < 1100


def test_sections_need_enough_descriptions(script, lists):
    packages, french = script.read_packages(lists), script.read_descriptions(lists, "fr")
    assert script.choose_sections(packages, french, 1) == ["games", "sound"]
    assert script.choose_sections(packages, french, 2) == ["games"]


def test_results_are_kept_and_read_again(script, tmp_path):
    path = tmp_path / "results.jsonl"
    key = ("fr", "fipp", "cnn")
    for told in ({"error": "at first"}, {"error": "no"}):
        script.write_result(path, key, told)
    assert script.read_results(path) == {key: told} and script.read_results(None) == {}  # the later counts
    assert "no" in script.line_of(key, told)


def test_missing_lists_are_said_with_what_to_do(script, tmp_path):
    with pytest.raises(SystemExit, match="how to fetch"):
        script.read_packages(tmp_path)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Packages of two sections, each described by its own words, and vectors in which English and French are alike."""
    rng = np.random.default_rng(0)
    words = [f"{section}{number}" for section in ("games", "sound") for number in range(30)]
    matrix = rng.normal(size=(60, 8)) + np.repeat([[2.0], [-2.0]], 30, axis=0)
    for code in ("en", "fr"):
        fipp.Vectors([code + word for word in words], matrix).save(tmp_path / f"{code}.vec")
    (tmp_path / "seed.tsv").write_text("".join(f"en{word}\tfr{word}\n" for word in words[::2]))
    texts = {f"p{i}": (words[i % 2 * 30], rng.choice(words[i % 2 * 30 :][:30], 5)) for i in range(80)}
    (tmp_path / "x_Packages").write_text(
        "".join(f"Package: {name}\nSection: {word[:5]}\n\n" for name, (word, _) in texts.items())
    )
    for code in ("en", "fr"):
        described = (
            f"Package: {name}\nDescription-{code}: {' '.join(code + word for word in drawn)}\n\n"
            for name, (_, drawn) in texts.items()
        )
        (tmp_path / f"x_Translation-{code}").write_text("".join(described))
    monkeypatch.chdir(tmp_path)
    files = ["--source", "en.vec", "--target", "fr.vec", "--dict", "seed.tsv", "--results", "kept"]
    return ["script", ".", *files, "--least", "5", "--classifiers", "logistic"]


def test_a_run_goes_on_where_it_was_and_single_methods_are_run_again(script, command, monkeypatch, capsys):
    def lines_after(*options):
        monkeypatch.setattr("sys.argv", [*command, *options])
        script.main()
        return Path("kept").read_text().splitlines()

    assert len(lines_after("--methods", "not aligned", "procrustes")) == 2
    assert len(lines_after("--methods", "procrustes", "fipp")) == 3  # Procrustes was there
    assert len(lines_after("--methods", "fipp", "--again")) == 4
    results = script.read_results(Path("kept"))
    assert results["fr", "procrustes", "logistic"]["micro_f1"] > 0.9
    low, high = results["fr", "fipp", "logistic"]["interval"]
    assert low <= results["fr", "fipp", "logistic"]["micro_f1"] <= high
    assert "micro F1" in capsys.readouterr().out
