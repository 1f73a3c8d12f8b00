"""Write the pictures of the explorer and of a report that the documentation shows, with a real browser.

python scripts/screenshots.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import fipp
from fipp.explore import Session, serve

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
_COLOURS = 128


def aligned() -> tuple[fipp.Alignment, fipp.Lexicon]:
    """Return a model of the bundled vectors, with a wrong seed pair, and test pairs."""
    demo = fipp.datasets.load_demo()
    seed = demo.seed + fipp.Lexicon([("water", "montagne")])
    return fipp.align(demo.source, demo.target, seed, "fipp"), demo.test


def serve_demo(alignment: fipp.Alignment, test: fipp.Lexicon) -> str:
    """Serve the model, and return the address."""
    session = Session(alignment, test=test, names=("English", "French"))
    ready, found = threading.Event(), []

    def note(address: str) -> None:
        found.append(address)
        ready.set()

    threading.Thread(target=serve, args=(session,), kwargs={"ready": note}, daemon=True).start()
    ready.wait()
    return found[0]


def look_up(page: Any, address: str) -> None:
    """Show the translations of a word."""
    page.goto(address)
    page.locator("#about", has_text="words").wait_for()
    page.fill("#word", "water")
    page.wait_for_selector("#seeds[data-word=water] tr")
    page.locator("#columns h4", has_text="CSLS").wait_for()
    page.wait_for_selector("#columns .waiting", state="detached")


def save(page: Any, path: Path, **options: Any) -> None:
    """Take a picture, with few colours, because a repository keeps every version of it."""
    page.screenshot(path=path, **options)
    Image.open(path).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def take(browser: Any, address: str, report: str, folder: Path) -> None:
    """Take all pictures: wide pages in light and in dark colours, and phones."""

    def window(width: int, height: int, scheme: str = "light") -> Any:
        return browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)

    page = window(1280, 830)
    page.goto(report)
    save(page, folder / "report-light.png")
    page = window(390, 780)
    page.goto(report)
    save(page, folder / "report-phone.png")
    page = window(1280, 900, "dark")
    page.goto(report)
    save(page.locator("section:has(#map)"), folder / "report-map.png")

    page = window(1280, 800)
    look_up(page, address)
    save(page, folder / "explore-light.png")
    page = window(390, 780)
    look_up(page, address)
    save(page, folder / "explore-phone.png")
    page = window(1280, 1150, "dark")
    look_up(page, address)
    page.locator("#seed-rows tr", has_text="montagne").get_by_text("Wrong").click()
    page.wait_for_selector("#seed-rows tr.wrong")
    page.click("#refit-button")
    page.locator("#refit-said", has_text="learned again").wait_for()
    page.wait_for_selector("#columns .waiting", state="detached")
    page.evaluate("scrollTo(0, 0)")
    save(page, folder / "explore-dark.png")


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    alignment, test = aligned()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        report = Path(temporary, "report.html")
        fipp.report.write_report(alignment, report, test, names=("English", "French"))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, serve_demo(alignment, test), report.as_uri(), folder)
        browser.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
