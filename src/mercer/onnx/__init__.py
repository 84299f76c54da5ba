"""Models as ONNX: operators that any service can run, without Python and without this library.

`export` writes every global model over vector kernels, the smoothers, centroids and neighbors, and
what else `compare` may choose (linear models, trees, calibrated probabilities), with the
scikit-learn preprocessing in front of them. The `onnx` package is loaded on first use
(``pip install onnx``).
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["NotExportable", "export"]


class NotExportable(TypeError):
    """This model, kernel or step cannot be written as ONNX; the message says why and what can.

    Examples
    --------
    >>> import mercer.onnx
    >>> model = mercer.KernelSVC(mercer.Spectrum(2)).fit(["ab", "ba"], [0, 1])
    >>> try:
    ...     mercer.onnx.export(model)
    ... except mercer.onnx.NotExportable:
    ...     print("a kernel on strings has no ONNX form")
    a kernel on strings has no ONNX form
    """


def export(
    model: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float32"
) -> Any:
    """A fitted model as an `onnx.ModelProto`, written to `path` if one is given.

    Parameters
    ----------
    model : learner, KernelExpansion or scikit-learn Pipeline
        Fitted; a pipeline must end in a learner.
    path : str or path-like, optional
        The file to write.
    dtype : "float32" or "float64"
        Of what goes in and out. Inside, float64 is used where float32 would cost digits.

    Returns
    -------
    onnx.ModelProto
        With one input ``X`` of shape (N, columns), N any number of rows; or, where the pipeline
        takes text, one input of shape (N, 1) for each column, by its name (an empty text is a
        missing one). Outputs: ``label``, ``probabilities`` and ``decision`` of a classifier, as far
        as the model has them, or ``prediction``; shapes are those of the model's own methods.

    Raises
    ------
    NotExportable
        With what stands in the way, and what would work: kernels on other things than vectors,
        Python functions, transformers without a rule.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer.onnx
    >>> from mercer import KernelRidge
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = KernelRidge("gaussian(1)", alpha=0.1).fit(X, [0.0, 1.0, 4.0])
    >>> proto = mercer.onnx.export(model)
    >>> [output.name for output in proto.graph.output]
    ['prediction']
    """
    try:
        from mercer.onnx.exporting import build, write
    except ModuleNotFoundError as error:
        if error.name not in ("onnx", "google"):
            raise
        raise ImportError("ONNX export needs the onnx package: pip install onnx") from None
    proto = build(model, dtype)
    if path is not None:
        write(proto, path)
    return proto
