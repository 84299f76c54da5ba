"""K on an NVIDIA GPU: generated Triton kernels, PyTorch, and rows streamed from the host.

CUDA tensors in give CUDA tensors out; NumPy arrays come here under ``config(device="cuda")``, and
are streamed over the device where they do not fit. The package registers itself as the engine
"cuda"; PyTorch is imported when data arrives. `solvers/` holds what only a GPU has: SMO and the
perceptron's walk as single launches, a Cholesky factor in place, neighbors.
"""

from __future__ import annotations

from typing import Any

from mercer._arrays import as_tensor, is_sparse, is_tensor, on_gpu
from mercer._config import get_config
from mercer.gram.base import Gram
from mercer.gram.dispatch import Engine, has_formula, register
from mercer.kernels.opaque import Precomputed

_SOLVERS = "mercer.engines.cuda.solvers"


def takes(kernel: Any, X: Any, Z: Any = None) -> bool:
    """A CUDA tensor, or arrays under ``config(device="cuda")``; not an opaque kernel."""
    given = on_gpu(X) or on_gpu(Z)
    if not given and (not get_config().device.startswith("cuda") or is_tensor(X)):
        return False
    if not _runs_there(kernel):
        return False
    if not given:
        require_cuda()
    return True


def make(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K on the device, its rows kept there or streamed."""
    from mercer.engines.cuda.gram import CudaGram
    from mercer.engines.cuda.memory import room_for
    from mercer.engines.cuda.streamed import StreamedGram, too_large

    X, Z = as_tensor(X), as_tensor(Z)
    with room_for(X, Z):
        if isinstance(kernel, Precomputed):
            from mercer.engines.cuda.precomputed import PrecomputedGram

            return PrecomputedGram(kernel, X, Z)
        if is_sparse(X):
            from mercer.engines.cuda.sparse import sparse_gram

            if (gram := sparse_gram(kernel, X, Z)) is not None:
                return gram
        return (StreamedGram if too_large(X, Z) or too_large(Z, X) else CudaGram)(kernel, X, Z)


def keeps(kernel: Any, X: Any) -> bool:
    """A tensor on a GPU, and a kernel that runs there."""
    return on_gpu(X) and _runs_there(kernel)


def _runs_there(kernel: Any) -> bool:
    return isinstance(kernel, Precomputed) or has_formula(kernel, "torch")


def check_rows(X: Any, name: str) -> Any:
    """A tensor as the kernels want it: two-dimensional, floating, finite."""
    from mercer.engines.cuda.rows import to_device

    return to_device(as_tensor(X), name)


def require_cuda() -> None:
    """A clear error where there is no PyTorch or no GPU."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "config(device='cuda') needs PyTorch: pip install torch. "
            "Everything else works without it on the CPU."
        ) from None
    if not torch.cuda.is_available():
        raise RuntimeError(
            "config(device='cuda') needs an NVIDIA GPU and a CUDA build of PyTorch; "
            "torch.cuda.is_available() is False here. Use config(device='cpu')."
        )


register(
    Engine(
        "cuda",
        takes,
        make,
        keeps,
        check_rows,
        solvers={
            "factor": f"{_SOLVERS}.cholesky:DeviceShifted",
            # Rows up to which an exact ridge solution takes seconds here.
            "exact rows": 80_000,
            "centers": f"{_SOLVERS}.panels:panels",
            "games": f"{_SOLVERS}.games:product_games",
            "evidence": f"{_SOLVERS}.evidence:factorized",
            "perceptron": f"{_SOLVERS}.perceptron:DevicePerceptron",
            "svm": f"{_SOLVERS}.svm:solve_all",
            "neighbors": f"{_SOLVERS}.neighbors:nearest",
        },
    )
)
