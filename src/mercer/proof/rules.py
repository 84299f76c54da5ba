"""The rules' part of `prove`: what a kernel knows about itself, turned into a `Proof`.

Each kernel class states its own rule as a claim (see `mercer.kernels.claims`), so a new kernel
needs no change here; this file only decides whether the claim covers the dimension asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .results import Proof


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
