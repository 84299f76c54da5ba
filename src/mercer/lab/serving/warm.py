"""What the forkserver loads once, so that every worker begins with everything in memory.

The server asks for it in the environment (`mercer.lab.serving.pool.ASKED`). Then importing this
module fits a perceptron: imports that happen on first use have then happened, and compiled code is
loaded. One thread: several workers share the cores.
"""

from __future__ import annotations

import os

import scipy.linalg  # noqa: F401 (its BLAS must be there before threads are limited)
from threadpoolctl import threadpool_limits

import mercer
from mercer._machine.jit import compiles
from mercer.lab.compute.preparing import prepare

#: The process that loaded this: a worker compares it with its own.
LOADED_IN = os.getpid()

if os.environ.get("MERCER_LAB_WORKER") == "1":
    if compiles():
        import numba  # noqa: F401 (from then on loops are compiled at once, here and not in each worker)
    mercer.set_config(threads=1, progress=False)
    prepare({"learner": "perceptron"})
    # Of the libraries that are loaded: NumPy, SciPy and scikit-learn have some.
    threadpool_limits(1)
