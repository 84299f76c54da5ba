"""`import mercer` beyond `import numpy`: seconds in fresh processes, and what it loads."""

from __future__ import annotations

import json
import subprocess
import sys

from _harness import Row, below, claim, main

CODE = """
import sys, time, json
import numpy
start = time.perf_counter()
import mercer
seconds = time.perf_counter() - start
heavy = [m for m in ("scipy", "sklearn", "numba", "mpmath", "rich", "torch") if m in sys.modules]
print(json.dumps([seconds, heavy]))
"""


def once() -> tuple[float, list[str]]:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    seconds, heavy = json.loads(done.stdout)
    return seconds, heavy


def measure() -> list[Row]:
    once()  # writes the byte code
    runs = [once() for _ in range(5)]
    heavy = runs[0][1]
    note = f"min of 5, also loads {', '.join(heavy)}" if heavy else "min of 5, loads NumPy only"
    row = claim("import mercer beyond NumPy", min(s for s, _ in runs), None, below(0.3, "s"), note)
    return [row]


if __name__ == "__main__":
    main(measure)
