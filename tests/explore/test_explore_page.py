"""The explorer's page in a real browser: the whole story, at three widths, in both colour schemes, by keyboard only."""

import threading

import pytest
from explored import HOSTILE, new_session

import fipp
from browser import WIDTHS, scrolls_sideways, serious_findings
from fipp.explore import serve

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a server that runs in a thread; it ends with the tests."""
    ready, found = threading.Event(), []

    def note(where):
        found.append(where)
        ready.set()

    session = new_session(second=True, folder=tmp_path_factory.mktemp("saved"))
    threading.Thread(target=serve, args=(session,), kwargs={"ready": note}, daemon=True).start()
    assert ready.wait(60)
    yield found[0]
    session.close()


@pytest.fixture
def page(browser, address):
    """A page of the explorer, which must report no error."""
    context = browser.new_context(accept_downloads=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: None if "status of 404" in message.text else errors.append(message.text))
    page.goto(address)
    wait_for_text(page, "#about", "300 × 300 words")
    yield page
    context.close()
    assert errors == []


def wait_for_text(page, selector, text):
    page.locator(selector, has_text=text).wait_for()


def look_up(page, word):
    page.fill("#word", word)
    page.wait_for_selector("#seed-rows tr")


def test_the_whole_story_by_keyboard_only(page):
    press = page.keyboard.press
    page.keyboard.type("word200")
    page.wait_for_selector("#seed-rows tr")
    assert "mot" in page.inner_text("#columns li:first-child bdi")
    press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.word").startswith("mot")
    press("ArrowRight")
    press("ArrowDown")
    press("Escape")
    assert page.evaluate("document.activeElement.id") == "word"
    # Mark the wrong pair as wrong: its button is the first one after the table begins.
    page.focus("#seed-rows button")
    press("Enter")
    page.wait_for_selector("#seed-rows tr.wrong")
    assert "1 marked as wrong" in page.inner_text("#edits")
    page.focus("#add-source")
    page.keyboard.type("word200")
    press("Tab")
    page.keyboard.type("mot200")
    press("Enter")
    wait_for_text(page, "#edits", "1 added")
    page.focus("#refit-button")
    press("Enter")
    wait_for_text(page, "#refit-said", "The model was learned again")
    assert "test dictionary" in page.inner_text("#score-note")
    with page.expect_download() as download:
        page.focus("#get-dictionary")
        press("Enter")
    lines = fipp.Lexicon.load(download.value.path()).pairs
    assert ("word200", "mot200") in lines and ("word200", "mot250") not in lines
    with page.expect_download() as download:
        page.focus("#get-model")
        press("Enter")
    assert len(fipp.Alignment.load(download.value.path()).aligner.pairs_) == 120
    page.focus("#save")
    press("Enter")
    wait_for_text(page, "#refit-said", "Saved dictionary.tsv")
    for expected in ("1 added, 1 marked", "0 added, 1 marked", "0 added, 0 marked"):
        page.focus("#undo")
        press("Enter")
        wait_for_text(page, "#edits", expected)
        wait_for_text(page, "#refit-said", "Undone.")
    assert page.is_disabled("#undo")
    page.focus("#swap")
    press("/")
    assert page.evaluate("document.activeElement.id") == "word"


def test_an_unknown_word_gets_suggestions_that_enter_takes(page):
    page.fill("#word", "wrod12")
    page.wait_for_selector("#near .go")
    page.keyboard.press("Enter")
    page.wait_for_selector("#columns li")
    assert page.input_value("#word") in ("word12", "word1", "word2")


def test_both_directions_and_both_models_are_shown(page):
    look_up(page, "word20")
    titles = page.locator("#columns h3").all_inner_texts()
    assert titles == ["FIPP · cosine", "FIPP · CSLS", "Procrustes · cosine", "Procrustes · CSLS"]
    page.click("#swap")
    page.wait_for_selector("#columns .go[data-word=word20]")
    assert page.input_value("#word") == "mot20"


def test_words_from_files_are_harmless_and_every_script_keeps_its_direction(page):
    page.click("#swap")
    for word, direction in ((HOSTILE, "ltr"), ("مرحبا", "rtl"), ("こんにちは", "ltr")):
        look_up(page, word)
        shown = page.locator("#seed-rows tr:first-child .target", has_text=word)
        shown.wait_for()
        assert shown.evaluate("node => getComputedStyle(node).direction") == direction
        assert shown.evaluate("node => node.childElementCount") == 0
    assert page.locator("img").count() == 0


def test_a_list_becomes_lines_with_tabs(page):
    page.fill("#words", "word1\nword2\nnothing")
    page.click("#list-form button")
    page.wait_for_selector("#list-preview:not([hidden])")
    assert page.inner_text("#list-preview").startswith("word\trank\ttranslation\tscore\nword1\t1\tmot1\t")
    with page.expect_download() as download:
        page.click("#list-download")
    assert download.value.path().read_text(encoding="utf-8").count("\n") == 8


def test_a_failure_is_shown_in_words(page):
    page.fill("#add-source", "wrod1")
    page.fill("#add-target", "mot1")
    page.click("#add-button")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "not among the 300 words of en" in page.inner_text("#trouble")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_every_width_and_breaks_no_serious_rule(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    look_up(page, "word20")
    assert not scrolls_sideways(page)
    assert serious_findings(page) == {}
