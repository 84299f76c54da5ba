"""
Deformable templates
====================

One ideal image per class is bent to fit; the cheapest bending wins.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom

from mercer import DeformableTemplateClassifier, data, plot

digits = data.digits()
y = np.asarray(digits.y)[:600]
few = np.isin(y, (0, 2, 3, 5, 7))
X = zoom(digits.X[:600].reshape(-1, 8, 8), (1, 2, 2), order=1).reshape(600, -1)[few]
model = DeformableTemplateClassifier((16, 16), stiffness=4.0).fit(X[:200], y[few][:200])
plot.deformed_templates(model, X[200:203])
plot.deformation(model, X[200])
plt.show()
