"""Two checkouts of this library on the problems of `shapes.py`: the other's time over this one's.

    git worktree add ../before main~10
    python bench/trees.py ../before --seed 3 --problems 30 --learners svc,ridge

Each checkout has a process of its own, which has compiled everything before it is timed; they take
turns, so that a busy machine slows both alike. CPU time of one thread, minima of the rounds; below
1 this checkout is the slower one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROUNDS = 3


def serve() -> None:
    """Answer every problem on standard input with the seconds of `fit` and of `predict`."""
    from shapes import LEARNERS, draw, setting

    warnings.simplefilter("ignore")
    with setting(cpu=True) as clock:
        for line in sys.stdin:
            contest = LEARNERS[(given := json.loads(line))[2]](draw(*given))
            best = np.full(2, np.inf)
            for _ in range(ROUNDS):
                start = clock()
                contest.ours.fit(*contest.learned)
                fitted = clock()
                contest.ours.predict(contest.asked)
                best = np.minimum(best, [fitted - start, clock() - fitted])
            print(json.dumps(best.tolist()), flush=True)


def started(tree: Path) -> Any:
    paths = [str(tree / "src"), str(HERE)]
    return subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def asked(process: Any, question: list[Any]) -> np.ndarray:
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    return np.array(json.loads(process.stdout.readline()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--learners", default="svc,svr,ridge,neighbors,smoother,nystrom,gram")
    options = parser.parse_args()
    from shapes import draw

    sides = [started(tree) for tree in (options.other.resolve(), HERE.parent)]
    for learner in options.learners.split(","):
        ratios = []
        for number in range(options.problems):
            question = [options.seed, number, learner]
            times = np.array([[asked(side, question) for side in sides] for _ in range(2)])
            before, after = times.min(axis=0)
            ratios.append(before / after)
            if (ratios[-1] < 0.9).any():
                print(f"    {ratios[-1].round(2)} {1e3 * after.round(5)} ms", draw(*question).name)
        means = np.exp(np.log(ratios).mean(axis=0))
        print(f"{learner:>10}: fit {means[0]:.3f}, predict {means[1]:.3f}", flush=True)
    for side in sides:
        side.stdin.close()
        side.wait()


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
