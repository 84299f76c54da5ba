"""Arrays of NumPy and of PyTorch: which of the two, where they are, and how to bring them over.

Nothing here imports PyTorch unless a tensor is there already.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np


def is_tensor(X: Any) -> bool:
    """Whether X is a PyTorch tensor; PyTorch is not imported to find out."""
    if type(X) is np.ndarray:  # nearly always, and every call asks several times
        return False
    return type(X).__module__.partition(".")[0] == "torch" and hasattr(X, "is_cuda")


def is_foreign(X: Any) -> bool:
    """An array of another library, CuPy's for example, that hands itself over by DLPack."""
    ours = isinstance(X, np.ndarray) or is_tensor(X)
    return not ours and hasattr(X, "__dlpack__") and hasattr(X, "__dlpack_device__")


#: CUDA's own memory and its managed memory, in the words of DLPack.
_CUDA: Final = (2, 13)


def on_gpu(X: Any) -> bool:
    """A CUDA array. Under Triton's interpreter, which is for tests, any tensor counts as one."""
    if X is None or type(X) is np.ndarray:
        return False
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if is_tensor(X):
        return bool(X.is_cuda) or interpreted
    return is_foreign(X) and (interpreted or X.__dlpack_device__()[0] in _CUDA)


def as_tensor(X: Any) -> Any:
    """A CUDA array of another library as a tensor on the same memory; anything else unchanged."""
    if not is_foreign(X) or not on_gpu(X):
        return X
    import torch

    return torch.from_dlpack(X)


def is_chunked(rows: Any) -> bool:
    """Whether rows are in chunks that other processes may hold: Dask's or `mercer.chunks`."""
    if type(rows) is np.ndarray:
        return False
    if hasattr(rows, "chunk_rows"):
        return True
    return type(rows).__module__.partition(".")[0] == "dask" and hasattr(rows, "to_delayed")


def is_sparse(rows: Any) -> bool:
    return hasattr(rows, "tocsr")


def refuse_masked(X: Any) -> None:
    """An error for masked entries: NumPy would use the numbers under the mask."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{int(np.ma.count_masked(X))} entries are masked, and no kernel knows what to put "
            "there: fill them (X.filled(…)), drop those rows, or use an imputer"
        )


def is_plain(X: Any) -> bool:
    """Whether X passes every check unchanged: finite floats in a NumPy array, in order."""
    if type(X) is not np.ndarray or not X.flags.c_contiguous or not X.size:
        return False
    return X.dtype in FLOATS and bool(np.isfinite(X).all())


def are_float_rows(X: Any) -> bool:
    """Whether X is an array or a CSR matrix of floats, with at least one row; no number is read."""
    plain = type(X) is np.ndarray or (is_sparse(X) and X.format == "csr")
    return bool(plain and X.ndim == 2 and X.shape[0] and X.dtype in FLOATS)


#: The types of numbers that K is computed in.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def host(X: Any) -> Any:
    """X as a NumPy array if it is a tensor; anything else unchanged."""
    if isinstance(X, (np.ndarray, float)):
        return X
    X = as_tensor(X)
    if not is_tensor(X):
        return X
    X = X.detach().cpu()
    # NumPy has no bfloat16.
    return X.float().numpy() if str(X.dtype) == "torch.bfloat16" else X.numpy()


def pandas() -> Any:
    """The package of tables, or what to install where it is missing."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise ImportError("tables need pandas: pip install pandas") from None
    return pandas


def as_pandas(X: Any) -> Any:
    """A table of Polars or Arrow as a DataFrame of pandas; anything else unchanged."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not hasattr(X, "iloc") else X


def like(values: Any, X: Any) -> Any:
    """`values` as a tensor on the GPU of X if X is a tensor there; unchanged otherwise."""
    if not on_gpu(X) or is_tensor(values):
        return values
    import torch

    return torch.as_tensor(values, device=as_tensor(X).device)


def winners(scores: Any) -> Any:
    """The index of each row's winning class: the first at a tie, or at a single score of zero.

    A single score per example, as a vector or a column, is that of the second of two classes.
    """
    if scores.ndim == 1 or scores.shape[1] == 1:
        second = scores.reshape(-1) > 0
        return 1 * second if is_tensor(second) else second.astype(np.intp)
    return scores.argmax(axis=1)


def unit_of(y: np.ndarray) -> np.ndarray:
    """The power of two below the largest |y| of each column, or 1: squares of y/unit are numbers.

    >>> unit_of(np.array([[3e-300, 0.0], [-9e-300, 0.0]])).tolist() == [2.0**-994, 1.0]
    True
    """
    largest = np.abs(y).max(axis=0, initial=0.0)
    units = np.ldexp(0.5, np.frexp(largest)[1])
    return np.where((largest > 0) & np.isfinite(largest), units, 1.0)


def namespace(X: Any) -> Any:
    """The functions of the array API standard for arrays such as X."""
    if not is_tensor(X):
        return numpy_namespace()
    return torch_namespace()


def numpy_namespace() -> Any:
    """NumPy with the names of the array API standard; it has had all of them since version 2.1."""
    return np if hasattr(np, "astype") else _compat("numpy")


def torch_namespace() -> Any:
    """PyTorch with the names of the array API standard."""
    return _compat("torch")


def _compat(library: str) -> Any:
    from importlib import import_module

    return import_module(f"array_api_compat.{library}")
