"""Which engine: the input picks it, or ``config(device=…)`` does.

Kernels, lazy Grams and expansions come through here. Solvers walk K on the CPU: they make their
`Gram` themselves.
"""

from __future__ import annotations

import warnings
from typing import Any

from mercer._config import get_config
from mercer.gram.operator import Gram

_told: set[str] = set()


def make_gram(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K on the engine this data belongs to."""
    if on_device(kernel, X):
        from mercer.gram.torch_engine import DeviceGram

        return DeviceGram(kernel, X, Z)
    return Gram(kernel, X, Z)


def on_device(kernel: Any, X: Any) -> bool:
    """Whether this Gram belongs on a GPU: a CUDA tensor, or arrays under config(device="cuda")."""
    tensor = type(X).__module__.partition(".")[0] == "torch"
    if not (tensor and X.is_cuda) and (tensor or get_config().device == "cpu"):
        return False
    if getattr(kernel, "is_opaque", False):
        _tell_once(
            f"{type(kernel).__name__} holds an opaque kernel, which has no GPU form: it is "
            "computed on the CPU"
        )
        return False
    require_cuda()
    return True


def require_cuda() -> None:
    """A clear word where there is no PyTorch or no GPU."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "config(device='cuda') needs PyTorch: pip install 'mercer-kernels[gpu]'. "
            "Everything else works without it on the CPU."
        ) from None
    if not torch.cuda.is_available():
        raise RuntimeError(
            "config(device='cuda') needs an NVIDIA GPU and a CUDA build of PyTorch; "
            "torch.cuda.is_available() is False here. Use config(device='cpu')."
        )


def _tell_once(message: str) -> None:
    if message not in _told:
        _told.add(message)
        warnings.warn(message, stacklevel=5)
