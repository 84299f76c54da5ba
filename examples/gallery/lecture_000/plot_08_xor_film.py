"""
XOR: the film
=============

The boundary after each visit. Move the slider.
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.xor(40, noise=0.2)
model = KernelPerceptron("polynomial(2)", fit_intercept=True, shuffle=False)
film = plot.film(model, X, y, 8)
plt.figure(figsize=(9, 4), layout="constrained")
plt.imshow(film.sheet(4, dpi=70))
plt.axis("off")
plt.show()

# %%
# The same as a film, with a slider:
film
