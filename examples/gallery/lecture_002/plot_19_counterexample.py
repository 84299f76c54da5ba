"""
A function that is not a kernel
===============================

1 for near, 0 for far: three points refute it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot, prove
from mercer.kernels import Uniform

three = np.array([[1.0], [2.0], [3.0]])
print(prove(Uniform(1.0), data=three))
plot.gram(Uniform(1.0), three)
plot.spectrum(Uniform(1.0), np.linspace(0, 5, 40)[:, None])
plt.show()
