"""Look at the built site in Chromium, from the file system: `python tools/look.py [page …]`.

No page may scroll sideways, on a desk or on a phone, or report an error of a script. axe-core may
find no serious violation on a page of each kind, in light on a desk and in dark on a phone. Without
scripts each figure is a still picture. The search must find something. Pictures of the sample are
left in build/look. Without Playwright, axe-core and Chromium nothing is looked at, and it says so.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SITE, PICTURES = ROOT / "build" / "docs", ROOT / "build" / "look"
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
#: A page of each kind, whose accessibility is judged.
SAMPLE = (
    "index.html", "learn/index.html", "learn/lecture_001.html", "learn/glossary.html",
    "guide/index.html", "guide/start.html", "guide/kernel_table.html", "guide/troubleshooting.html",
    "coming_from/scikit_learn.html", "gallery/index.html", "reference/index.html",
    "reference/learners.html", "speed.html", "gpu.html", "adopters/support.html",
    "gallery/lecture_000/index.html", "search.html?q=gaussian",
)  # fmt: skip
SERIOUS = ("serious", "critical")


class Viewer:
    """A browser, and what was found wrong with the pages it has opened."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()

    def opened(self, size: dict[str, int], theme: str = "light") -> tuple[Any, list[str]]:
        """An empty page, and the list to which errors of scripts are added."""
        errors: list[str] = []
        page = self.browser.new_page(viewport=size, color_scheme=theme, reduced_motion="reduce")
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: errors.append(f"error of a script: {error}"))
        return page, errors

    def widths(self, names: list[str], size: dict[str, int]) -> Iterator[str]:
        """Pages that scroll sideways, or whose scripts fail."""
        page, errors = self.opened(size)
        for name in names:
            goto(page, name)
            if (over := page.evaluate(SIDEWAYS)) > 0:
                yield f"{name}: {over} pixels too wide for {size['width']}"
            yield from (f"{name}: {error}" for error in errors)
            errors.clear()
        page.close()

    def violations(self, names: list[str], size: dict[str, int], theme: str) -> Iterator[str]:
        """What axe-core calls serious; each page is photographed."""
        page, _ = self.opened(size, theme)
        for name in names:
            goto(page, name)
            stem = name.partition(".")[0].replace("/", "-")
            page.screenshot(path=PICTURES / f"{stem}-{theme}-{size['width']}.png")
            page.evaluate(f"{self.axe};0")
            for one in page.evaluate("axe.run()")["violations"]:
                if one["impact"] in SERIOUS:
                    where = "; ".join(node["html"][:120] for node in one["nodes"][:3])
                    found = f"{one['id']} ({one['impact']}, {len(one['nodes'])} times) {where}"
                    yield f"{name}, {theme}, {size['width']}: {found}"
        page.close()

    def stills(self, names: list[str]) -> Iterator[str]:
        """Boxes of figures that are not one still picture where no scripts are run."""
        page = self.browser.new_page(viewport=DESK, java_script_enabled=False)
        for name in names:
            page.goto(f"{SITE.as_uri()}/{name}", wait_until="load")
            boxes = page.locator("div.lab").count()
            seen = page.locator("div.lab img:visible").count()
            empty = page.locator(".mercer-live:visible").count()
            if seen != boxes or empty:
                yield f"{name}: without scripts {seen} of {boxes} pictures, {empty} empty figures"
        page.close()

    def search(self, word: str = "gaussian") -> Iterator[str]:
        """Whether the search finds pages without a server."""
        page, _ = self.opened(DESK)
        goto(page, f"search.html?q={word}")
        if page.locator("#search-results li").count() < 5:
            yield f"the search for {word} finds fewer than five pages"
        page.close()


#: Pixels by which a page is wider than its window.
SIDEWAYS = "() => { const d = document.documentElement; return d.scrollWidth - d.clientWidth; }"
#: Formulas are set, and the search has listed what it found.
READY = """async () => {
    await globalThis.MathJax?.startup?.promise;
    const said = () => document.querySelector(".search-summary")?.textContent ?? "";
    if (location.search.includes("q="))
        for (let tries = 0; tries < 400 && !/found|did not match/.test(said()); tries++)
            await new Promise((done) => setTimeout(done, 50));
}"""


def goto(page: Any, name: str) -> None:
    page.goto(f"{SITE.as_uri()}/{name}", wait_until="load")
    page.evaluate(READY)


def look(names: list[str]) -> list[str]:
    """Everything that is wrong with the pages, in sentences."""
    from playwright.sync_api import sync_playwright

    everything = sorted(
        path.relative_to(SITE).as_posix()
        for path in SITE.rglob("*.html")
        if "_static" not in path.parts
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        viewer = Viewer(browser)
        found = [one for size in (DESK, PHONE) for one in viewer.widths(names or everything, size)]
        for size, theme in ((DESK, "light"), (PHONE, "dark")):
            found += viewer.violations(names or list(SAMPLE), size, theme)
        found += viewer.stills(names or [name for name in everything if name.startswith("learn/")])
        found += viewer.search()
        browser.close()
    return found


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def main(names: list[str]) -> int:
    if not (find_spec("playwright") and find_spec("axe_playwright_python") and chromium()):
        print("No Playwright, axe-core or Chromium at hand: nobody has looked at the pages.")
        return 0
    found = look(names)
    print("\n".join(found) or f"nothing is wrong; pictures are in {PICTURES}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
