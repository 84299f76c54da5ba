"""
The margin
==========

The gap δ, the support vectors, and the distance r of one example.
"""

import matplotlib.pyplot as plt

from mercer import data, plot, theory

X, y = data.blobs(40)
plot.margin(X, y)
found = theory.separability("linear()", X, y, fit_intercept=True)
R = theory.radius("linear()", X)
for n in (40, 4_000, 400_000):
    bound = theory.margin_bound(n, R, found.margin)
    print(f"PAC: {n:>7,} examples of this margin: error at most {bound:.3f} (95 %)")
plt.show()
