"""What may come next while an expression is typed: kernels, building blocks, parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping

from mercer._lazy import record
from mercer.kernels.catalog import LEAVES
from mercer.kernels.core import Kernel
from mercer.kernels.grammar import BLOCKS


@record
class Completion:
    """`insert` replaces the characters from `start` on; `signature` and `words` explain it."""

    start: int
    insert: str
    signature: str
    words: str


def complete(text: str, takes: str | None = "vectors", most: int = 12) -> list[Completion]:
    """Completions at the end of a text, for kernels whose examples are of the type `takes`.

    >>> [c.signature for c in complete("2*gau")]
    ['gaussian(sigma=1.0)']
    >>> [c.insert for c in complete("linear().no")]
    ['normalized()']
    """
    if found := re.search(r"\.(\w*)$", text):
        known = {name: getattr(Kernel, name) for name in BLOCKS}
        return _matching(known, found, found.start(1), most)
    found = re.search(r"(?<![\w.)'\"])([A-Za-z_]\w*)$", text)
    if found is None:
        return []
    known = {name: cls for name, cls in LEAVES.items() if takes in (None, cls.takes)}
    return _matching(known, found, found.start(1), most)


def _matching(
    known: Mapping[str, Callable[..., object]], found: re.Match[str], start: int, most: int
) -> list[Completion]:
    begun = found[1].lower()
    names = sorted((n for n in known if n.startswith(begun)), key=lambda n: (len(n), n))
    return [_described(name, known[name], start) for name in names[:most]]


def _described(name: str, target: Callable[..., object], start: int) -> Completion:
    parameters = [p for p in inspect.signature(target).parameters.values() if p.name != "self"]
    shown = [
        p.name if p.default is inspect.Parameter.empty else f"{p.name}={p.default!r}"
        for p in parameters
    ]
    needed = any(p.default is inspect.Parameter.empty for p in parameters)
    words = (inspect.getdoc(target) or "").splitlines()
    opened = f"{name}(" if needed else f"{name}()"
    return Completion(start, opened, f"{name}({', '.join(shown)})", words[0] if words else "")
