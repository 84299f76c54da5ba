"""
XOR: the perceptron, visit by visit
===================================

The kernelized perceptron makes one mistake and has converged. Its model is one term, K(x¹, x).
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, Polynomial, data, plot

X, y = data.xor()
model = KernelPerceptron(Polynomial(2), tie="first", shuffle=False).fit(X, y)
for visit in model.steps(X, y):
    word = "update" if visit.updated else "right"
    print(f"t={visit.epoch}, i={visit.index + 1}: score {visit.score:g}, {word}, a = {visit.alpha}")
print(f"f(x) = {model.expansion_.formula()}")
plot.network(model.expansion_, X[:1])
plt.show()
