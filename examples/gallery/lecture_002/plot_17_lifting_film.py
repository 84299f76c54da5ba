"""
The film of the lifting
=======================

Points rise from the plane, a plane cuts them, and the cut falls back as a curve.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot

X, y = data.circles(60)
film = plot.film(KernelSVC("polynomial(2)", C=10.0), X, y, 10, space=True)
plt.figure(figsize=(9, 4), layout="constrained")
plt.imshow(film.sheet(4, dpi=70))
plt.axis("off")
plt.show()

# %%
# The same as a film, with a slider:
film
