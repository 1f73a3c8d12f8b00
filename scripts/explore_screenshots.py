"""Write the pictures of the explorer that the documentation shows, from the bundled vectors and a real browser.

python scripts/explore_screenshots.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import fipp
from fipp.explore import Session, serve

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def serve_demo() -> str:
    """Serve a model of the bundled vectors, with a wrong seed pair, and return its address."""
    demo = fipp.datasets.load_demo()
    seed = demo.seed + fipp.Lexicon([("water", "montagne")])
    session = Session(fipp.align(demo.source, demo.target, seed, "fipp"), test=demo.test, names=("English", "French"))
    ready, found = threading.Event(), []

    def note(address: str) -> None:
        found.append(address)
        ready.set()

    threading.Thread(target=serve, args=(session,), kwargs={"ready": note}, daemon=True).start()
    ready.wait()
    return found[0]


def open_page(browser: Any, address: str, scheme: str, width: int, height: int) -> Any:
    """Return the page with the translations of a word."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(address)
    page.locator("#about", has_text="words").wait_for()
    page.fill("#word", "water")
    page.wait_for_selector("#seed-rows tr")
    page.locator("#columns h3", has_text="CSLS").wait_for()
    page.wait_for_selector("#columns .waiting", state="detached")
    return page


def main(folder: Path) -> None:
    """Take the pictures: a wide page in light colours, one in dark colours after a refit, and a phone."""
    address = serve_demo()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = open_page(browser, address, "light", 1280, 800)
        page.screenshot(path=folder / "explore-light.png")
        page = open_page(browser, address, "light", 390, 780)
        page.screenshot(path=folder / "explore-phone.png")
        page = open_page(browser, address, "dark", 1280, 900)
        page.locator("#seed-rows tr", has_text="montagne").get_by_text("Wrong").click()
        page.wait_for_selector("#seed-rows tr.wrong")
        page.click("#refit-button")
        page.locator("#refit-said", has_text="learned again").wait_for()
        page.wait_for_selector("#columns .waiting", state="detached")
        page.screenshot(path=folder / "explore-dark.png")
        browser.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
