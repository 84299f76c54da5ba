"""
A linear method becomes a kernel method
=======================================

The same perceptron with x·x' and with x·x' + (x·x')².
"""

import warnings

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, Linear, data, plot

X, y = data.circles(60)
kernels = {"x·x'": Linear(), "x·x' + (x·x')²": Linear() + Linear() ** 2}
row = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
for ax, (name, kernel) in zip(row, kernels.items(), strict=True):
    model = KernelPerceptron(kernel, fit_intercept=True, epochs=50, averaging="average")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first one cannot converge
        model.fit(X, y)
    plot.decision_regions(model, X, y, ax=ax).set_title(name)
plt.show()
