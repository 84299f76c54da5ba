"""
Mean or line at the edge
========================

At the edge of the data a weighted mean sags, and a local line does not. The circles show the
weights of one query.
"""

import matplotlib.pyplot as plt

from mercer import LocalLinearRegressor, NadarayaWatsonRegressor, data, plot

X, t = data.sine_linear_noise()
row = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1]
plot.query_weights(NadarayaWatsonRegressor(bandwidth=0.7).fit(X, t), 9.8, ax=row[0])
plot.query_weights(LocalLinearRegressor(bandwidth=0.7).fit(X, t), 9.8, ax=row[1])
row[0].set_title("weighted mean")
row[1].set_title("local line")
plt.show()
