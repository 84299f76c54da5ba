"""What each solver needs, gives and takes; which one "auto" picks; and the sentence that refuses.

A solver is an entry of a table, one table per problem ("ridge", "logistic", …). It says what it
needs of the data (`NEEDS`), what it gives beyond coefficients (`GIVES`), how many bytes it takes,
and when it is the one to pick. From the entries come the choice, every refusal with what would work
instead, and (tools/solvers.py) the lists in docstrings and documents. `register_solver` adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from importlib import import_module
from typing import Any

from mercer._config import show_bytes
from mercer._lazy import record
from mercer._notices import log

#: The problems, and the modules that register solvers for them.
PROBLEMS = {
    "ridge": ("ridge regression", "mercer.solvers.linear.ridge"),
    "logistic": ("logistic regression", "mercer.solvers.smooth.fit"),
}
#: What a solver may give beyond coefficients.
GIVES = {"loo": "leave-one-out errors", "std": "standard deviations"}


@record
class Size:
    """How many examples, targets, features φ and centers there are; the bytes of a number of K."""

    n: int
    targets: int = 1
    features: int = 0
    centers: int = 0
    itemsize: int = 8


@record
class Request:
    """A problem, as far as the choice of a solver goes.

    `asks`: what of `GIVES` is wanted, and the option that asks for it. `features`: the length of φ
    where it is finite. `penalties`: how many λ there are, on a `path` or one per target;
    `unpenalized`: whether one of them is 0.
    """

    problem: str
    gram: Any
    size: Size
    asks: Mapping[str, str] = field(default_factory=dict)
    features: int | None = None
    penalties: int = 1
    path: bool = False
    unpenalized: bool = False


@record
class Need:
    """Whether a request offers it; what to say where it does not; and the kind of error."""

    met: Callable[[Request], bool]
    refusal: str
    error: type[Exception] = ValueError


#: What a solver may need of the data.
NEEDS: dict[str, Need] = {
    "features": Need(
        lambda request: request.features is not None,
        "needs a finite feature map, and none is known for {kernel!r}",
    ),
    "penalty": Need(lambda request: not request.unpenalized, "needs alpha > 0, and it is 0"),
    "psd": Need(
        lambda request: not request.gram.refuted,
        "needs a positive semi-definite kernel, and {kernel!r} is none",
    ),
    "together": Need(
        lambda request: request.gram.together,
        "needs all rows in one process, and these are in pieces",
    ),
    "resident": Need(
        lambda request: request.gram.resident,
        "needs all rows, and {n} rows do not fit the device",
        MemoryError,
    ),
}


@record
class Solver:
    """`run(task)` gives a solution; `bytes` is what it takes beyond the data.

    `pick`: why "auto" picks it for a request, "" if not; solvers are asked in the order of their
    table. The other texts are for the documentation: what it is, its memory, when "auto" picks it,
    and where it works.
    """

    name: str
    run: Callable[[Any], Any]
    summary: str = ""
    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    bytes: Callable[[Size], float] = lambda size: 0.0
    memory: str = ""
    pick: Callable[[Request], str] = lambda request: ""
    when: str = ""
    where: str = "where the data is"

    def fits(self, request: Request) -> bool:
        return self.bytes(request.size) <= request.gram.limit_bytes


#: Problem → name → solver, in the order in which "auto" asks them.
SOLVERS: dict[str, dict[str, Solver]] = {}


def register_solver(problem: str, solver: Solver) -> None:
    """Let learners of this problem take ``solver=name``."""
    for what, known in ((solver.needs, NEEDS), (solver.gives, GIVES)):
        if not what <= known.keys():
            raise ValueError(
                f"solver {solver.name!r} declares {sorted(what - known.keys())}, which nobody "
                f"knows; there are {sorted(known)}"
            )
    SOLVERS.setdefault(problem, {})[solver.name] = solver


def unregister_solver(problem: str, name: str) -> None:
    """Forget a solver that was registered."""
    SOLVERS.get(problem, {}).pop(name, None)


def solvers_for(problem: str) -> dict[str, Solver]:
    """All solvers of a problem, by name."""
    if problem in PROBLEMS:
        import_module(PROBLEMS[problem][1])
    return SOLVERS.get(problem, {})


# --- the choice ------------------------------------------------------------------------------


def choose(request: Request, name: str = "auto") -> tuple[Solver, str]:
    """The solver named, or the first that has a reason to be picked; and that reason."""
    solvers = solvers_for(request.problem)
    if name != "auto":
        check(solvers[name], request)
        return solvers[name], f"solver={name!r} was asked for"
    picked = able = None
    for solver in solvers.values():
        reason = solver.pick(request)
        if not reason:
            continue
        picked = solver
        if not any(lacking(solver, request)):
            able = solver
            if solver.fits(request):
                size = show_bytes(solver.bytes(request.size))
                about = f" takes {size}".removesuffix(" takes 0 B")
                log("%s: solver %r%s (%s)", request.problem, solver.name, about, reason)
                return solver, reason
    assert picked is not None, "the last solver of a table takes what no other one does"
    check(able or picked, request)
    raise AssertionError("a solver that does not fit was refused")


def lacking(solver: Solver, request: Request) -> Iterable[tuple[str, str]]:
    """What the solver does not give or the data does not have: ("gives" or "needs", which)."""
    yield from (("gives", asked) for asked in request.asks if asked not in solver.gives)
    yield from (("needs", need) for need in sorted(solver.needs) if not NEEDS[need].met(request))


def check(solver: Solver, request: Request) -> None:
    """Refuse at once what cannot work, in a sentence that names what would."""
    gram, n = request.gram, request.size.n
    for kind, what in lacking(solver, request):
        able = [
            other.name
            for other in solvers_for(request.problem).values()
            if (kind, what) not in lacking(other, request)
        ]
        if kind == "gives":
            raise ValueError(
                f"solver={solver.name!r} gives no {GIVES[what]}, which {request.asks[what]} asks "
                f"for; {listed(able)} do"
            )
        need = NEEDS[what]
        if need.error is MemoryError:  # a matrix that cannot fit is the clearer reason
            check_fits(solver, request)
        works = "works" if len(able) == 1 else "work"
        said = f"solver={solver.name!r} " + need.refusal.format(kernel=gram.kernel, n=n)
        advice = streaming_advice() if what == "resident" else f"{listed(able)} {works} without"
        raise need.error(f"{said}. {advice}" if what == "resident" else f"{said}; {advice}")
    check_fits(solver, request)


def check_fits(solver: Solver, request: Request) -> None:
    """A MemoryError that says how much is needed, how much there is, and what would fit."""
    if solver.fits(request):
        return
    size, limit = request.size, request.gram.limit_bytes
    few = replace(size, centers=min(size.centers, 1000))
    fitting = [
        other.name
        for other in solvers_for(request.problem).values()
        if other.name != solver.name
        and not any(lacking(other, request))
        and other.bytes(few) <= limit
    ]
    advice = f"{listed(fitting)} fit within it"
    if len(fitting) == 1:
        advice = f"solver={fitting[0]!r} fits within it"
    raise MemoryError(
        f"solver={solver.name!r} needs {show_bytes(solver.bytes(size))} for N = {size.n}, but the "
        f"memory limit is {show_bytes(limit)}; "
        + (f"{advice}, or " if fitting else "no other solver fits; ")
        + "raise the limit with mercer.set_config(memory=…)."
    )


def resident(gram: Any) -> Any:
    """The same Gram if all its rows are at hand; otherwise an error that says what works.

    Streamed rows can be multiplied by, and be predicted for; they cannot be visited in any order.
    """
    if not gram.resident:
        raise MemoryError(
            f"{gram.shape[0]} rows do not fit the device, and this solver needs all of them there. "
            + streaming_advice()
        )
    return gram


def streaming_advice() -> str:
    """Which solvers do without all rows at once."""
    able = []
    for problem, (title, _) in PROBLEMS.items():
        names = [s.name for s in solvers_for(problem).values() if "resident" not in s.needs]
        if names:
            able.append(f"{title} with solver={listed(names, 'or')}")
    return (
        f"Rows are streamed by {' and by '.join(able)}; otherwise take parts of the data, "
        "config(device='cpu'), or a higher memory limit."
    )


def listed(names: list[str], last: str = "and") -> str:
    """'a', 'b' and 'c'."""
    quoted = [repr(name) for name in names]
    return f" {last} ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
