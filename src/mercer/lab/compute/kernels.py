"""The kernel box: an expression read, its numbers as sliders, its mathematics, its proof."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np

import mercer
from mercer._lazy import record
from mercer.kernels import Kernel
from mercer.kernels.catalog import LEAVES
from mercer.kernels.expressions.blackboard import Typed
from mercer.kernels.expressions.errors import GrammarError
from mercer.kernels.grammar import BLOCKS
from mercer.kernels.parameters import as_width
from mercer.lab.compute.states import VIEW, expression, takes
from mercer.lab.compute.wire import Reply
from mercer.lab.mathml import mathml
from mercer.live import sliders_of
from mercer.proof.results import Counterexample

# --- What may come next while an expression is typed: kernels, building blocks, parameters --------


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


#: Seconds that the search for a counterexample may take.
SEARCH = 3.0


@takes(text=expression)
def kernel(text: str) -> Reply:
    """The expression as a kernel, or what is wrong with it and where."""
    try:
        found = mercer.kernels.parse(text)
        sliders = sliders_of(text)
    except GrammarError as error:
        hint = {"start": error.start, "end": error.end, "hint": error.hint}
        return Reply({"problem": {"words": _short(str(error)), **hint}})
    except (ValueError, TypeError) as error:
        return Reply({"problem": {"words": str(error), "start": 0, "end": len(text), "hint": ""}})
    typed = Typed(text).mathematics
    facts = {"repr": repr(found), "numbers": sliders, "mathml": formula(found), "typed": typed}
    return Reply(facts)


def _short(words: str) -> str:
    """Without the list of all kernels, and without the expression itself, which is just above."""
    words = re.sub(r"this is not a kernel expression: .* \((.*)\)\. It is", r"\1. It is", words)
    words = re.sub(r"^in '.*?': ", "", words)
    return words.split(" There are: ")[0]


def formula(found: Kernel) -> str:
    """k(x, z) = …, with symbols for the widths that have a slider."""
    names = {
        f"{path}{name}": "scale"
        for path, part in found.parts()
        for name, value in part.get_params(deep=False).items()
        if as_width(part.parameters.get(name)) and isinstance(value, (int, float)) and value != 1
    }
    text = found.set_params(**names).latex()
    return mathml("k(x, z) = " + text.replace(r"+ -1 \,", "-").replace("+ -", "- "))


@takes(text=expression)
def completions(text: str) -> Reply:
    return Reply({"completions": [asdict(found) for found in complete(text)]})


@takes(text=expression)
def proof(text: str) -> Reply:
    """Whether it is a kernel in the plane: the tree of a proof, or points that refute it."""
    found = mercer.kernels.parse(text)
    answer = mercer.prove(found, n_features=2, seconds=SEARCH)
    if isinstance(answer, Counterexample):
        answer = _in_the_picture(answer)
    facts = answer.to_dict()
    if isinstance(answer, Counterexample):
        facts["points"] = np.asarray(answer.points, dtype=np.float64)
        facts["matrix"] = answer.matrix()
    return Reply(facts)


def _in_the_picture(answer: Counterexample) -> Counterexample:
    """The same points nearer to the middle, if they lie outside and refute it there as well."""
    points = np.asarray(answer.points, dtype=np.float64)
    far = float(np.abs(points).max()) / (0.8 * VIEW)
    if far <= 1 or answer.kind != "indefinite":
        return answer
    near = replace(answer, points=points / far, exact=False)
    values, vectors = np.linalg.eigh(near.matrix())
    if values[0] > -1e-6 * np.abs(values).max():
        return answer
    c = vectors[:, 0] / vectors[np.abs(vectors[:, 0]).argmax(), 0]
    return replace(near, vector=c, value=float(c @ near.matrix() @ c))
