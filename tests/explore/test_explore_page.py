"""The explorer's page in a real browser: the whole story, at three widths, in both colour schemes, by keyboard only."""

import re
import threading
import time

import pytest
from explored import HOSTILE, new_session

import fipp
from browser import WIDTHS, looks, scrolls_sideways, serious_findings
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


@pytest.fixture(scope="module")
def window(browser):
    """A window of the browser, with what it complains about."""
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: page.errors.append(message.text))
    yield page
    context.close()


@pytest.fixture
def page(window, address):
    """The page of the explorer, opened anew, which must report no error but unknown words and what the test expects."""
    window.errors.clear()
    window.expected = "status of 404"
    window.set_viewport_size({"width": 1440, "height": 900})
    window.goto(address)
    wait_for_text(window, "#about", "300 × 300 words")
    yield window
    assert [error for error in window.errors if window.expected not in error] == []


def wait_for_text(page, selector, text):
    page.locator(selector, has_text=text).wait_for()


def wait_for_seeds(page, word):
    page.wait_for_selector(f'#seeds[data-word="{word}"] #seed-rows tr')


def look_up(page, word):
    page.fill("#word", word)
    wait_for_seeds(page, word)


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (768, "dark"), (1440, "light")])
def test_the_whole_story_by_keyboard_only(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    press = page.keyboard.press
    page.keyboard.type("word200")
    wait_for_seeds(page, "word200")
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
    assert page.evaluate("document.activeElement.textContent") == "Restore", "the keyboard goes on where it was"
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


def test_a_pair_is_changed_and_what_is_not_to_be_changed_is_left(page):
    look_up(page, "word200")
    change = page.get_by_role("button", name="Change word200 – mot250")
    change.click()
    assert page.input_value("#add-source") == "word200" and page.input_value("#add-target") == "mot250"
    page.click("#add-cancel")
    assert page.input_value("#add-source") == page.input_value("#add-target") == ""
    change.click()
    assert page.evaluate("document.activeElement.id") == "add-target"
    page.keyboard.type("mot200")  # what was there is selected
    page.keyboard.press("Enter")
    wait_for_text(page, "#edits", "1 added, 1 marked as wrong")
    page.locator("#seed-rows tr", has_text="mot200").locator(".state", has_text="added").wait_for()
    page.click("#undo")
    wait_for_text(page, "#edits", "0 added, 0 marked as wrong")


def test_a_refit_that_ends_before_the_page_asks_for_it_is_told_too(page):
    def late(route):
        time.sleep(1)
        route.continue_()

    page.route("**/api/status", late)
    page.click("#refit-button")
    wait_for_text(page, "#refit-said", "The model was learned again")
    page.unroute("**/api/status")
    assert page.inner_text("#undo-what") == "Undo takes back the refit."
    page.click("#undo")
    wait_for_text(page, "#refit-said", "Undone.")


def test_long_words_stay_within_their_column_on_a_phone(page):
    page.set_viewport_size({"width": 360, "height": 800})
    long = "pneumonoultramicroscopicsilicovolcanoconiosis-" * 2
    for answer in ("translate", "neighbours", "seeds"):
        page.route(f"**/api/{answer}?*", lambda route: renamed(route, "mot20", long))
    look_up(page, "word20")
    page.locator("#neighbours bdi", has_text=long).first.wait_for()
    for title in page.locator("#neighbours h3").all():
        assert title.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert not scrolls_sideways(page)
    page.unroute_all()


def renamed(route, word, other):
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(word, other))


def test_an_empty_page_has_words_to_begin_with_and_the_pairs_that_look_wrong(page):
    page.locator("#seeds-hint", has_text=re.compile("of 120 (is|are) no nearer than words paired by chance")).wait_for()
    assert page.inner_text("#seed-rows tr:first-child td:first-child") == "word200 – mot250"
    page.keyboard.press("ArrowDown")
    word = page.evaluate("document.activeElement.dataset.word")
    page.keyboard.press("Enter")
    wait_for_seeds(page, word)
    assert page.input_value("#word") == word
    page.focus("#word")
    page.keyboard.press("Escape")
    page.wait_for_selector("#examples:visible")


def test_the_model_is_measured_as_it_is(page):
    page.click("#measure")
    wait_for_text(page, "#score", "as it is")
    assert "on 50 words of the test dictionary" in page.inner_text("#score-note")


def test_an_unknown_word_gets_suggestions_that_enter_takes(page):
    look_up(page, "word3")
    page.fill("#word", "wrod12")
    page.wait_for_selector("#near .go")
    page.wait_for_selector('#seeds[data-word=""]')
    page.keyboard.press("Enter")
    page.wait_for_selector("#columns li")
    assert page.input_value("#word") == "word12"


def test_both_directions_and_both_models_are_shown_and_seed_pairs_ticked(page):
    look_up(page, "word20")
    titles = page.locator("#columns :is(h3, h4)").all_inner_texts()
    assert titles == ["FIPP", "cosine", "CSLS", "Procrustes", "cosine", "CSLS"]
    assert page.locator("#columns .right").all_inner_texts() == ["mot20"] * 4
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
    page.select_option("#list-model", "second")
    page.click("#list-form button")
    page.wait_for_selector("#list-preview:not([hidden])")
    assert page.inner_text("#list-preview").startswith("word\trank\ttranslation\tscore\nword1\t1\tmot1\t")
    assert page.inner_text("#list-said") == "7 lines, 1 of an unknown word."
    with page.expect_download() as download:
        page.click("#list-download")
    assert download.value.path().read_text(encoding="utf-8").count("\n") == 8


def test_a_failure_is_shown_in_words(page):
    page.fill("#add-source", "wrod1")
    page.fill("#add-target", "mot1")
    page.click("#add-button")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "not among the 300 words of en" in page.inner_text("#trouble")
    page.expected = "Failed to load resource"
    page.route("**/api/*", lambda route: route.abort())
    page.fill("#word", "word7")
    wait_for_text(page, "#trouble", "The explorer does not answer")
    page.unroute("**/api/*")


def test_the_page_fits_every_width_and_breaks_no_serious_rule(page):
    look_up(page, "word20")
    for width, scheme in looks(page):
        assert not scrolls_sideways(page)
        if (width, scheme) in ((WIDTHS[0], "dark"), (WIDTHS[-1], "light")):
            assert serious_findings(page) == {}
    page.fill("#word", "")
    page.wait_for_selector("#examples:visible")
    assert serious_findings(page) == {}
