"""
How fast two solvers arrive
===========================

`steps()` gives what a solver did as data: the gap of SMO, and what Newton's method has left.
"""

import matplotlib.pyplot as plt

from mercer import KernelLogisticRegression, KernelSVC, data

X, y = data.moons(50, noise=0.15)
gaps = [step.gap for step in KernelSVC("gaussian(0.5)", C=2.0).steps(X, y)]
logistic = KernelLogisticRegression("gaussian(0.5)", 0.1, solver="newton")
values = [step.objective for step in logistic.steps(X, y)]
left = [value - values[-1] for value in values[:-1]]
plt.semilogy(range(1, len(gaps) + 1), gaps, label="SMO: gap")
plt.semilogy(range(1, len(values)), left, label="Newton: objective")
plt.xlabel("steps")
plt.legend()
print(f"SMO took {len(gaps)} steps, Newton's method {len(values)}")
plt.show()
