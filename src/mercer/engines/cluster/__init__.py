"""Rows in chunks, beyond the memory of one process: Dask arrays and frames, files, memory maps.

A Dask array goes in, an ordinary model that knows nothing of it comes out. Tasks run in this
process, in an executor or on a Dask cluster, as ``config(cluster=…)`` says. `mercer.chunks` makes
chunks of files. The package registers itself as the engine "cluster"; Dask is imported when its
data arrives.
"""

from __future__ import annotations

from typing import Any

from mercer._arrays import is_chunked
from mercer.gram import Engine, Gram, register


def takes(kernel: Any, X: Any, Z: Any = None) -> bool:
    """Rows in chunks, or points in chunks."""
    return is_chunked(X) or is_chunked(Z)


def make(kernel: Any, X: Any, Z: Any = None) -> Gram:
    from mercer.engines.cluster.gram import ChunkGram

    return ChunkGram(kernel, X, Z)


def keeps(kernel: Any, X: Any) -> bool:
    return is_chunked(X)


def check_rows(X: Any, name: str) -> Any:
    """Rows in chunks, two-dimensional."""
    from mercer.engines.cluster.chunks import Chunks

    rows = Chunks.of(X)
    if rows.ndim != 2:
        raise ValueError(f"expected 2-D rows in {name}, got shape {rows.shape}")
    return rows


register(
    Engine(
        "cluster",
        takes,
        make,
        keeps,
        check_rows,
        solvers={
            "centers": "mercer.engines.cluster.sums:center_panels",
            "features": "mercer.engines.cluster.sums:feature_panels",
            "neighbors": "mercer.engines.cluster.learning.near:nearest",
            "local sums": "mercer.engines.cluster.learning.near:local_sums",
            "newton": "mercer.engines.cluster.learning.newton:SumsNewton",
            "svm": "mercer.engines.cluster.svm:solve_all",
            "perceptron": "mercer.engines.cluster.perceptron:ChunkPerceptron",
            "mixed perceptron": "mercer.engines.cluster.perceptron:learn_mixed",
            # No exact solution: that needs all rows together.
            "exact rows": 0,
        },
        device=False,
    )
)
