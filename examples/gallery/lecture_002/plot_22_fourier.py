"""
The Fourier trick
=================

A kernel that depends on x − z only is valid exactly if its Fourier transform is nowhere
negative.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, plot
from mercer.kernels import BSpline, Uniform

row = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")[1]
for ax, kernel in zip(row, (Gaussian(1.0), BSpline(3), Uniform(1.0)), strict=True):
    plot.fourier(kernel, ax=ax)
plt.show()
