"""A kernel, a learner and a file format, as a package of their own."""

from mercer_example.kernels import Cauchy
from mercer_example.learners import KernelMean

__all__ = ["Cauchy", "KernelMean"]
