"""
A kernel on words
=================

Which words are alike, by the pairs of letters they share.
"""

import matplotlib.pyplot as plt

from mercer import Spectrum, plot

words = ["banana", "bandana", "cabana", "orange", "range", "grange", "kernel", "colonel"]
ax = plot.gram(Spectrum(2).normalized(), words, numbers=False)
ax.set_yticks(range(len(words)), words)
ax.set_title("common pairs of letters")
plt.show()
