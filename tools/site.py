"""Build the site: `python tools/site.py [page …]`, into build/docs; open build/docs/index.html.

Sphinx works on a copy of docs/ under build/, because pictures, the gallery and lists of times are
written beside the sources. A warning is an error. With names of pages (`learn/lecture_000.md`),
only those are read anew, and the gallery is left out: for a look at what one is writing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TARGET = ROOT / "build" / "docs-source", ROOT / "build" / "docs"


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
        print(f"open {TARGET / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
