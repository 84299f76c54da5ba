"""The contract suite: what every kernel, engine and solver keeps, Mercer's own and yours.

One line each in a test buys the whole suite:

    check_kernel(MyKernel(2.0))
    check_engine(lambda kernel, X, Z=None: MyGram(kernel, X, Z))
    check_solver(my_solver)

Each raises, with the name of the promise that was broken. `oracle` is the reference they compare
with: k in float64, pair by pair, straight from the formula. `kernels_on` and `vector_kernels` give
the kernels of the catalog to try.
"""

from mercer.testing.engines import check_engine
from mercer.testing.examples import kernels_on, vector_kernels
from mercer.testing.kernels import check_kernel
from mercer.testing.oracle import oracle
from mercer.testing.solvers import check_solver

__all__ = [
    "check_engine", "check_kernel", "check_solver", "kernels_on", "oracle", "vector_kernels",
]  # fmt: skip
