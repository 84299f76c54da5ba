"""
Hard and easy
=============

The margin against the size of the data.
"""

import matplotlib.pyplot as plt

from mercer import data, plot

row = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
plot.hardness(*data.blobs(40, noise=0.4), ax=row[0])
plot.hardness(*data.blobs(40, noise=0.2), ax=row[1])
plt.show()
