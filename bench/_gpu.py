"""What the benches of a GPU print and keep: one row per claim, for docs/gpu.md (tools/gpu.py).

Rows are kept in bench/results/gpu, one file per bench, with the day, the device and the versions.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

RESULTS = Path(__file__).resolve().parent / "results" / "gpu"


class Report:
    """Rows of one bench: printed as they come, kept at the end."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, list[dict[str, Any]]()
        print(f"{name}: {torch.cuda.get_device_name()}", flush=True)

    def row(
        self, what: str, value: float, unit: str, target: float | None = None, note: str = ""
    ) -> None:
        """`value` must not be above `target`."""
        met = None if target is None else value <= target
        self.rows.append(
            {"what": what, "value": value, "unit": unit, "target": target, "note": note}
        )
        asked = "" if target is None else f" (≤ {target:g}: {'met' if met else 'MISSED'})"
        print(f"{what}: {value:.3g} {unit}{asked} {note}".rstrip(), flush=True)

    def keep(self) -> None:
        """Rows of an earlier run that were not measured this time stay."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        new = {row["what"] for row in self.rows}
        old = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
        found = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "device": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__, "triton": triton.__version__},
            "rows": [row for row in old if row["what"] not in new] + self.rows,
        }
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def seconds(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float, float]:
    """The result, the median time after the first call, and the first call's."""
    times, result = [], None
    for _ in range(repeats + 1):
        result = None
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return result, sorted(times[1:] or times)[max(repeats - 1, 0) // 2], times[0]


def run_claims(report: Report, *claims: Callable[[], None]) -> None:
    """The claims that the command line names, or all of them, and their rows kept."""
    by_name = {claim.__name__: claim for claim in claims}
    for name in sys.argv[1:] or by_name:
        try:
            by_name[name]()
        except Exception as problem:  # one claim must not hide the others
            print(f"{name}: {type(problem).__name__}: {problem}", flush=True)
            traceback.print_exc()
    report.keep()


def peak_gb(run: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the most memory that was held on the way, in GB."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return run(), torch.cuda.max_memory_allocated() / 1e9


def mnist() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Bytes of the images and labels, for training and for testing, from MERCER_DATA."""
    with np.load(Path(os.environ["MERCER_DATA"]) / "mnist.npz", allow_pickle=False) as data:
        parts = [
            torch.tensor(data[f"{part}_{name}"].reshape(len(data[f"y_{name}"]), -1), device="cuda")
            for name in ("train", "test")
            for part in ("X", "y")
        ]
    X, y, Xt, yt = parts
    return X, y[:, 0].long(), Xt, yt[:, 0].long()


def deformed(copies: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """MNIST's training digits and `copies` − 1 deformations of each, as bytes: turned by up to 15°,
    scaled by a tenth, sheared by 0.15, shifted by two pixels."""
    X, y, _, _ = mnist()
    n = len(X)
    generator = torch.Generator("cuda").manual_seed(seed)

    def drawn(size: float) -> torch.Tensor:
        return size * (2 * torch.rand(n, generator=generator, device="cuda") - 1)

    made = [X]
    for _ in range(copies - 1):
        angle, wide, high = drawn(np.pi / 12), 1 + drawn(0.1), 1 + drawn(0.1)
        shear, right, down = drawn(0.15), drawn(2 / 14), drawn(2 / 14)
        sine, cosine = torch.sin(angle), torch.cos(angle)
        top = torch.stack([cosine * wide, shear - sine * wide, right], dim=1)
        bottom = torch.stack([sine * high, cosine * high, down], dim=1)
        maps = torch.stack([top, bottom], dim=1)
        for part in range(0, n, 20_000):
            images = X[part : part + 20_000].float().reshape(-1, 1, 28, 28)
            grid = torch.nn.functional.affine_grid(
                maps[part : part + 20_000], list(images.shape), align_corners=False
            )
            bent = torch.nn.functional.grid_sample(images, grid, align_corners=False)
            made.append(bent.round().clamp(0, 255).byte().reshape(len(images), -1))
    return torch.cat(made), y.repeat(copies)
