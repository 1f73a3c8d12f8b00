"""Whole data sets, from a mirror on this machine."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import zipfile

import pytest
from faulty_server import Page, wait_until
from typer.testing import CliRunner

from fipp import Lexicon
from fipp.cli import app
from fipp.datasets import _registry, download, find_data_set
from fipp.datasets._download import address, extract
from fipp.exceptions import FippError

MUSE = "/dl.fbaipublicfiles.com/arrival/dictionaries/en-hr"
WIKI = "/dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.hr.vec"
GLOVE = "/nlp.stanford.edu/data/glove.6B.zip"


@pytest.fixture
def mirror(server, monkeypatch):
    monkeypatch.setenv("FIPP_MIRROR", f"{server.url}/")
    for part in ("", ".0-5000", ".5000-6500"):
        server.pages[f"{MUSE}{part}.txt"] = Page(b"cat ma\xc4\x8dka\ndog pas\n")
    return server


@pytest.fixture
def known(monkeypatch):
    """Return a vector file whose checksum the registry knows."""
    body = b"2 2\nma\xc4\x8dka 1 0\npas 0 1\n" * 100
    monkeypatch.setitem(_registry.WIKI_MD5, "hr", hashlib.md5(body, usedforsecurity=False).hexdigest())
    return body


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def run(*arguments):
    return CliRunner().invoke(app, ["download", *map(str, arguments)])


def test_a_data_set_is_downloaded_once(mirror, tmp_path):
    paths = download("muse:en-hr", tmp_path)
    names = ["en-hr.txt", "en-hr.0-5000.txt", "en-hr.5000-6500.txt"]
    assert paths == [tmp_path / "muse" / name for name in names]
    assert list(Lexicon.load(paths[0])) == [("cat", "mačka"), ("dog", "pas")]
    assert download("muse:en-hr", tmp_path) == paths and len(mirror.asked) == 3
    download("muse:en-hr", tmp_path, force=True)
    assert len(mirror.asked) == 6


def test_xling_files_have_the_names_that_fipp_uses(mirror, tmp_path):
    there = "/raw.githubusercontent.com/codogogo/xling-eval/master/bli_datasets/en-fr/yacle"
    for name in ("train.freq.1k", "train.freq.5k", "test.freq.2k"):
        mirror.pages[f"{there}.{name}.en-fr.tsv"] = Page(name.encode())
    paths = download("xling:en-fr", tmp_path)
    assert {path.name: path.read_text() for path in paths} == {
        "train.1k.tsv": "train.freq.1k",
        "train.5k.tsv": "train.freq.5k",
        "test.2k.tsv": "test.freq.2k",
    }


def test_a_mirror_can_be_named_in_the_call_and_may_have_a_path(server, tmp_path):
    server.pages[f"/public{WIKI}"] = Page(b"x")
    assert download("fasttext:hr", tmp_path, base_url=f"{server.url}/public", verify=False)[0].read_bytes() == b"x"


def test_without_a_folder_files_go_to_the_cache_folder(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("FIPP_CACHE", str(tmp_path))
    assert download("muse:en-hr")[0] == tmp_path / "downloads" / "muse" / "en-hr.txt"
    monkeypatch.setenv("FIPP_CACHE", "off")
    with pytest.raises(FippError, match="name a folder"):
        download("muse:en-hr")


def test_a_known_checksum_is_compared_unless_told_otherwise(mirror, known, tmp_path):
    mirror.pages[WIKI] = Page(known[:-1])
    with pytest.raises(FippError, match="was not kept"):
        download("fasttext:hr", tmp_path)
    assert os.listdir(tmp_path / "fasttext") == []
    assert download("fasttext:hr", tmp_path, verify=False)[0].read_bytes() == known[:-1]
    with pytest.raises(FippError, match="is not the file that was published"):
        download("fasttext:hr", tmp_path)
    mirror.pages[WIKI] = Page(known)
    assert download("fasttext:hr", tmp_path, force=True)[0].read_bytes() == known


def test_without_a_published_checksum_that_of_the_first_download_is_compared(mirror, tmp_path):
    path = download("muse:en-hr", tmp_path)[0]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path.with_name("en-hr.txt.sha256").read_text() == f"{digest}  en-hr.txt\n"
    path.write_bytes(b"damaged")
    with pytest.raises(FippError, match="is not the file that was published or first downloaded"):
        download("muse:en-hr", tmp_path)
    mirror.pages[f"{MUSE}.txt"] = Page(b"cat pas\n")
    with pytest.raises(FippError, match="was not kept"):
        download("muse:en-hr", tmp_path, force=True)
    assert download("muse:en-hr", tmp_path, force=True, verify=False)[0].read_bytes() == b"cat pas\n"
    assert download("muse:en-hr", tmp_path)[0].read_bytes() == b"cat pas\n"


def test_files_larger_than_asked_for_are_refused(mirror, tmp_path):
    result = run("muse:en-hr", "-o", tmp_path, "--max-size", "10B")
    assert result.exit_code == 2 and "more than the 10 bytes" in result.stderr
    assert run("muse:en-hr", "-o", tmp_path, "--max-size", "large").exit_code == 2
    assert run("muse:en-hr", "-o", tmp_path, "--max-size", "1MB").exit_code == 0


def test_a_known_size_is_a_limit(mirror, tmp_path, monkeypatch):
    mirror.pages[GLOVE] = Page(claimed_length=3 * 862_000_000)
    with pytest.raises(FippError, match="more than the 1,724,000,000 bytes"):
        download("glove:6B.50d", tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_nobody_else_may_look_into_the_cache_folder(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("FIPP_CACHE", str(tmp_path / "home" / "cache" / "fipp"))
    path = download("muse:en-hr")[0]
    made = [each for each in path.parents if tmp_path in each.parents]
    assert len(made) == 5 and {each.stat().st_mode & 0o777 for each in made} == {0o700}


def test_a_folder_in_the_place_of_a_file_is_a_readable_error(mirror, tmp_path):
    (tmp_path / "muse" / "en-hr.txt").mkdir(parents=True)
    with pytest.raises(FippError, match="exists and is not a file"):
        download("muse:en-hr", tmp_path)


def test_a_file_in_the_place_of_the_folder_is_a_readable_error(mirror, tmp_path):
    (tmp_path / "muse").write_text("")
    with pytest.raises(FippError, match="cannot create the folder"):
        download("muse:en-hr", tmp_path)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_positive(tmp_path, timeout):
    with pytest.raises(FippError, match="timeout"):
        download("muse:en-hr", tmp_path, timeout=timeout)


def test_only_the_wanted_member_is_taken_from_an_archive_which_is_transferred_once(mirror, tmp_path):
    mirror.pages[GLOVE] = Page(zipped(glove__6B__50d__txt=b"cat 1", glove__6B__100d__txt=b"cat 2", evil=b"x"))
    paths = download("glove:6B.100d", tmp_path, verify=False)
    assert paths[0].read_bytes() == b"cat 2"
    assert sorted(os.listdir(tmp_path / "glove")) == ["glove.6B.100d.txt", "glove.6B.zip"]
    assert download("glove:6B.50d", tmp_path, verify=False)[0].read_bytes() == b"cat 1"
    assert len(mirror.asked) == 1


def test_a_member_with_a_wrong_checksum_is_not_kept(mirror, tmp_path):
    mirror.pages[GLOVE] = Page(zipped(glove__6B__50d__txt=b"cat 1"))
    with pytest.raises(FippError, match="does not have the checksum"):
        download("glove:6B.50d", tmp_path)
    assert os.listdir(tmp_path / "glove") == ["glove.6B.zip"]


@pytest.mark.parametrize(
    "damage", [lambda body: b"no zip", lambda body: body[:-30], lambda body: body.replace(b"cat cat", b"cow cow")]
)
def test_a_damaged_archive_is_a_readable_error(tmp_path, damage):
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("x.txt", "cat cat")
    (tmp_path / "x.zip").write_bytes(damage(stored.getvalue()))
    with pytest.raises(FippError, match="not a zip archive that can be read"):
        extract(tmp_path / "x.zip", "x.txt", tmp_path / "x.txt")
    assert os.listdir(tmp_path) == ["x.zip"]


def test_a_member_larger_than_allowed_is_not_unpacked(tmp_path):
    (tmp_path / "x.zip").write_bytes(zipped(x=bytes(1_000_000)))
    with pytest.raises(FippError, match="unpacks to 1,000,000 bytes"):
        extract(tmp_path / "x.zip", "x", tmp_path / "x", largest=1000)
    assert os.listdir(tmp_path) == ["x.zip"]


def test_names_in_an_archive_are_never_paths(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("../../outside.txt", "x")
        archive.writestr("folder/", "")
    extract(folder / "x.zip", "../../outside.txt", folder / "x.txt")
    assert os.listdir(tmp_path) == ["inner"] and sorted(os.listdir(folder)) == ["x.txt", "x.zip"]
    for member, message in (("folder/", "is a folder"), ("x.txt", "has no x.txt")):
        with pytest.raises(FippError, match=message):
            extract(folder / "x.zip", member, folder / "y.txt")


def test_the_command_prints_where_the_files_are_and_notes_the_licence(mirror, tmp_path):
    result = run("muse:en-hr", "-o", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.split() == [str(tmp_path / file.path) for file in find_data_set("muse:en-hr").files]
    assert "CC BY-NC 4.0" in result.stderr
    assert run("muse:en-hr", "-o", tmp_path, "--quiet").stderr == ""


def test_the_command_answers_in_json(mirror, tmp_path):
    result = run("muse:en-hr", "-o", tmp_path, "--json")
    (data_set,) = json.loads(result.stdout)["data_sets"]
    assert result.stderr == "" and data_set["name"] == "muse:en-hr" and len(data_set["files"]) == 3
    assert data_set["files"][0] == {"path": str(tmp_path / "muse" / "en-hr.txt"), "bytes": 19}


def test_the_list_tells_every_family_and_the_files_of_one():
    assert all(name in run("--list").stdout for name in _registry.FAMILIES)
    assert "dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.hr.vec" in run("--list", "fasttext:hr").stdout
    assert len(json.loads(run("--list", "--json").stdout)["data_sets"]) == len(_registry.FAMILIES)
    (data_set,) = json.loads(run("--list", "xling:en-fr", "--json").stdout)["data_sets"]
    assert len(data_set["files"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: name a data set"),
        (("word2vec",), "error: there is no data set 'word2vec'"),
        (("muse:en-hr", "nonsense"), "error: there is no data set 'nonsense'"),
        (("fasttext:xx",), "does not exist (404): check the name"),
        (("muse:en-hr", "--timeout", "0"), "error: timeout"),
    ],
)
def test_mistakes_end_with_2_and_one_line(mirror, tmp_path, arguments, message):
    result = run(*arguments, "-o", tmp_path, "-q")
    assert result.exit_code == 2 and message in result.stderr and result.stderr.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_ctrl_c_leaves_no_file_and_the_same_command_goes_on(mirror, known, tmp_path):
    mirror.pages[WIKI] = page = Page(known, seconds_a_block=0.3)
    command = [sys.executable, "-m", "fipp", "download", "fasttext:hr", "-o", str(tmp_path), "--no-verify"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    wait_until(lambda: (tmp_path / "fasttext" / ".wiki.hr.vec.part.json").exists())
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted; nothing was written" in told and "Traceback" not in told
    assert not (tmp_path / "fasttext" / "wiki.hr.vec").exists()
    page.seconds_a_block = 0
    assert download("fasttext:hr", tmp_path)[0].read_bytes() == known
    assert os.listdir(tmp_path / "fasttext") == ["wiki.hr.vec"]


def test_a_mirror_has_each_file_below_the_name_of_its_host():
    url = "https://nlp.stanford.edu/data/glove.6B.zip"
    assert address(url, "https://mirror.example/public/") == (
        "https://mirror.example/public/nlp.stanford.edu/data/glove.6B.zip"
    )
    assert address(url, None) == url
