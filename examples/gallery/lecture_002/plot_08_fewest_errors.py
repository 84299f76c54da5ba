"""
The fewest errors of any line
=============================

NP-hard in general; in the plane one can try all lines.
"""

import matplotlib.pyplot as plt

from mercer import data, plot, theory

X, y = data.blobs(40, noise=0.6, distance=1.4)
w, b, errors = theory.fewest_errors(X, y)
plot.separators([(w, b)], X, y).set_title(f"fewest errors of any line: {errors}")
print(f"XOR: every line errs at least {theory.fewest_errors(*data.xor())[2]} time")
plt.show()
