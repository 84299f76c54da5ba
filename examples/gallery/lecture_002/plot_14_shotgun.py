"""
The shotgun solution
====================

Compute many random features and hope that good ones are among them.
"""

import matplotlib.pyplot as plt

from mercer import Perceptron, data, plot
from mercer.maps import RandomFourierMap

X, y = data.spirals(160)
shotgun = RandomFourierMap("gaussian(0.25)", 300, random_state=0)
model = Perceptron(shotgun, epochs=100, random_state=0).fit(X, y)
plot.decision_regions(model, X, y).set_title("300 random features, some of them good")
plt.show()
