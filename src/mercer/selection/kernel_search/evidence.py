"""How much of the targets a kernel explains, by the evidence of a Gaussian process with noise.

With K = QΩQᵀ and covariance s²(K + δI), the best s² is the mean of (qᵢᵀt)²/(ωᵢ + δ), and

    log p(t) − log p(t | noise alone) = −(n/2) log(s²/var · exp mean log(ωᵢ + δ)).

1 − exp(−2/n · that) is the share: 0 for what is no better than noise, 1 for what leaves nothing.
The evidence holds back by itself where a kernel could explain everything.
"""

from __future__ import annotations

import numpy as np

#: δ that are tried, in units of the mean of k(x, x).
GRID = 10.0 ** np.arange(-6.0, 2.01, 0.25)


def explained(K: np.ndarray, T: np.ndarray) -> tuple[float, float]:
    """The share, and the standard deviation of the noise, for centered targets (n, T).

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> share, noise = explained(x @ x.T, 2 * x)
    >>> round(share, 3), noise < 0.01
    (1.0, True)
    >>> explained(np.eye(40), x)[0] < 1e-3
    True
    """
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    unit = float(values.mean()) or 1.0
    parts = np.square(vectors.T @ T).mean(axis=1)
    variance = float(np.mean(np.square(T))) or 1.0
    shifted = values + unit * GRID[:, None]
    size = (parts / shifted).mean(axis=1)
    left = size / variance * np.exp(np.log(shifted).mean(axis=1))
    best = int(np.argmin(left))
    return 1.0 - float(left[best]), float(np.sqrt(size[best] * unit * GRID[best]))
