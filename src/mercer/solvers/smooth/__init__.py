"""Smooth losses of f = Σ aᵢ k(xᵢ, ·) + b: any loss with a curvature, minimized.

    losses.py    a loss is one class: value, link, gradient, curvature and its bound
    spaces.py    where f lives (all examples, or centers), and a preconditioner for each
    newton.py    Newton's method by conjugate gradients: a few steps of products with K
    descent.py   the gradient rule of the lecture, for teaching
    fit.py       the table of these solvers, and `minimize`, which picks one

Every file is written once for NumPy and PyTorch; `solvers.linear.panels` multiplies by K.
"""

from mercer.solvers.smooth.fit import SmoothTask, minimize
from mercer.solvers.smooth.losses import Binary, Multinomial, SmoothLoss
from mercer.solvers.smooth.newton import SmoothSolution

__all__ = ["Binary", "Multinomial", "SmoothLoss", "SmoothSolution", "SmoothTask", "minimize"]
