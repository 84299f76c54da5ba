"""
A window that slides
====================

A local line at each point of the axis.
"""

import matplotlib.pyplot as plt

from mercer import LocalLinearRegressor, data, plot

X, t = data.sine_linear_noise()
film = plot.film(LocalLinearRegressor(bandwidth=0.6), X, t, 10)
plt.figure(figsize=(9, 4), layout="constrained")
plt.imshow(film.sheet(4, dpi=70))
plt.axis("off")
plt.show()

# %%
# The same as a film, with a slider:
film
