"""
The images a machine keeps
==========================

A machine that tells 3 from 8, and what one of its answers is made of.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelSVC, data, plot

digits = data.digits()
labels = np.asarray(digits.y)
pair = np.isin(labels, (3, 8))
machine = KernelSVC("gaussian(2)").fit(digits.X[pair], labels[pair])
plot.support_images(machine)
plot.contributions(machine.expansion_, digits.X[pair][:1])
plt.show()
