"""
A solver at work
================

Sequential minimal optimization moves a pair of coefficients at a time.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot

X, y = data.moons(50, noise=0.15)
film = plot.film(KernelSVC("gaussian(0.5)", C=2.0), X, y, 10)
plt.figure(figsize=(9, 4), layout="constrained")
plt.imshow(film.sheet(4, dpi=70))
plt.axis("off")
plt.show()

# %%
# The same as a film, with a slider:
film
