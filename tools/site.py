"""Build the site: `python tools/site.py [page …]`, into build/docs; open build/docs/index.html.

Sphinx works on a copy of docs/ under build/, because pictures, the gallery and lists of times are
written beside the sources. A warning is an error, and so is a link that leads nowhere. With names
of pages (`learn/lecture_000.md`), only those are read anew, and the gallery is left out: for a look
at what one is writing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import links
import reference

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TARGET = ROOT / "build" / "docs-source", ROOT / "build" / "docs"


#: Parts of the site in the order of llms.txt.
PARTS = {
    "guide": "Guide by task",
    "learn": "Chapters that teach kernels",
    "coming_from": "Coming from other libraries",
    ".": "Details",
    "adopters": "For adopters",
    "reference": "Reference",
}


def contents_for_programs() -> str:
    """llms.txt: what the library is, and each page with its first sentence, as plain text."""
    index = (SOURCE / "index.md").read_text(encoding="utf-8")
    lines = ["# Mercer", "", f"> {_first_sentence(index)}", ""]
    lines += ["`pip install mercer`, then `import mercer`. `mercer.prove(k)` says whether k is a "]
    lines[-1] += "kernel; learners are scikit-learn estimators; `mercer compare` is the command."
    for folder, title in PARTS.items():
        lines += ["", f"## {title}", ""]
        pages = [*(SOURCE / folder).glob("*.md"), *(SOURCE / folder).glob("*.rst")]
        for path in sorted(pages):
            if path.stem != "index":
                text = path.read_text(encoding="utf-8")
                where = path.relative_to(SOURCE).with_suffix(".html").as_posix()
                name = re.sub(r"^# ", "", text.partition("\n")[0])
                said = _first_sentence(text) if path.suffix == ".md" else ""
                lines.append(f"- [{name}]({where})" + (f": {said}" if said else ""))
    return "\n".join(lines) + "\n"


def _first_sentence(text: str) -> str:
    """Of the first paragraph of prose of a page, without blocks of code and links."""
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in text.split("\n\n")[1:]:
        if re.match(r"\n*[\w`]", paragraph):
            first = re.split(r"(?<=[.?!])\s", " ".join(paragraph.split()))[0]
            return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first)
    return ""


def main(pages: list[str]) -> int:
    if not pages:
        shutil.rmtree(SOURCE, ignore_errors=True)
        shutil.rmtree(TARGET, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE, dirs_exist_ok=True)
    reference.write(SOURCE / "reference")
    paths = [str(ROOT / "tools"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MERCER_ROOT": str(ROOT),
        "MPLBACKEND": "Agg",
    }
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-d", "build/doctrees"]
    if pages:
        command += ["-D", "plot_gallery=0"]
    else:
        command += ["-W", "--keep-going", "-E", "-j", "2"]
    files = [str(SOURCE / page) for page in pages]
    done = subprocess.run(
        [*command, str(SOURCE), str(TARGET), *files], cwd=ROOT, env=environment, check=False
    )
    if done.returncode == 0:
        found = [] if pages else links.broken(TARGET)
        if found:
            print("\n".join(found))
            return 1
        (TARGET / "llms.txt").write_text(contents_for_programs(), encoding="utf-8")
        print(f"open {TARGET / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
