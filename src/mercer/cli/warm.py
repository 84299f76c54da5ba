"""`mercer warm`: compile ahead what learners compile at their first use."""

from __future__ import annotations

import time
import warnings
from typing import Any

import click
import numpy as np

from mercer.cli.learners import NAMES
from mercer.cli.output import echo, resource_options, say

#: Shapes of the data that everything is fitted on: few columns and many are compiled otherwise, and
#: smaller problems are not.
SHAPES = ((2_500, 3), (2_500, 20))
#: Kernels of the usual forms; others are compiled when they are used.
KERNELS = ("gaussian(1)", "polynomial(2, 1)", "laplacian(1)")


@click.command("warm")
@resource_options
@click.option("--learner", "names", multiple=True, metavar="NAME",
              help=f"Only this learner; may be given several times: {NAMES}.")  # fmt: skip
def command(names: tuple[str, ...]) -> None:
    """Fill the cache of compiled code, so that no first fit has to wait: for containers.

    \b
      mercer warm
      MERCER_CACHE=/opt/mercer mercer warm --learner svm --learner ridge

    Every learner is fitted once on random rows. What it compiles is kept in the folder MERCER_CACHE
    names, or else in your cache folder, for this type of processor.
    """
    from mercer._machine.cache import cache_folder
    from mercer._machine.compiling import watch
    from mercer.learners.catalog import find, learners

    begin, failed, made = time.perf_counter(), [], []
    watch(lambda name: made.append(name) if name else None)
    for task in ("classification", "regression"):
        chosen = [find(n, task) for n in names] if names else learners(task)
        for entry in chosen:
            say(f"{task}: {entry.name}")
            failed += _fit(entry, task)
    for words in failed:
        say(words)
    seconds = time.perf_counter() - begin
    echo(f"{len(made)} functions compiled in {seconds:.0f} s; kept in {cache_folder()}")


def _fit(entry: Any, task: str) -> list[str]:
    """Fit and predict in both precisions; what went wrong, in words."""
    failed = []
    random = np.random.default_rng(0)
    for rows, columns in SHAPES:
        X = random.normal(size=(rows, columns))
        y = X[:, 0] if task == "regression" else (X[:, 0] > 0).astype(int)
        for kernel in KERNELS:
            for dtype in (np.float64, np.float32):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        model = entry.estimator(task)(kernel=kernel)
                        model.fit(X.astype(dtype), y).predict(X.astype(dtype))
                except (ValueError, ArithmeticError, MemoryError) as error:
                    failed.append(f"{entry.name} with {kernel}: {error}")
    return failed
