"""Figures that move in a page without a server.

`sources` writes a kernel's formula as JavaScript, `bundle` puts the modules of `static` into one
script or one page. `static/mercer.js` computes: Gram matrices, the perceptron with its visits,
ridge regression, Gaussian processes, support vector machines, logistic regression, smoothers,
neighbors and kernel PCA, for a few hundred points.
"""

from mercer.live.bundle import embedded, page, read, script
from mercer.live.sources import kernel_for_page, sliders_of

__all__ = ["embedded", "kernel_for_page", "page", "read", "script", "sliders_of"]
