"""
Two thresholds
==============

sign(θ₁x + θ₂x² + θ₀) on the line.
"""

import matplotlib.pyplot as plt

from mercer import Perceptron, data, plot
from mercer.maps import PowersMap

X, y = data.hard_line()
model = Perceptron(PowersMap(2), fit_intercept=True, epochs=500, shuffle=False).fit(X, y)
(a, b), c = model.coef_[0], model.intercept_[0]
print(f"h(x) = sign({a:.3g} x {b:+.3g} x² {c:+.3g})")
plot.thresholds(model, X, y)
plt.show()
