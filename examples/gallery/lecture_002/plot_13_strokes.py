"""
Characters as strokes
=====================

Drawn in the order of writing; a string kernel compares them.
"""

import matplotlib.pyplot as plt

from mercer import data, plot

names = list(dict.fromkeys(data.strokes(6)[1]))
row = plt.subplots(1, len(names), figsize=(10, 2.2), layout="constrained")[1]
for ax, name in zip(row, names, strict=True):
    plot.strokes(data.stroke_paths(str(name)), ax=ax)
plt.show()
