"""`check_kernel`: the promises of a kernel, one function each."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import mercer.kernels as library
from mercer.formula import NotRenderable, pairwise_mp
from mercer.formula.nodes import rows_of, statistics
from mercer.gram import host_gram
from mercer.gram.cpu.compiled import can_compile
from mercer.kernels import Kernel
from mercer.kernels.catalog import leaves
from mercer.testing.examples import DATA, accepts
from mercer.testing.oracle import close, interpreted, oracle, run

#: Numbers of columns in which a kernel on vectors is tried.
WIDTHS = (1, 2, 3, 5)


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel with two sets of examples; `numeric` where they are plain arrays of numbers."""

    kernel: Kernel
    X: Any
    Z: Any
    numeric: bool

    @property
    def width(self) -> int | None:
        return int(self.X.shape[1]) if self.numeric else None


def check_kernel(kernel: Kernel, X: Any = None, *, seed: int = 0) -> None:
    """Every promise a kernel makes, on examples `X`, or on random ones of the kind it takes.

    Vectors are tried in several widths.

    Positive semi-definite exactly where it says so, symmetric, with the right diagonal and
    gradient; equal to itself after repr, pickle, copy and clone; the same numbers from every way to
    compute them, in float32 and float64, dense and sparse; clear errors at the edges.

    Parameters
    ----------
    kernel : Kernel
        To try.
    X : array, list or None
        Examples; None draws random ones of the kind it takes.
    seed : int, default 0
        Of what is drawn.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> check_kernel(Gaussian(sigma=2.0) + 1.0)
    """
    rng = np.random.default_rng(seed)
    cases = list(_cases(kernel, X, rng))
    for case in cases:
        run(_check_semidefinite, case)
    for check in KERNEL_CHECKS:
        run(check, cases[-1])


def _cases(kernel: Kernel, X: Any, rng: np.random.Generator) -> Iterator[Case]:
    if X is None and kernel.is_opaque:
        X = _examples_for(kernel, rng)
    if kernel.takes_matrix:
        yield Case(kernel, X, np.array([4, 0, 7]), False)
    elif X is not None:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n < 4:
            raise ValueError(f"check_kernel needs at least 4 examples, got {n}")
        vectors = isinstance(X, np.ndarray) and X.dtype.kind == "f" and not kernel.is_opaque
        yield Case(kernel, _take(X, range(n - 2)), _take(X, range(n - 3, n)), vectors)
    else:
        accepted = [d for d in WIDTHS if accepts(kernel, d)]
        for d in accepted or [d for d in range(1, 100) if accepts(kernel, d)][:1]:
            rows = rng.normal(size=(21, d))
            rows = np.abs(rows) if kernel.claim(d).domain or not accepts(kernel, -d) else rows
            rows[5] = rows[4]
            rows[6] = rows[4] + 1e-9
            yield Case(kernel, rows[:13], rows[13:], True)


def _examples_for(kernel: Kernel, rng: np.random.Generator) -> Any:
    kinds = {part.takes for part in _walk(kernel)} - {"vectors"}
    if len(kinds) > 1 or "anything" in kinds:
        raise ValueError(f"{kernel!r} needs examples: check_kernel(kernel, X)")
    return DATA[kinds.pop() if kinds else "vectors"](rng, 9)


def _take(X: Any, index: Sequence[int]) -> Any:
    index = list(index)
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


def _check_semidefinite(case: Case) -> None:
    from mercer.proof import prove

    k, width = case.kernel, case.width
    given = {"n_features": width} if case.numeric else {"data": case.X}
    if k.claim(width).holds is not True:
        answer = prove(k, **given, seconds=0.1)
        assert answer.holds is not True, f"no rule proves it, but prove says {answer!r}"
        return
    if case.numeric:
        assert prove(k, **given), "its own claim holds, but prove says nothing"
    for scale in (0.1, 1.0, 10.0) if case.numeric else (1.0,):
        K = k(case.X * scale if case.numeric else case.X)
        values = np.linalg.eigvalsh((K + K.T) / 2)
        # Below 1 the rounding of what k is made of shows, where its terms cancel to 0.
        tiny = -64 * len(K) * np.finfo(K.dtype).eps * max(1.0, float(np.abs(values).max()))
        assert values[0] >= tiny, f"it claims to be a kernel, but K has the eigenvalue {values[0]}"


def _check_symmetry(case: Case) -> None:
    k = case.kernel
    if not all(leaf.symmetric for leaf in _walk(k)):
        return
    close(k(case.X, case.Z), k(case.Z, case.X).T, np.float64, "k(x, z) and k(z, x)")
    K = k(case.X)
    assert (K == K.T).all(), "K(X, X) is not exactly symmetric"


def _check_diagonal(case: Case) -> None:
    k, X = case.kernel, case.X
    expected = np.diag(k(X))
    close(k.diag(X), expected, np.float64, "diag")
    close(k.gram(X).diagonal(), expected, np.float64, "Gram.diagonal")
    if not k.takes_matrix:
        close(np.diag(k(X, X)), expected, np.float64, "the diagonal of k(X, X)")


def _check_formula(case: Case) -> None:
    """NumPy, the oracle and 50 digits agree."""
    k = case.kernel
    if k.is_opaque:
        return
    expected = oracle(k, case.X, case.Z)
    close(k(case.X, case.Z), expected, np.float64, "k(X, Z)")
    if not case.numeric:
        return
    formula = k.formula()
    try:
        exact = [[float(pairwise_mp(formula, x, z)) for z in case.Z[:2]] for x in case.X[:3]]
    except NotRenderable:
        return
    close(expected[:3, :2], np.array(exact), np.float64, "50 digits")


def _check_gradient(case: Case) -> None:
    """∂k/∂p against a central difference."""
    k = case.kernel
    for path, slope in k.gradient(case.X, case.Z).items():
        step, up, down = _moved(k, path)
        up, down = up(case.X, case.Z), down(case.X, case.Z)
        scale = max(1.0, float(np.abs(slope).max()), float(np.abs(up).max()))
        error = float(np.abs(slope - (up - down) / (2 * step)).max()) / scale
        assert error < 1e-6, f"∂k/∂{path} is off by {error:.1e}"


def _moved(k: Kernel, path: str) -> tuple[float, Any, Any]:
    """A small step, and the kernels with that parameter moved up and down by it.

    "sigma[1]" is the second number of a parameter that has several.
    """
    name, _, index = path.rstrip("]").partition("[")
    values = np.array(k.get_params()[name], dtype=float)
    at = int(index) if index else ()
    step = 1e-6 * max(1.0, abs(float(values[at])))
    moved = []
    for sign in (1.0, -1.0):
        value = values.copy()
        value[at] += sign * step
        moved.append(k.set_params(**{name: value if index else float(value)}))
    return step, moved[0], moved[1]


def _check_text(case: Case) -> None:
    k = case.kernel
    assert k.latex().strip(), "its LaTeX is empty"
    assert k._repr_latex_().startswith("$")
    if not all(_has_text(v) for leaf in _walk(k) for v in leaf.get_params(deep=False).values()):
        return  # a function without a registered name, or a model, cannot be written down
    names = vars(library) | {type(leaf).__name__: type(leaf) for leaf in _walk(k)}
    again = eval(repr(k), dict(names))  # noqa: S307 - the text is our own
    assert again == k, f"evaluating its text gives {again!r}"
    if all(leaf.children() or type(leaf) in leaves() for leaf in _walk(k)):
        assert library.parse(repr(k)) == k, "parsing its text gives another kernel"


def _has_text(value: Any) -> bool:
    return isinstance(value, (Kernel, np.ndarray, tuple, str, int, float, type(None)))


def _check_identity(case: Case) -> None:
    from sklearn.base import clone

    k = case.kernel
    assert clone(k) is k, "scikit-learn's clone makes another object"
    copies = [copy.copy(k), copy.deepcopy(k), dataclasses.replace(k)]  # type: ignore[type-var]
    try:
        copies.append(pickle.loads(pickle.dumps(k)))
    except (pickle.PicklingError, AttributeError):
        assert any(callable(v) for leaf in _walk(k) for v in leaf.get_params(False).values())
    for other in copies:
        assert other == k, f"a copy is not equal: {other!r}"
        assert hash(other) == hash(k), "a copy has another hash"
    assert k != k + 1.0
    assert k != repr(k)
    for name, value in k.get_params(deep=False).items():
        try:
            setattr(k, name, value)
        except dataclasses.FrozenInstanceError:
            pass
        else:
            raise AssertionError(f"{name} can be assigned to")
        assert not isinstance(value, np.ndarray) or not value.flags.writeable, f"{name} is writable"


def _check_params(case: Case) -> None:
    k = case.kernel
    for name, value in k.get_params().items():
        assert k.set_params(**{name: value}) == k, f"set_params({name}=…) changes it"
    assert k.set_params(**k.get_params(deep=False)) == k
    message = _error_of(k.set_params, no_such_parameter=1)
    assert "no_such_parameter" in message, "set_params takes a parameter that does not exist"


def _check_views(case: Case) -> None:
    """Dense, block, take, tile, transposed and products give the same numbers."""
    k, X, Z = case.kernel, case.X, case.Z
    expected = k(X, Z)
    G = k.gram(X, Z)
    n, m = G.shape
    rows, columns = np.array([2, 0, 2]), slice(1, m)
    assert (n, m) == expected.shape
    assert G.dtype == expected.dtype
    weights = np.linspace(-1.0, 1.0, 2 * m).reshape(m, 2)
    views = {
        "dense(out)": (G.dense(np.empty_like(expected)), expected),
        "block": (G.block(rows, columns), expected[rows, columns]),
        "take": (G.take(rows=rows).dense(), expected[rows]),
        "tile": (G.tile(slice(1, 3), columns), expected[1:3, columns]),
        "T": (G.T.dense(), expected.T),
        "T.T": (G.T.T.dense(), expected),
        "T.take": (G.T.take(columns, rows).dense(), expected[rows, columns].T),
        "G @ V": (G @ weights, expected @ weights),
        "G @ v": (G @ weights[:, 0], expected @ weights[:, 0]),
        "operator": (G.as_linear_operator() @ weights, expected @ weights),
        "T @ V": (G.T @ np.ones(n), expected.sum(0)),
    }
    square = k(X)
    positions = np.array([1, 0, 1])
    S = k.gram(X)
    views["square block"] = (S.block(rows, positions), square[np.ix_(rows, positions)])
    views["square product"] = (S @ np.eye(n), square)
    for name, (value, wanted) in views.items():
        close(value, wanted, np.float64, name)


def _check_precision(case: Case) -> None:
    """float32 stays float32, and is as good as it can be; so are the generated loops."""
    if not case.numeric:
        return
    k = case.kernel
    for dtype in (np.float32, np.float64):
        X, Z = case.X.astype(dtype), case.Z.astype(dtype)
        K = k(X, Z)
        assert K.dtype == dtype, f"{np.dtype(dtype).name} gives {K.dtype}"
        expected = oracle(k, X, Z)
        close(K, expected, dtype, "k(X, Z)")
        close(k(X), oracle(k, X), dtype, "k(X)")
        close(k.diag(X), np.diag(oracle(k, X)), dtype, "diag")
        gram = host_gram(k, X, Z)
        if can_compile(gram.program):
            close(interpreted(gram), expected, dtype, "the generated loop")


def _check_sparse(case: Case) -> None:
    if not case.numeric or not _renderable(case.kernel):
        return
    from scipy.sparse import csr_matrix

    X, Z = np.where(case.X > 0.3, case.X, 0.0), np.where(case.Z > 0.3, case.Z, 0.0)
    expected = oracle(case.kernel, X, Z)
    close(case.kernel(csr_matrix(X), csr_matrix(Z)), expected, np.float64, "sparse")
    close(case.kernel(X, csr_matrix(Z)), expected, np.float64, "dense and sparse")
    close(case.kernel.diag(csr_matrix(X)), np.diag(oracle(case.kernel, X)), np.float64, "diag")


def _check_edges(case: Case) -> None:
    k = case.kernel
    if k.takes_matrix:
        return
    one = _take(case.X, [0])
    close(k(one), k(case.X)[:1, :1], np.float64, "a single example")
    nothing: list[Any] = [_take(case.X, []), []]
    for empty in nothing:
        assert "empty" in _error_of(k, empty), "an empty X gives no error that says so"
        assert "empty" in _error_of(k, case.X, empty), "an empty Z gives no error that says so"


KERNEL_CHECKS: tuple[Callable[[Case], None], ...] = (
    _check_symmetry,
    _check_diagonal,
    _check_formula,
    _check_gradient,
    _check_text,
    _check_identity,
    _check_params,
    _check_views,
    _check_precision,
    _check_sparse,
    _check_edges,
)


def _error_of(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    """The message of the ValueError that a call must raise; nothing if it does not."""
    try:
        call(*given, **named)
    except ValueError as error:
        return str(error)
    return ""


def _walk(kernel: Kernel) -> Iterator[Kernel]:
    yield kernel
    for _, child in kernel.children():
        yield from _walk(child)


def _renderable(kernel: Kernel) -> bool:
    """Whether no Python function acts on its rows."""
    nodes = statistics(kernel.formula())
    steps = [step for node in nodes for step in rows_of(node).steps]
    return all(step.renderable for step in steps) and all(node.op != "rowfn" for node in nodes)
