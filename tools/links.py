"""Check every link of the built site: `python tools/links.py [build/docs]`.

Pages, pictures, scripts and anchors that a page refers to must be there, and nothing may be fetched
from elsewhere when a page is opened. Links that lead to other sites are not visited.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
#: Attributes that a browser fetches by itself; `href` of these tags, too.
FETCHED = {"img": "src", "script": "src", "source": "srcset", "link": "href", "iframe": "src"}


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(FETCHED.get(tag, "")) and given.get("rel") not in ("next", "prev"):
            self.fetched.append(given[FETCHED[tag]])


def broken(folder: Path) -> list[str]:
    """One sentence per link that leads nowhere, or that a page fetches from elsewhere."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    found = []
    for path, page in pages.items():
        where = path.relative_to(folder.resolve()).as_posix()
        for link in dict.fromkeys(page.links + page.fetched):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.fetched and parts.scheme != "data":
                    found.append(f"{where}: fetches {link}")
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            goal = goal / "index.html" if goal.is_dir() else goal
            anchor = unquote(parts.fragment)
            if not goal.exists():
                found.append(f"{where}: no file {link}")
            elif anchor and goal in pages and anchor not in pages[goal].anchors:
                found.append(f"{where}: no anchor {link}")
    return found


def main(arguments: list[str]) -> int:
    found = broken(Path(arguments[0]) if arguments else ROOT / "build" / "docs")
    print("\n".join(found) or "all links lead somewhere")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
