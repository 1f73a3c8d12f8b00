"""`fipp reproduce xling`."""

import json

import pytest

from fipp import Lexicon


@pytest.fixture
def folders(space):
    for name in ("vectors", "dictionaries"):
        (space.folder / name).mkdir()
    space.source.rename(space.folder / "vectors" / "en.vec")
    space.target.rename(space.folder / "vectors" / "fr.vec")
    Lexicon.load(space.seed).save(space.folder / "dictionaries" / "yacle.train.freq.1k.en-fr.tsv")
    Lexicon.load(space.test).save(space.folder / "dictionaries" / "yacle.test.freq.2k.en-fr.tsv")
    return space.folder / "vectors", space.folder / "dictionaries"


def test_tables_go_to_standard_output_and_notes_elsewhere(run, folders):
    done = run("reproduce", "xling", *folders, "--sizes", "1k", "--tables", "main", "--methods", "procrustes,fipp")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("## Mean average precision, 1K training pairs\n")
    assert "pairs: en-fr" in done.stderr and "en-fr" in done.stdout and "FIPP + SL" not in done.stdout


def test_tables_are_written_to_a_file_in_the_format_asked_for(run, folders, tmp_path):
    output, results = tmp_path / "tables.csv", tmp_path / "results.jsonl"
    options = ["--tables", "main", "--format", "csv", "--results", results, "-o", output, "--pairs", "FR-EN"]
    done = run("reproduce", "xling", *folders, *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert output.read_text(encoding="utf-8").startswith("table,size,row,column,value\nmain,1k,fr-en,")
    (table,) = json.loads(run("reproduce", "xling", *folders, *options, "--json").stdout)["tables"]
    assert table["rows"][0][0] == "fr-en" and table["size"] == "1k"
    assert len(results.read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--format", "html"], "no format 'html'"),
        (["--tables", "x"], "no table 'x'"),
        (["--vectors", "en=absent"], "there is no absent"),
        (["-o", "/no/such/folder/x.md"], "does not exist"),
    ],
)
def test_mistakes_are_told_before_anything_is_run(run, folders, options, complaint):
    done = run("reproduce", "xling", *folders, *options)
    assert done.exit_code == 2
    assert complaint in done.stderr


def test_similarity_is_found_beside_the_other_folders_and_figures_are_drawn(run, folders, tmp_path):
    (folders[0].parent / "similarity").mkdir()
    lines = (f"e{i}\te{i + 1}\t{i % 7}\n" for i in range(50))
    (folders[0].parent / "similarity" / "en-simlex999.tsv").write_text("".join(lines))
    tables = ["--tables", "similarity,products,spectrum", "--figures", tmp_path / "figures", "--sizes", "1k"]
    done = run("reproduce", "xling", *folders, *tables)
    assert done.exit_code == 0, done.stderr
    assert "| en-fr | en simlex999 |" in done.stdout and "0.382" in done.stdout
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "products.en-fr.1k.png",
        "spectrum.en-fr.1k.png",
    }
    assert "2 figures in" in done.stderr


def test_the_option_names_another_folder_of_similarity(run, folders, tmp_path):
    done = run("reproduce", "xling", *folders, "--tables", "similarity", "--similarity", tmp_path / "absent")
    assert done.exit_code == 2 and "absent is not a folder" in done.stderr
