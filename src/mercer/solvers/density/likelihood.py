"""log p(x) from sums of weights, and the bandwidth by leave-one-out likelihood.

Sums that would underflow are made relative to their largest weight, so that log p is right however
far x is from all examples; where a compact kernel is 0, it is −∞.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._progress import progress
from mercer.solvers.local.bandwidth import COARSE, line_search
from mercer.solvers.local.means import gather_relative, own_terms
from mercer.solvers.local.weights import Weights
from mercer.tuning import EXACT_ROWS

#: log p of the examples `rows`, each from all the others, at bandwidth h.
LeftOut = Callable[[Any, np.ndarray], np.ndarray]


def log_sums(weights: Weights, v: np.ndarray) -> np.ndarray:
    """log Σⱼ vⱼ w(x, xⱼ) for each query.

    >>> from mercer import Gaussian
    >>> W = Weights(Gaussian().formula(), np.array([[0.0], [100.0]]), np.array([[0.0]]))
    >>> log_sums(W, np.ones(1))
    array([    0., -5000.])
    """
    V = v[:, None]
    sums, shift, _ = gather_relative(weights, lambda w: w.product(V), own_terms(weights, V))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(sums[:, 0], 0.0)) + shift * math.log(2.0))


@record
class Likeliest:
    """The bandwidth, its mean leave-one-out log-likelihood, and every (h, value) tried."""

    bandwidth: float
    value: float
    tried: tuple[tuple[float, float], ...]


def likeliest_bandwidth(
    left_out: LeftOut, v: np.ndarray, start: float, among: Sequence[float] | None = None
) -> Likeliest:
    """The h of the largest mean log p of examples left out; of those `among` which it may be.

    Beyond 1500 examples, that many of them, drawn with a fixed seed, find the few h that the others
    (20 000 at most) choose from: those that may still be the best, by five standard errors.
    """
    shuffled = np.random.default_rng(0).permutation(len(v))
    few, many = np.sort(shuffled[:COARSE]), np.sort(shuffled[:EXACT_ROWS])
    tried: list[tuple[float, float]] = []
    with progress("bandwidth", None if among is None else len(among)) as bar:

        def each(h: float, rows: np.ndarray) -> np.ndarray:
            logs = left_out(h, rows)
            tried.append((float(h), float(v[rows] @ logs / v[rows].sum())))
            bar.advance(note=f"h = {h:.4g}")
            return logs

        def loss_on(rows: np.ndarray) -> Callable[[float], float]:
            return lambda h: -float(v[rows] @ each(h, rows) / v[rows].sum())

        if among is None:
            h, loss = line_search(loss_on(few), loss_on(many), 1.0, start)
        else:
            if len(many) > len(few):
                among = _in_the_running(among, np.array([each(h, few) for h in among]), v[few])
            loss, h = min((loss_on(many)(one), one) for one in among)
    return Likeliest(float(h), -loss, tuple(tried))


def _in_the_running(among: Sequence[float], logs: np.ndarray, v: np.ndarray) -> list[float]:
    """Which bandwidths may be the best of all, from log p of some examples, a row for each."""
    share = v / v.sum()
    means = logs @ share
    with np.errstate(invalid="ignore"):
        gaps = logs[int(np.argmax(means))] - logs  # of −∞ on both sides nothing is known
        error = np.sqrt(np.square(gaps - (gaps @ share)[:, None]) @ np.square(share))
        behind = (gaps @ share > 5.0 * error + 1e-12) | ~np.isfinite(means)
    return [h for h, out in zip(among, behind, strict=True) if not out] or list(among)
