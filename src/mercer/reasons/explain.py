"""`explain_rows`: which columns made these answers, exactly where the kernel allows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import host, pandas
from mercer._config import config
from mercer._examples import count, joined, take
from mercer._figures import require_fitted
from mercer.reasons.exact import READINGS, exact_values
from mercer.reasons.factors import NotFactored
from mercer.reasons.problem import SAME, Problem, as_tables, parts_of, some_of, taken_apart
from mercer.reasons.sampling import sampled_values
from mercer.reasons.slopes import along_lines, gradient

METHODS = ("auto", "exact", "sampled", "gradients")
OUTPUTS = ("margin", "probability")
#: Nodes along the line of scores that probabilities are followed on.
NODES = 64
#: What the values are, by the reading.
DEFINITIONS = {
    "interventional": "Shapley values, interventional (not observational, which is E[f(X) | x_S]): "
    "v(S) = mean over {n} background rows b of f(x_S, b_rest)",
    "independent": "Shapley values, each column drawn by itself: v(S) = mean of f(x_S, b_rest), "
    "the columns of b from {n} rows",
    "removed": "Shapley values, columns removed: v(S) = f with k on the columns of S alone",
}


@dataclass(frozen=True, eq=False)
class Reasons:
    """What each column adds to an answer: f(x) = base + Σⱼ values[j].

    The names are those that plots of the package shap read.

    Parameters
    ----------
    values : ndarray of shape (rows, columns) or (rows, columns, outputs)
        What each column adds.
    base_values : ndarray of shape (rows,) or (rows, outputs)
        The answer where no column is known.
    data : ndarray of shape (rows, columns)
        The values of the columns; a group says how many columns it has.
    feature_names : list of str
        Columns, or groups of columns.
    output_names : list of str
        Classes or targets.
    method : str
        "exact", "sampled" or "gradients".
    definition : str
        What the values are, in a formula.
    error : float or ndarray
        Of "sampled" the standard errors, shaped as `values`; else the largest gap between f(x) and
        base + Σⱼ values[j].
    note : str
        Why they are not exact, where "auto" chose.
    index : Index or None
        The labels of the rows of a DataFrame.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> mercer.explain_rows(mercer.KernelSVC("gaussian(0.5)").fit(X, y), X[:5]).values.shape
    (5, 2)
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    output_names: list[str]
    method: str
    definition: str
    error: Any
    note: str = ""
    index: Any = None

    @property
    def scores(self) -> np.ndarray:
        """base + Σⱼ values[j]: the answers that are explained."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def of(self, output: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(values, base) of one output; the last one by default, the only one mostly."""
        if self.values.ndim == 2:
            return self.values, self.base_values
        index = -1 if output is None else output
        return self.values[:, :, index], self.base_values[:, index]

    def importances(self) -> np.ndarray:
        """The mean of |values| per column, summed over outputs."""
        return np.asarray(np.abs(self.values).mean(axis=0).reshape(self.values.shape[1], -1).sum(1))

    def to_frame(self) -> Any:
        """A DataFrame: a row per example, a column per name (and output), and the base."""
        import pandas as pd

        wide = np.concatenate([np.expand_dims(self.base_values, 1), self.values], axis=1)
        names = ["base", *self.feature_names]
        if wide.ndim == 2:
            return pd.DataFrame(wide, self.index, names)
        columns = pd.MultiIndex.from_product([self.output_names, names])
        return pd.DataFrame(wide.swapaxes(1, 2).reshape(len(wide), -1), self.index, columns)

    def __repr__(self) -> str:
        sizes = " × ".join(map(str, self.values.shape))
        worst = float(np.max(self.error))
        what = "standard errors up to" if self.method == "sampled" else "sums right to"
        head = f"Reasons of shape {sizes} ({self.method}, {what} {worst:.1g})"
        lines = [head, f"  {self.definition}"]
        lines += [f"  {self.note}"] if self.note else []
        for i in np.argsort(-self.importances(), kind="stable")[:8]:
            lines.append(f"  {self.importances()[i]:8.3g}  {self.feature_names[i]}")
        return "\n".join(lines)


def explain_rows(
    model: Any,
    X: Any,
    background: Any = None,
    columns: Mapping[str, Any] | None = None,
    *,
    output: str = "margin",
    reading: str = "interventional",
    method: str = "auto",
    walks: int = 100,
    random_state: int = 0,
) -> Reasons:
    """Shapley values of columns: f(x) = v(∅) + Σⱼ φⱼ, exact where k is a product over columns.

    φⱼ is what column j adds to v, averaged over all orders in which columns become known. Exact for
    expansions of kernels that are sums of products over columns: Gaussian, Laplacian of norm 1,
    ANOVA, linear, polynomials of few terms, their sums and products, and kernels `on` columns.
    Where the model keeps its points on a GPU, that computes the exact ones.

    Parameters
    ----------
    model : fitted learner, Pipeline or KernelExpansion
        Whose answers are explained.
    X : array or DataFrame of shape (rows, columns)
        The rows.
    background : array, DataFrame or None
        What columns are compared with: rows, best some of the training. None takes 64 of the
        points that the model keeps (to sample, of X). The time is proportional to their number.
    columns : dict of name to list of columns, or None
        Groups that count as one column, such as the indicators of a category. What a pipeline makes
        of one column is one group without being named.
    output : {"margin", "probability"}
        The scores (of several classes one each; of pairs of classes the mean margin against the
        others), or probabilities. Where those are a softmax of scores, the values of the scores are
        carried over by the mean slope of the link on the line from base to f(x) (the rescale rule).
    reading : {"interventional", "independent", "removed"}
        What unknown columns are: those of a background row together, each drawn by itself (as fast
        as one background row), or left out of the kernel.
    method : {"auto", "exact", "sampled", "gradients"}
        "sampled" walks from background rows to x in random orders and asks the model, for any
        model. "gradients" integrates ∂f/∂xⱼ along the line from the mean of the background. "auto"
        is exact where it can be, else sampled, and says why.
    walks : int, default 100
        Of "sampled": orders, each of which is also walked in reverse.
    random_state : int, default 0
        Draws the walks.

    Returns
    -------
    Reasons
        `values`, `base_values`, `data`, `feature_names`, `method`, `definition`, `error`.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> model = mercer.KernelSVC("gaussian(0.5)").fit(X, y)
    >>> found = mercer.explain_rows(model, X[:3], background=X)
    >>> found.method, bool(abs(found.scores - model.decision_function(X[:3])).max() < 1e-10)
    ('exact', True)
    """
    for given, known in ((output, OUTPUTS), (reading, READINGS), (method, METHODS)):
        if given not in known:
            raise ValueError(f"expected one of {', '.join(map(repr, known))}; got {given!r}")
    if walks < 2:
        raise ValueError(f"standard errors take at least 2 walks, got {walks}")
    X, background = as_tables(X, background)
    names, owner = parts_of(X, columns)
    ask, note = _asking(model, output), ""
    if method != "sampled":
        try:
            problem = taken_apart(model, X, background, owner)
            asked = None if problem.of_pairs and output == "margin" else ask(X)
            return _made(
                model, X, names, owner, **_by_formula(problem, asked, output, reading, method)
            )
        except NotFactored as error:
            if method != "auto":
                raise
            note = f"not exact: {error}"
    if reading != "interventional":
        raise ValueError(f"reading={reading!r} needs exact values, and they are {note or method}")
    if background is None and count(X) == 1:
        raise ValueError("one row has nothing to be compared with: give background=, other rows")
    rest = take(X, some_of(count(X))) if background is None else background
    values, base, errors = sampled_values(
        ask, joined([X, rest]), count(X), owner, walks, random_state
    )
    said = f"{DEFINITIONS[reading]}; {walks} walks".format(n=count(rest))
    found = {"values": values, "base": base, "error": errors, "definition": said}
    return _made(model, X, names, owner, method="sampled", note=note, **found)


def _by_formula(
    problem: Problem, asked: np.ndarray | None, output: str, reading: str, method: str
) -> dict[str, Any]:
    """What `_made` takes, from the formula of the kernel; `asked` is what the model answers."""
    scores = np.asarray(host(problem.f(problem.X)), dtype=np.float64)
    answers = _shares(scores) if output == "probability" else scores
    if asked is not None and not (
        asked.shape == answers.shape and np.allclose(asked, answers, SAME, SAME)
    ):
        raise NotFactored("the model's answers are not those of its expansion")
    if method == "gradients":
        values, base = _gradients(problem)
        said = "integrated gradients along the line from the mean of {n} background rows"
    else:
        method, said = "exact", DEFINITIONS[reading]
        with config(device=problem.device):
            values, base = exact_values(
                problem.f, problem.X, problem.background, problem.parts, reading, problem.engine
            )
    base = base + problem.f.intercept
    if output == "probability":
        values, base = softmax_link(values, base)
        said += ", carried over to probabilities by the mean slope of the link"
    error = float(np.abs(values.sum(axis=1) + base - answers).max())
    said = said.format(n=count(problem.background))
    return {"values": values, "base": base, "error": error, "method": method, "definition": said}


def _gradients(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Integrated gradients, summed over the columns of each part."""
    if hasattr(problem.X, "iloc"):
        raise NotFactored("gradients need rows of numbers, and the kernel reads columns by name")
    owner, mean = problem.parts.owner, np.asarray(problem.background).mean(axis=0)
    each, base = along_lines(problem.f, problem.X, mean)
    return np.einsum("njc,jp->npc", each, np.eye(max(owner) + 1)[owner]), base


def _shares(scores: np.ndarray) -> np.ndarray:
    """softmax; of one score, which stands beside 0, the share of the second of two classes."""
    from scipy.special import softmax

    alone = scores.shape[1] == 1
    return np.asarray(softmax(np.pad(scores, ((0, 0), (int(alone), 0))), axis=1)[:, int(alone) :])


def softmax_link(values: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From scores to probabilities: φⱼ times ∫ ∂p/∂s on the line of scores from base to f(x)."""
    change = values.sum(axis=1)
    total = np.zeros_like(values)
    for t, w in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
        p = _shares(base + 0.5 * (1.0 + t) * change)[:, None, :]
        total += 0.5 * w * p * (values - (p * values).sum(axis=2, keepdims=True))
    return total, _shares(base[None])[0]


def _asking(model: Any, output: str) -> Callable[[Any], np.ndarray]:
    """The model's own answers, one column per output."""
    name = next((n for n in ("decision_function", "predict") if hasattr(model, n)), "__call__")
    name = "predict_proba" if output == "probability" else name
    method = getattr(model, name, None)
    if method is None:
        raise ValueError(
            f"{type(model).__name__} has no {name}: fit a model that has, such as "
            "KernelLogisticRegression for probabilities"
        )

    def answers(rows: Any) -> np.ndarray:
        found = np.asarray(host(method(rows)), dtype=np.float64)
        two = name == "predict_proba" and found.shape[1] == 2
        return found[:, 1:] if two else found.reshape(len(found), -1)

    require_fitted(model)
    return answers


def _made(model: Any, X: Any, names: list[str], owner: list[int], **found: Any) -> Reasons:
    """With one output, without an axis for outputs; with a column of data per name."""
    values, base, outputs = found["values"], found.pop("base"), found["values"].shape[2]
    classes = [str(c) for c in getattr(model, "classes_", ())][-outputs:]
    shown = classes if len(classes) == outputs else [f"output {i}" for i in range(outputs)]
    found["base_values"] = np.tile(base, (len(values), 1))
    if outputs == 1:
        found = {name: v[..., 0] if np.ndim(v) > 1 else v for name, v in found.items()}
    data, sizes = np.asarray(X), np.bincount(owner)
    if len(names) < len(owner):
        data = data[:, [owner.index(part) for part in range(len(names))]].astype(object)
        data[:, sizes > 1] = [f"{size} columns" for size in sizes[sizes > 1]]
    found["index"] = X.index if hasattr(X, "iloc") else None
    return Reasons(data=data, feature_names=names, output_names=shown, **found)


# --- Which columns matter over many rows: three answers side by side, which need not agree --------


def importances(model: Any, X: Any, y: Any = None, background: Any = None, **options: Any) -> Any:
    """Mean |Shapley value|, slopes of f and the loss by shuffling, a row per column.

    "shapley" is the mean of |φⱼ|; "gradient" √(mean (∂f/∂xⱼ)²) times the spread of the column, the
    diagonal of the gradient outer product; "permutation" how far the score falls when the column is
    shuffled (scikit-learn's, five times). What cannot be computed is left out.

    Parameters
    ----------
    model : fitted learner or Pipeline
        Whose columns are compared.
    X : array or DataFrame
        Rows that it has not learned from, best.
    y : array or None
        Their targets; without them there is no "permutation".
    background : array, DataFrame or None
        As `explain_rows` takes it.
    **options
        Further ones of `explain_rows`.

    Returns
    -------
    DataFrame
        The most important column by "shapley" first.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> model = mercer.KernelSVC("gaussian(0.5)").fit(X, y)
    >>> list(mercer.reasons.importances(model, X, y).columns)
    ['shapley', 'gradient', 'permutation']
    """
    pd = pandas()
    found = explain_rows(model, X, background, **options)
    (table, rest), columns = as_tables(X, background), options.get("columns")
    names, owner = parts_of(table, columns)
    made = {"shapley": found.importances()}
    try:
        problem = taken_apart(model, table, rest, owner)
        rows = np.asarray(problem.X, dtype=np.float64)
        slopes = gradient(problem.f, rows)
        squares = (slopes**2).mean(axis=0).sum(axis=1) * rows.var(axis=0)
        made["gradient"] = np.sqrt(np.bincount(problem.parts.owner, squares, len(names)))
    except (NotImplementedError, TypeError, ValueError):
        pass  # k has no derivative in x here
    if y is not None and columns is None:
        from sklearn.inspection import permutation_importance

        shuffled = permutation_importance(model, table, y, random_state=0)
        made["permutation"] = shuffled.importances_mean
    return pd.DataFrame(made, index=names).sort_values("shapley", ascending=False)
