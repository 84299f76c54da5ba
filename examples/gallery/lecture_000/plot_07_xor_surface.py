"""
XOR: the surface and the regions
================================

f is K(x¹, ·): its surface is the kernel's around x¹, and on the other diagonal it is 0. A
support vector machine adds a bias.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, Polynomial, data, plot

X, y = data.xor()
kernel = Polynomial(2)
plot.kernel_shape(kernel, center=X[0], extent=1.5)
plot.decision_regions(KernelSVC(kernel, C=10).fit(X, y), X, y)
plt.show()
