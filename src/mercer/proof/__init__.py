"""Is it a kernel? Proofs by rule, counterexamples by search, spectra, and repair.

>>> from mercer import prove
>>> print(prove("gaussian() + linear()"))  # doctest: +ELLIPSIS
✓ a kernel
└─ ...
"""

from .fourier import FourierCheck, fourier_check
from .prover import prove
from .repair import repair
from .results import Counterexample, Proof, Undecided

__all__ = [
    "Counterexample", "FourierCheck", "Proof", "Undecided", "fourier_check", "prove", "repair",
]  # fmt: skip
