"""
The perceptron as it turns
==========================

One frame per update.
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.blobs(30)
model = KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50)
film = plot.film(model, X + [1.0, 0.5], y, 10)
plt.figure(figsize=(9, 4), layout="constrained")
plt.imshow(film.sheet(4, dpi=70))
plt.axis("off")
plt.show()

# %%
# The same as a film, with a slider:
film
