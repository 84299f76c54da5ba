"""Memory of a device: how much may be used, and a clear error where it ran out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from mercer._config import get_config


def device_limit(device: torch.device) -> int:
    """Bytes that may be taken on a device: the limit that was set, or what is free there."""
    settings = get_config()
    if device.type != "cuda":
        return settings.memory_bytes
    free = torch.cuda.mem_get_info(device)[0]
    # What PyTorch holds in reserve is free for it, too.
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return min(settings.memory or int(0.9 * free), int(0.95 * free))


@contextmanager
def room_for(X: Any, Z: Any = None) -> Iterator[None]:
    """Turn PyTorch's out-of-memory error into a MemoryError that says what to do."""
    try:
        yield
    except RuntimeError as error:
        if "out of memory" not in str(error).lower():
            raise
        # What the failed call held is free again before the error is raised, whoever keeps it.
        traceback.clear_frames(error.__traceback__)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        shapes = " and ".join(str(tuple(s.shape)) for s in (X, Z) if hasattr(s, "shape"))
        raise MemoryError(
            f"the device has no room for rows of shape {shapes or 'unknown'} and what is made of "
            "them. Free what else is there, or set a lower mercer.set_config(memory=…), "
            "which makes smaller parts; rows given as NumPy arrays under config(device='cuda') "
            "are streamed where they do not fit, tensors and sparse matrices are not."
        ) from None


def clear_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a Gram whose memory errors say what to do, as those of `room_for` do."""

    @wraps(method)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        with room_for(self.points(), self.others()):
            return method(self, *args, **options)

    return run
