"""Which engine: the input picks it, or ``config(device=…)`` does."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer._config import get_config
from mercer.formula import Formula
from mercer.formula.nodes import statistics
from mercer.gram.host import Gram

_told: set[str] = set()


def make_gram(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K on the engine this data belongs to."""
    if on_device(kernel, X, Z):
        from mercer.engines.cuda.gram import DeviceGram
        from mercer.engines.cuda.streamed import StreamedGram, too_large

        with room_for(X, Z):
            return (StreamedGram if too_large(X, Z) else DeviceGram)(kernel, X, Z)
    return Gram(kernel, host(X), host(Z))


@contextmanager
def room_for(X: Any, Z: Any = None) -> Iterator[None]:
    """PyTorch's word for a full device in ours; any other error as it is."""
    try:
        yield
    except RuntimeError as error:
        if "out of memory" not in str(error).lower():
            raise
        shapes = " and ".join(str(tuple(s.shape)) for s in (X, Z) if hasattr(s, "shape"))
        raise MemoryError(
            f"the device has no room for rows of shape {shapes or 'unknown'} and what is made of "
            "them. Free what else is there, or set a lower mercer.config(memory=…), "
            "which makes smaller parts; rows given as NumPy arrays under config(device='cuda') "
            "are streamed where they do not fit, tensors and sparse matrices are not."
        ) from error


def solver_gram(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K for a solver: where its data belongs, and with results on the host either way."""
    gram = make_gram(kernel, X, Z)
    return gram.facing_host() if gram.on_device else gram  # type: ignore[attr-defined]


def resident(gram: Any) -> Any:
    """The same Gram where all its rows are on the device; an error that says what works where not.

    Streamed rows can be multiplied by, and be predicted for; they cannot be visited in any order.
    """
    if gram.streamed:
        raise MemoryError(
            f"{gram.shape[0]} rows do not fit the device, and this solver needs all of them there. "
            "Rows are streamed by ridge regression with solver='nystrom' or 'cg' and by logistic "
            "regression with solver='nystrom' or 'gradient'; otherwise take parts of the data, "
            "config(device='cpu'), or a higher memory limit."
        )
    return gram


def is_tensor(X: Any) -> bool:
    """Whether X is a PyTorch tensor; PyTorch is not imported to find out."""
    return type(X).__module__.partition(".")[0] == "torch" and hasattr(X, "is_cuda")


def host(X: Any) -> Any:
    """X as a NumPy array where it is a tensor; anything else as it is."""
    return X.detach().cpu().numpy() if is_tensor(X) else X


def beside(values: Any, X: Any) -> Any:
    """An array as a tensor on the GPU of X, where X is there; as it is otherwise."""
    if not on_gpu(X) or is_tensor(values):
        return values
    import torch

    return torch.as_tensor(values, device=X.device)


def on_gpu(X: Any) -> bool:
    """A CUDA tensor. Under Triton's interpreter, which is for tests, any tensor counts as one."""
    return is_tensor(X) and bool(X.is_cuda or os.environ.get("TRITON_INTERPRET") == "1")


def keeps_tensor(kernel: Any, X: Any) -> bool:
    """Whether a learner works on X where it is: a tensor on a GPU, and a kernel that runs there."""
    return on_gpu(X) and _has_device_form(kernel)


def on_device(kernel: Any, X: Any, Z: Any = None) -> bool:
    """Whether this Gram belongs on a GPU: a CUDA tensor, or arrays under config(device="cuda")."""
    given = on_gpu(X) or on_gpu(Z)
    if not given and (is_tensor(X) or get_config().device == "cpu"):
        return False
    if not _has_device_form(kernel):
        return False
    if not given:
        require_cuda()
    return True


def _has_device_form(kernel: Any) -> bool:
    if isinstance(kernel, Formula):
        return all(node.op != "opaque" for node in statistics(kernel))
    if getattr(kernel, "is_opaque", False):
        _tell_once(
            f"{type(kernel).__name__} holds an opaque kernel, which has no GPU form: it is "
            "computed on the CPU"
        )
        return False
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
