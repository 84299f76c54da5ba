"""
Distances by kernels
====================

k(x, x) − 2k(x, z) + k(z, z) is a squared distance. Under a Gaussian nothing is farther away
than √2.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, Laplacian, Linear

x = np.linspace(-4, 4, 200)[:, None]
for kernel in (Linear(), Gaussian(1.0), Laplacian(1.0)):
    plt.plot(x, kernel.distance(x, np.zeros((1, 1))), label=str(kernel))
plt.ylim(0, 2.5)
plt.xlabel("x")
plt.title("distance to 0 in feature space")
plt.legend()
plt.show()
