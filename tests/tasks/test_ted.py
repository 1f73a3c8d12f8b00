"""TED-CLDC in the layout that its page describes."""

import io
import tarfile

import pytest

from fipp.exceptions import FippError
from fipp.tasks import load_ted

# Talk 5 is about arts and business, talk 12 about business alone, talk 130 about neither.
TALKS = {"5": "hello_en ,_en world_en _UNK_ it's_en", "12": "money_en unk_en matters_en", "130": "fish_en swim_en"}
ABOUT = {"arts": {"5"}, "business": {"5", "12"}}


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "ted-cldc"
    for pair, part in (("en-fr", "train"), ("en-fr", "test"), ("fr-en", "test")):
        for topic, about in ABOUT.items():
            for number, text in TALKS.items():
                place = folder / pair / part / topic / ("positive" if number in about else "negative")
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{number}.ted").write_text(text.replace("_en", f"_{pair[:2]}"), encoding="utf-8")
    return folder


@pytest.fixture
def archive(corpus, tmp_path):
    path = tmp_path / "ted-cldc.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        packed.add(corpus, "ted-cldc")
    return path


def test_a_talk_is_read_once_with_all_its_topics(corpus):
    read = load_ted(corpus, "en-fr", "train")
    assert read.topics == ("arts", "business")
    assert read.texts == ("hello , world it's", "money matters", "fish swim")  # by number, suffixes and UNK taken off
    assert read.labels.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert load_ted(corpus, "fr-en", "test").texts == read.texts


def test_the_archive_is_read_as_the_folder_is(corpus, archive):
    folder, packed = load_ted(corpus, "en-fr", "test"), load_ted(archive, "en-fr", "test")
    assert folder.texts == packed.texts and folder.labels.tolist() == packed.labels.tolist()


def test_a_talk_in_neither_set_of_a_topic_does_not_count_for_it(corpus):
    (corpus / "en-fr/train/arts/negative/130.ted").unlink()
    assert load_ted(corpus, "en-fr", "train").labels.tolist() == [[1, 1], [0, 1], [-1, 0]]


def test_hidden_files_are_passed_over(corpus):
    (corpus / "en-fr/train/arts/positive/.DS_Store").write_bytes(b"\xff")
    assert len(load_ted(corpus, "en-fr", "train")) == 3


def test_names_in_an_archive_never_become_paths(corpus, tmp_path):
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as packed:
        packed.add(corpus / "en-fr", "ted-cldc/../../en-fr")
    assert len(load_ted(path, "en-fr", "train")) == 3
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["evil.tar", "ted-cldc"]


def remove(folder):
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda base: remove(base / "arts/positive"), "train/arts has no positive documents"),
        (lambda base: (base / "arts/negative").rename(base / "arts/other"), "has a folder 'other'"),
        (lambda base: (base / "arts/positive/5.ted").write_text(" \n"), "5.ted is empty"),
        (lambda base: (base / "arts/positive/5.ted").write_bytes(b"caf\xe9"), "5.ted is not UTF-8"),
        (lambda base: (base / "arts/negative/5.ted").write_text("x"), "5.ted is both positive and negative for arts"),
    ],
)
def test_a_corpus_that_is_not_whole_is_refused(corpus, damage, message):
    damage(corpus / "en-fr/train")
    with pytest.raises(FippError, match=message):
        load_ted(corpus, "en-fr", "train")


def test_what_is_not_there_is_said_with_what_is(corpus, archive, tmp_path):
    with pytest.raises(FippError, match="no folder de-en/train; it has en-fr, fr-en"):
        load_ted(corpus, "de-en", "train")
    with pytest.raises(FippError, match="no documents such as de-en/train"):
        load_ted(archive, "de-en", "train")
    with pytest.raises(FippError, match="written such as en-fr"):
        load_ted(corpus, "../..", "train")
    with pytest.raises(FippError, match="there is no"):
        load_ted(tmp_path / "nothing", "en-fr", "train")


def test_an_archive_that_was_cut_is_refused(archive):
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(FippError, match="cut short"):
        load_ted(archive, "en-fr", "test")
    archive.write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(FippError, match="not a complete tar archive"):
        load_ted(archive, "en-fr", "test")


def test_a_document_that_is_cut_in_an_archive_is_refused(tmp_path):
    path = tmp_path / "ted.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("ted-cldc/en-fr/train/arts/positive/1.ted")
        member.size = 2000
        archive.addfile(member, io.BytesIO(b"a_en " * 400))
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(FippError, match="not a complete tar archive"):
        load_ted(path, "en-fr", "train")
