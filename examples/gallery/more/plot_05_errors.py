"""
How to look at errors
=====================

A confusion matrix, a ROC curve, and whether probabilities can be believed.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, data, plot

X, y = data.moons(300, noise=0.3)
new, truth = data.moons(600, noise=0.3, random_state=1)
model = KernelLogisticRegression("gaussian(0.6)", alpha=0.1).fit(X, y)
plot.confusion(truth, model.predict(new))
plot.roc(truth > 0, model.decision_function(new))
plot.calibration(np.asarray(truth) > 0, model.predict_proba(new)[:, 1])
plt.show()
