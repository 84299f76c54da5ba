"""Documents of the repository as parts of pages: the changelog, what is needed, the citation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def document(name: str) -> str:
    """A document of the repository without its title, for a page that has one.

    Its links to files of docs/ become links between pages.
    """
    text = (ROOT / name).read_text(encoding="utf-8").partition("\n")[2]
    return text.replace("](docs/", "](/")


def requirements() -> str:
    """Python, systems, and the lowest versions of what is needed, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    last = [line.split(" :: ")[-1] for line in project["classifiers"]]
    pythons = [word for word in last if re.fullmatch(r"3\.\d+", word)]
    systems = [word for word in last if word in ("Linux", "MacOS", "Windows")]
    rows = [("Python", ", ".join(pythons)), ("systems", ", ".join(systems))]
    rows.append(("always needed", ", ".join(f"`{one}`" for one in project["dependencies"])))
    for extra, needed in project["optional-dependencies"].items():
        if extra not in ("all", "dev", "docs", "release", "bench"):
            rows.append((f'`pip install "mercer[{extra}]"`', ", ".join(f"`{n}`" for n in needed)))
    return "\n".join(["| | |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]) + "\n"


def citation() -> str:
    """What CITATION.cff says, as BibTeX."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    field = dict(re.findall(r'^([\w-]+): "?(.*?)"?$', text, re.MULTILINE))
    authors = re.findall(r'^  - name: "(.*)"$', text, re.MULTILINE)
    lines = [
        "@software{mercer,",
        f"  author  = {{{{{' and '.join(authors)}}}}},",
        f"  title   = {{{field['title']}}},",
        f"  version = {{{field['version']}}},",
        f"  year    = {{{field['date-released'][:4]}}},",
        f"  url     = {{{field['repository-code']}}},",
        f"  license = {{{field['license']}}}",
        "}",
    ]
    return "\n".join(["```bibtex", *lines, "```", ""])
