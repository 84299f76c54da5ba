"""Compiled loops that no formula changes: squared distances from a product, near pairs again."""

from __future__ import annotations

from typing import Any

from mercer._machine.jit import njit


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def distances_from_product(out: Any, x: Any, z: Any, norms_x: Any, norms_z: Any, near: Any) -> None:
    """out ← ‖x‖² + ‖z‖² − 2 out; where that is below near·(‖x‖² + ‖z‖²), from x − z.

    In place: two names for one array would keep the compiler from vectorizing.
    """
    columns = 256
    for i in range(out.shape[0]):
        nx = norms_x[i]
        for start in range(0, out.shape[1], columns):
            stop = min(start + columns, out.shape[1])
            row, nz = out[i, start:stop], norms_z[start:stop]
            closest = nx
            for t in range(stop - start):
                total = nx + nz[t]
                s = total - row[t] - row[t]
                row[t] = s
                gap = s - near * total
                closest = gap if gap < closest else closest
            if closest >= 0 * nx:
                continue
            for t in range(stop - start):
                if row[t] < near * (nx + nz[t]):
                    s = 0 * nx
                    for d in range(x.shape[1]):
                        g = x[i, d] - z[start + t, d]
                        s += g * g
                    row[t] = s
