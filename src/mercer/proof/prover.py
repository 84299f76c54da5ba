"""`prove`: first the rules, then the search; three possible answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._examples import count, take
from mercer.kernels import Kernel
from mercer.kernels import as_kernel as kernel_from

from .results import Counterexample, Proof, Undecided
from .search import Search
from .shapes import SCALES
from .target import MatrixTarget, Target, as_points, check_dimension, is_numeric

# --- The rules' part of `prove`: what a kernel knows about itself, turned into a `Proof` ----------
# Each kernel class states its own rule as a claim (see `mercer.kernels.claims`), so a new kernel
# needs no change here; this file only decides whether the claim covers the dimension asked for.


def from_claim(claim: Any, n_features: int | None) -> Proof | None:
    """The `Proof` a claim amounts to in ``n_features`` dimensions; None if it proves nothing."""
    if claim.holds is not True:
        return None
    # claims of composites already speak of n_features; a leaf's own limit is looked at once more
    if not claim.parts and _beyond(claim, n_features):
        return None
    return _proof(claim)


def _beyond(claim: Any, n_features: int | None) -> bool:
    return n_features is not None and claim.max_dims is not None and n_features > claim.max_dims


def _proof(claim: Any) -> Proof:
    # a rule may hold with a part that does not (a zero factor, say): such parts are no proofs
    parts = tuple(_proof(part) for part in claim.parts if part.holds is True)
    return Proof(claim.kernel, claim.rule, parts, claim.because, claim.domain, claim.max_dims)


def witnesses(claim: Any) -> Iterator[Any]:
    """Points that some rule offers as a counterexample, to k or to a part of it."""
    if claim.witness is not None:
        yield claim.witness
    for part in claim.parts:
        yield from witnesses(part)


def objection(claim: Any, n_features: int | None) -> str:
    """Why the rules did not prove it, in one sentence."""
    if claim.holds is True and _beyond(claim, n_features):
        return f"{claim.rule} holds in at most {claim.max_dims} dimensions, not in {n_features}"
    detail = f" ({claim.because})" if claim.because else ""
    if claim.holds is False:
        return f"the rules refute it: {claim.rule}{detail}"
    return f"no rule proves it: {claim.rule}{detail}" if claim.rule else "no rule proves it"


DIMENSIONS = (1, 2, 3, 5)


def prove(
    k: Any, data: Any = None, n_features: int | None = None, *, seconds: float = 3.0, seed: int = 0
) -> Proof | Counterexample | Undecided:
    """Decide whether cᵀKc ≥ 0 for all points and all c: a proof, a counterexample, or neither.

    The rules come first: each kernel knows an argument for itself, and the building blocks carry
    it upwards. Where they say no or nothing, points are searched for on which k is no kernel.

    Parameters
    ----------
    k : Kernel, str or callable
        A kernel, an expression, or any function of two examples.
    data : array, DataFrame or list, optional
        Examples to search among first. A function of other things than numbers needs them.
        For ``Precomputed()``, the matrix itself.
    n_features : int, optional
        The number of columns the answer is for. Without it, a proof says in which dimensions it
        holds, and the search looks at 1, 2, 3 and 5.
    seconds : float
        The limit of the search.
    seed : int
        Of the random part of the search.

    Returns
    -------
    Proof, Counterexample or Undecided
        The truth value is True for a proof only; ``answer.holds`` is True, False or None.

    Examples
    --------
    >>> import mercer
    >>> print(mercer.prove(lambda x, z: float(abs(x - z).max() <= 1)))  # doctest: +ELLIPSIS
    ✗ not a kernel: ...
    ├─ 3 points: 1, 2, 3
    ├─ c = (1, -1, 1)
    └─ cᵀKc = -1 < 0, in 50-digit arithmetic
    >>> bool(mercer.prove("gaussian() * polynomial(2, offset=1) + 3"))
    True
    """
    kernel, first = _looked_at(k, data)
    n_features = _checked_width(n_features, first)
    claim = kernel.claim(n_features)
    proof = from_claim(claim, n_features)
    if proof is not None:
        return proof

    reason = objection(claim, n_features)
    # "no rule" is worth a line where nothing is known in the end, not below a counterexample
    because = reason if claim.holds is False else ""
    kernel = kernel.with_widths()  # without data, what is tried has the width 1
    if kernel.takes_matrix:
        return _prove_matrix(kernel, data, reason, seconds, seed)
    try:
        target = Target(kernel)
    except ValueError as error:  # k is defined nowhere: the root of a negative number, say
        return Undecided(kernel, f"{reason}; {error}")
    search = Search(target, seconds, seed, scales=_scales(kernel), because=because)
    if data is None:
        found = search.on_witnesses(witnesses(claim))
    else:
        search.target.matrix(first)  # an error about the data is for the user to see
        found = search.on_data(data)
    if found is not None:
        return found
    movable = data is None or is_numeric(first)
    dims, notes = _dimensions(search, n_features) if movable else ((), [])
    for stage in (search.on_shapes, search.on_clouds, search.by_descent) if dims else ():
        found = stage(dims)
        if found is not None:
            return found
    if search.late:
        notes.append(f"stopped after {seconds:g} s")
    if not dims and data is None:
        reason += "; data are needed to search for a counterexample"
    return Undecided(kernel, reason, tuple(search.tried + notes))


def _looked_at(k: Any, data: Any) -> tuple[Any, Any]:
    """The kernel with the widths that data chooses, and the first example; words without data."""
    kernel = as_kernel(k)
    if data is None:
        return kernel, None
    if count(data) == 0:
        raise ValueError("data is empty")
    return kernel.fitted(data), as_points(take(data, [0]))


def as_kernel(k: Any) -> Any:
    """A Kernel from a Kernel, an expression string, or a function of two examples."""
    if isinstance(k, type) and not issubclass(k, Kernel):
        raise TypeError(f"{k.__name__} is a class; give an instance of it, {k.__name__}(…)")
    return kernel_from(k)


def _prove_matrix(
    kernel: Any, data: Any, reason: str, seconds: float, seed: int
) -> Counterexample | Undecided:
    if data is None:
        return Undecided(kernel, f"{reason}; the matrix itself is needed as data")
    data = as_points(data)
    if not is_numeric(data) or data.ndim != 2 or data.shape[0] != data.shape[1]:
        raise ValueError("data for a precomputed kernel must be the square matrix itself")
    search = Search(MatrixTarget(kernel, data), seconds, seed)
    found = search.on_data(data)
    return Undecided(kernel, reason, tuple(search.tried)) if found is None else found


def _checked_width(n_features: int | None, first: Any) -> int | None:
    width = int(first.shape[1]) if getattr(first, "ndim", 0) == 2 else None
    if n_features is None:
        return width
    n_features = check_dimension(n_features)
    if width is not None and width != n_features:
        raise ValueError(f"data has {width} columns, but n_features is {n_features}")
    return n_features


def _dimensions(search: Search, n_features: int | None) -> tuple[tuple[int, ...], list[str]]:
    """The numbers of columns k can be asked in, and what it said about the others."""
    notes: list[str] = []
    wanted = _open_dimensions(search.target.kernel) if n_features is None else (n_features,)
    works = tuple(d for d in wanted if not search.late and _accepts(search, d, notes))
    if works or n_features is not None:
        return works, notes
    if search.target.function is not None:  # perhaps a function of two numbers
        rows, search.target = search.target, Target(search.target.kernel, scalars=True)
        if _accepts(search, 1, []):
            return (1,), ["as a function of two numbers"]
        search.target = rows
    for d in _widths(search.target.kernel):
        if search.late:
            break
        if _accepts(search, d, []):
            return (d,), notes
    return (), notes


def _open_dimensions(kernel: Any) -> tuple[int, ...]:
    """The usual numbers of columns, without those for which the rules already prove it."""
    still = tuple(d for d in DIMENSIONS if kernel.claim(d).holds is not True)
    if still:
        return still
    # A sum over sets of ten columns, say, is zero in fewer.
    return tuple(d for d in range(4, 33) if kernel.claim(d).holds is not True)[:1]


def _accepts(search: Search, d: int, notes: list[str]) -> bool:
    points = np.arange(1.0, 3.0)[:, None] + np.zeros(d)
    try:
        K = search.target.matrix(points)
    except Exception as error:  # a black box may raise anything
        plural = "" if d == 1 else "s"
        notes.append(f"{d} column{plural}: {type(error).__name__}: {error}"[:160])
        return False
    return bool(np.isfinite(K).all())


def _numbers(kernel: Any) -> list[np.ndarray]:
    """The numeric parameters of a kernel and of all its parts."""
    arrays = []
    for value in kernel.get_params().values():
        if isinstance(value, int | float | np.ndarray | tuple) and not isinstance(value, bool):
            try:
                arrays.append(np.asarray(value, dtype=np.float64))
            except (TypeError, ValueError):
                continue  # a tuple of names
    return arrays


def _widths(kernel: Any) -> Iterator[int]:
    """Numbers of columns a kernel may have been made for: those of its arrays, then a few more."""
    yield from sorted({array.shape[-1] for array in _numbers(kernel) if array.ndim})
    yield from range(4, 33)


def _scales(kernel: Any) -> tuple[float, ...]:
    """The fixed scales, and those that the kernel's own lengths and rates suggest."""
    own: list[float] = []
    for array in _numbers(kernel):
        for value in np.unique(np.abs(array))[:2]:
            if 1e-300 < value < 1e300:
                own.extend((value, 1 / value, value / 2))
    new = [s for s in dict.fromkeys(own) if s not in SCALES and 1e-12 < s < 1e12]
    return SCALES + tuple(new[:12])
