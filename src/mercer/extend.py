"""What a package that adds to this one may rely on: the same promises as for any public name.

======================  ==========================================================================
a kernel                `kernel`, `Kernel`, `OpaqueKernel`; its formula of `dot`, `sqdist`, `l1`,
                        `linf`, `sqnorm`, `const`, `reduce_columns` over `X_J` and `Z_J`;
                        `Formula`, `Input`; its parameters by `declare`, `SIZE`, `Width`, `Number`,
                        `Positive`, `NonNegative`, `Count`, `checked`; its proof, `Rule` or `Claim`
an operation            `Op`, `register_op`
a function by name      `register_function`, for `warp` and `reweight`
an engine               `Engine`, `register_engine`, `Gram`, `Cost`, `simplified`
a solver                `Solver`, `register_solver`, `RidgeSolution`, `SmoothLoss`
a learner               `KernelLearner`, `Learner`, `Grid`, `register_learner`, `as_kernel`,
                        `solver_gram`, `KernelExpansion`; its parameters by `Among`, `Either`,
                        `Maybe`, `Flag`, `Check` and those above
a format of files       `register_format`, `Dataset`
======================  ==========================================================================

An entry point in one of the groups ``mercer.kernels``, ``mercer.engines``, ``mercer.learners`` and
``mercer.formats`` names the module that registers them. `mercer.testing` has the contracts.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__, "mercer", "extend.pyi")
