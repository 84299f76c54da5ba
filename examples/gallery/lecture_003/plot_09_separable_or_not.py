"""
Separable or not
================

Two clouds apart, and two clouds that overlap.
"""

import matplotlib.pyplot as plt

from mercer import data, plot

row = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
plot.points(*data.blobs(40), ax=row[0]).set_title("separable")
plot.points(*data.blobs(40, distance=0.8), ax=row[1]).set_title("not separable")
plt.show()
