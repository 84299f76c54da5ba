"""What a kernel knows about its own validity: one claim a kernel, combined rule by rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mercer._lazy import record

if TYPE_CHECKING:
    from mercer.kernels.core import Kernel


#: The rule of a kernel that is 0 everywhere: the one whose negative is a kernel as well.
ZERO = "zero function"


@record
class Claim:
    """`holds`: True, positive semi-definite by `rule`; False, refuted by it; None, no rule says.

    `domain` names where it holds ("x ≥ 0"), `max_dims` up to how many columns. `negative`: −k is
    positive semi-definite and k is not zero, so that no sum of such functions is a kernel.
    `generic`: k(x, x) > 0 for almost all x, so that a product of such kernels is not zero either.
    `witness`: points on which k, summed over all their pairs, is negative.

    Parameters
    ----------
    holds : bool or None
        True: positive semi-definite; False: refuted; None: no rule says.
    rule : str
        Name of the rule.
    kernel : Kernel
        What the claim is about.
    because : str
        The argument, in a few words.
    parts : tuple of Claim
        The claims this one rests on.
    domain : str
        Where it holds, such as "x ≥ 0"; empty if everywhere.
    max_dims : int or None
        The largest number of columns for which it holds.
    negative : bool
        Whether −k is positive semi-definite and k is not zero.
    generic : bool
        Whether k(x, x) > 0 for almost all x.
    witness : array or None
        Points on which k, summed over all their pairs, is negative.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> claim = Gaussian(1.0).claim()
    >>> claim.holds, claim.rule
    (True, 'Gaussian')
    """

    holds: bool | None
    rule: str
    kernel: Kernel
    because: str = ""
    parts: tuple[Claim, ...] = ()
    domain: str = ""
    max_dims: int | None = None
    negative: bool = False
    generic: bool = True
    witness: Any = None


@record
class Rule:
    """A claim about every kernel of a class, whatever its parameters: `Kernel.proof`.

    Parameters
    ----------
    holds : bool or None
        True: positive semi-definite; False: not; None: nothing is known.
    name : str
        Of the rule, as proofs print it.
    because : str
        The argument, in a few words.
    domain : str
        Where it holds; empty if everywhere.
    max_dims : int or None
        The largest number of columns for which it holds.
    generic : bool
        Whether k(x, x) > 0 for almost all x.

    Examples
    --------
    >>> from mercer.kernels import Rule
    >>> Rule(True, "Gaussian", "its Fourier transform is non-negative").holds
    True
    """

    holds: bool | None
    name: str
    because: str = ""
    domain: str = ""
    max_dims: int | None = None
    generic: bool = True

    def of(self, kernel: Kernel, n_features: int | None = None) -> Claim:
        """The claim about one kernel, for data of that many columns."""
        claim = Claim(
            self.holds,
            self.name,
            kernel,
            self.because,
            domain=self.domain,
            max_dims=self.max_dims,
            generic=self.generic,
        )
        return claim if self.max_dims is None else within(claim, n_features)


def zero_function(kernel: Kernel) -> Claim:
    return Claim(True, ZERO, kernel, "φ(x) = 0", generic=False)


def closed_under(
    kernel: Kernel,
    rule: str,
    parts: Sequence[Claim],
    because: str = "",
    zero: Callable[[Iterable[bool]], bool] = any,
) -> Claim:
    """A building block that keeps positive semi-definiteness: it holds where all its parts do.

    ``zero`` tells whether it is zero where any part is (a product) or where all are (a sum).
    """
    parts = tuple(parts)
    if zero(p.rule == ZERO for p in parts):
        return zero_function(kernel)
    positive = all if zero is any else any
    holds = True if all(p.holds for p in parts) else None
    domains = dict.fromkeys(p.domain for p in parts if p.domain)
    limits = [p.max_dims for p in parts if p.max_dims is not None]
    if holds is None:
        open_parts = ", ".join(repr(p.kernel) for p in parts if not p.holds)
        because = f"the rule needs valid parts, which is not known of {open_parts}"
    return Claim(
        holds,
        rule,
        kernel,
        because,
        parts,
        " and ".join(domains) if holds else "",
        min(limits, default=None) if holds else None,
        generic=positive(p.generic for p in parts),
    )


def mapped(claim: Claim, rows: str) -> Claim:
    """The claim for rows that are mapped first: what it asks of x, it asks of ``rows``."""
    return replace(claim, domain=re.sub(r"\bx\b", lambda _: rows, claim.domain))


def within(claim: Claim, n_features: int | None) -> Claim:
    """The claim for data of that many columns: beyond `max_dims` the rule says nothing."""
    limit = claim.max_dims
    if not claim.holds or limit is None or n_features is None or n_features <= limit:
        return claim
    because = f"the rule holds in up to {limit} dimensions; the data has {n_features}"
    return Claim(None, claim.rule, claim.kernel, because)
