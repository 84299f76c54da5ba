"""What `prove` can answer: a proof, a counterexample, or neither, each printed as a small tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer._escape.html import tag
from mercer._escape.html import tree as html_tree
from mercer._escape.terminal import printable

WIDTH = 72  # of the kernel's expression in a tree; the object itself keeps all of it


def shorten(value: object, width: int = WIDTH) -> str:
    """The expression of ``value`` on one line, cut with … where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= width else text[: width - 1] + "…"


#: A heading, and what hangs below it.
Tree = tuple[str, list["Tree"]]


def lines(tree: Tree) -> list[str]:
    """The heading, and what is below it as branches, the last one with ``└─``."""
    heading, below = tree
    out = [heading]
    for i, part in enumerate(below):
        first, rest = ("├─ ", "│  ") if i < len(below) - 1 else ("└─ ", "   ")
        block = lines(part)
        out += [first + block[0], *(rest + line for line in block[1:])]
    return out


class Verdict:
    """What the three answers share: each is a tree, as text and, in a notebook, as HTML."""

    kernel: Any
    holds: ClassVar[bool | None]

    def _tree(self) -> Tree:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The answer as names and values, for JSON and for pages.

        >>> import mercer
        >>> mercer.prove("linear()").to_dict()["answer"]
        'kernel'
        """
        words = {True: "kernel", False: "not a kernel", None: "undecided"}
        return {"kernel": repr(self.kernel), "answer": words[self.holds], "text": str(self)}

    def __bool__(self) -> bool:
        return self.holds is True

    @printable
    def __str__(self) -> str:
        return "\n".join(lines(self._tree()))

    def _repr_html_(self) -> str:
        return tag("div", html_tree(*self._tree()))


@dataclass(frozen=True)
class Proof(Verdict):
    """cᵀKc ≥ 0 for all points and all c: why k is positive semi-definite, rule by rule.

    Attributes
    ----------
    kernel : Kernel
        What is proved to be a kernel.
    rule : str
        The rule used at this node: a closure rule, or a known argument for a leaf.
    parts : tuple of Proof
        The proofs this rule rests on.
    because : str
        The rule's argument in a few words.
    domain : str
        Where it holds, such as ``"x ≥ 0"``; empty if everywhere.
    max_dims : int or None
        The largest number of columns for which it holds; None if any.

    Examples
    --------
    >>> import mercer
    >>> proof = mercer.prove("gaussian(sigma=2)")
    >>> bool(proof), proof.max_dims
    (True, None)
    """

    kernel: Any
    rule: str
    parts: tuple[Proof, ...] = ()
    because: str = ""
    domain: str = ""
    max_dims: int | None = None

    holds: ClassVar[bool] = True

    @property
    def limits(self) -> str:
        """Where the proof holds, as words; empty if everywhere."""
        words = [f"for {self.domain}"] if self.domain else []
        if self.max_dims is not None:
            plural = "" if self.max_dims == 1 else "s"
            words.append(f"in at most {self.max_dims} dimension{plural}")
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"proof": self._node()}

    def _node(self) -> dict[str, Any]:
        return {
            "kernel": repr(self.kernel),
            "rule": self.rule,
            "because": self.because,
            "limits": self.limits,
            "parts": [part._node() for part in self.parts],
        }

    def _steps(self) -> Tree:
        head = f"{shorten(self.kernel)}: {self.rule}"
        if self.because:
            head += f" ({self.because})"
        # a limit is shown where it arises, and not again on every node above it
        inherited = {part.limits for part in self.parts}
        if self.limits and self.limits not in inherited:
            head += f" [{self.limits}]"
        return head, [part._steps() for part in self.parts]

    def _tree(self) -> Tree:
        where = f" {self.limits}" if self.limits else ""
        return f"✓ a kernel{where}", [self._steps()]


@dataclass(frozen=True, eq=False)
class Counterexample(Verdict):
    """cᵀKc < 0, or k(x, z) ≠ k(z, x): points that show that k is not a kernel.

    Attributes
    ----------
    kernel : Kernel
        What is refuted.
    points : array or list
        The n points, n as small as the search could make it (two if asymmetric).
    vector : ndarray or None
        The vector c; None if ``kind`` is ``"asymmetric"``.
    value : float
        cᵀKc, or k(x, z) − k(z, x).
    kind : {"indefinite", "asymmetric"}
        What is wrong.
    exact : bool
        True if proved in 50-digit interval arithmetic; else it lies beyond rounding in float64.
    because : str
        What the rules already said against k, if anything.
    target : object or None
        How the search evaluates k.

    Examples
    --------
    >>> import mercer
    >>> no = mercer.prove("-gaussian()")
    >>> bool(no), no.kind, len(no.points), no.value, no.check()
    (False, 'indefinite', 1, -1.0, -1.0)
    """

    kernel: Any
    points: Any
    vector: np.ndarray | None
    value: float
    kind: str = "indefinite"
    exact: bool = False
    because: str = ""
    target: Any = field(default=None, repr=False)

    holds: ClassVar[bool] = False

    def matrix(self) -> np.ndarray:
        """K on the points, each entry computed alone."""
        return self.target.entries(self.points)

    def to_dict(self) -> dict[str, Any]:
        names = ("kind", "points", "vector", "value", "exact", "because")
        return super().to_dict() | {name: getattr(self, name) for name in names}

    def check(self) -> float:
        """Compute cᵀKc (or k(x, z) − k(z, x)) again, from the kernel and the points alone."""
        from .confirm import recompute

        return recompute(self.target, self.points, self.vector)

    def _tree(self) -> Tree:
        how = "in 50-digit arithmetic" if self.exact else "in float64, beyond rounding"
        body = [self.because] if self.because else []
        known = self.target is not None
        shown = self.target.show(self.points) if known else [repr(p) for p in self.points]
        if self.kind == "asymmetric":
            body.append(f"x = {shown[0]}, z = {shown[1]}")
            body.append(f"k(x, z) − k(z, x) = {self.value:.6g} ≠ 0, {how}")
        else:
            n = len(shown)
            body.append(f"{n} point{'s' if n > 1 else ''}: {', '.join(shown)}")
            body.append(f"c = ({', '.join(f'{c:.6g}' for c in np.asarray(self.vector))})")
            body.append(f"cᵀKc = {self.value:.6g} < 0, {how}")
        return f"✗ not a kernel: {shorten(self.kernel)}", [(line, []) for line in body]


@dataclass(frozen=True)
class Undecided(Verdict):
    """Neither proved nor refuted: no rule applies, and the search found no counterexample.

    Attributes
    ----------
    kernel : Kernel
        What was asked about.
    reason : str
        Why no rule applies, or what is missing.
    tried : tuple of str
        What the search looked at.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> answer = mercer.prove(lambda x, z: np.exp(-abs(x - z).sum()), n_features=1)
    >>> type(answer).__name__, answer.holds
    ('Undecided', None)
    """

    kernel: Any
    reason: str = ""
    tried: tuple[str, ...] = ()

    holds: ClassVar[None] = None

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"reason": self.reason, "tried": self.tried}

    def _tree(self) -> Tree:
        body = [self.reason] if self.reason else []
        body.extend(f"tried: {line}" for line in self.tried)
        return f"? undecided: {shorten(self.kernel)}", [(line, []) for line in body]
