"""The lowest versions that pyproject.toml allows: `python tools/lowest.py EXTRAS`.

Prints one `name==version` per line, for `pip install --requirement`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[(?P<extras>[\w,-]+)\])?(>=(?P<version>[\w.]+))?$")


def floors(extras: list[str]) -> list[str]:
    """The requirements of the package with these extras, each at the version after its `>=`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = list(project["dependencies"])
    for extra in extras:
        waiting += project["optional-dependencies"][extra]
    lowest = []
    for requirement in waiting:
        found = REQUIREMENT.match(requirement.partition(";")[0])
        if found is None:
            raise ValueError(f"{requirement!r} is not of the form name>=version")
        if found["name"] == project["name"]:
            lowest += floors(found["extras"].split(","))
        else:
            named = f"[{found['extras']}]" if found["extras"] else ""
            lowest.append(f"{found['name']}{named}=={found['version']}")
    return sorted(set(lowest))


if __name__ == "__main__":
    print("\n".join(floors(sys.argv[1].split(",") if sys.argv[1:] else [])))
