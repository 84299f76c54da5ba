"""Make an indefinite similarity matrix usable where the mathematics needs a kernel matrix."""

from __future__ import annotations

import numpy as np

HOW = ("clip", "flip", "shift")


def repair(K: np.ndarray, how: str = "clip") -> np.ndarray:
    """K = QΛQᵀ → QΛ'Qᵀ with Λ' ≥ 0: the spectrum of a symmetric matrix made non-negative.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix of similarities.
    how : {"clip", "flip", "shift"}
        λ' = max(λ, 0), the nearest positive semi-definite matrix; λ' = |λ|, which keeps what
        the negative directions say about the data; or λ' = λ − min(λ), which changes the diagonal
        only, and so no comparison of two different examples.

    Returns
    -------
    ndarray of shape (n, n)
        Positive semi-definite up to rounding, exactly symmetric, float32 if K is.
        A matrix that needs no repair comes back as it is, as a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import repair
    >>> repair(np.array([[0.0, 1.0], [1.0, 0.0]]), how="flip").round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(map(repr, HOW))}, not {how!r}")
    K = np.asarray(K)
    if K.dtype.kind not in "fiub":
        raise TypeError(f"K must be a matrix of real numbers, not of dtype {K.dtype}")
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be square, not of shape {K.shape}")
    dtype = K.dtype if K.dtype.kind == "f" else np.dtype(np.float64)
    full = K.astype(np.float64)
    if not np.isfinite(full).all():
        raise ValueError("K contains NaN or infinity")
    if full.size == 0:
        return full.astype(dtype)
    rounding = np.finfo(dtype).eps * len(full) * np.abs(full).max()
    if np.abs(full - full.T).max() > 100 * rounding:
        raise ValueError("K is not symmetric; repair (K + K.T) / 2 if that is what you mean")
    full = (full + full.T) / 2
    values, vectors = np.linalg.eigh(full)
    if values[0] >= -rounding:
        return full.astype(dtype)
    if how == "shift":
        fixed = full - values[0] * np.eye(len(full))
    else:
        new = np.maximum(values, 0.0) if how == "clip" else np.abs(values)
        fixed = (vectors * new) @ vectors.T
        fixed = (fixed + fixed.T) / 2
    return fixed.astype(dtype)
