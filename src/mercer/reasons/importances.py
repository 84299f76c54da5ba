"""Which columns matter over many rows: three answers side by side, which need not agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import pandas
from mercer.reasons.explain import explain_rows
from mercer.reasons.problem import as_tables, parts_of, taken_apart
from mercer.reasons.slopes import gradient


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
