"""Which pictures a comparison deserves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import plot
from mercer._escape.html import Markup, tag
from mercer.report.svg import figure

#: Rows of the Gram matrix that is drawn.
MOST = 400
#: Classes beyond which a table of mistakes is no picture.
MOST_CLASSES = 30
#: A winner that takes longer than this is not fitted again for its probabilities.
PATIENCE = 3.0


def pictures(board: Any, data: Any) -> Iterator[Markup]:
    """Figures with captions, in the order they are shown."""
    tried = [r for r in board.rows if r.kernel]
    rows = sum(not r.stopped for r in tried) or len(tried)
    yield _shown(
        figure(board.plot, (7.6, 0.32 * min(rows, 15) + 1.3), "scores of the candidates"),
        "Mean and spread over the folds, best on top; faint dots are single folds.",
        wide=True,
    )
    if board.task == "classification":
        yield from _classes(board, data)
    else:
        yield from _numbers(board)
    yield from _plane(board, data)
    yield from _gram(board, data)


def _shown(svg: Markup, caption: str, wide: bool = False) -> Markup:
    return tag("figure", svg, tag("figcaption", caption), class_="wide" if wide else None)


def _classes(board: Any, data: Any) -> Iterator[Markup]:
    out = board.oof
    if len(board.classes) <= MOST_CLASSES:
        side = 4.4 if len(board.classes) > 6 else 3.6
        yield _shown(
            figure(
                lambda ax: plot.confusion(out.truth, out.predicted, ax=ax), (side + 0.6, side),
                "confusion matrix",
            ),
            "Held-out rows: which class (left) was taken for which (below).",
        )  # fmt: skip
    if len(board.classes) == 2 and np.isfinite(out.certainty).all():
        positive = board.classes[1]
        score = np.where(out.predicted == positive, out.certainty, -out.certainty)
        yield _shown(
            figure(
                lambda ax: plot.roc(out.truth == positive, score, ax=ax).set_title(""),
                (4.4, 4.0),
                "receiver operating characteristic",
            ),
            f"Held-out rows, {positive} against {board.classes[0]}, over all thresholds.",
        )
    said = _held_out_probabilities(board, data)
    if said is not None:
        sure, right = said
        yield _shown(
            figure(
                lambda ax: plot.calibration(right, sure, ax=ax).set_title(""),
                (4.4, 4.0),
                "calibration",
            ),
            "Rows held out once more: how sure the model was of its answer, and how often it was "
            "right.",
        )


def _held_out_probabilities(board: Any, data: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """(how sure, whether right) on a fifth of the rows, where the winner has probabilities."""
    if not hasattr(board.best, "predict_proba") or board.best_row.fit_seconds > PATIENCE:
        return None
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    rows = np.sort(board.oof.rows)
    y = np.asarray(data.y)[rows]
    try:
        train, test = train_test_split(rows, test_size=0.2, random_state=0, stratify=y)
        model = clone(board.best).fit(take(data.X, train), np.asarray(data.y)[train])
    except ValueError:  # too few of a class to be held out
        return None
    shares = model.predict_proba(take(data.X, test))
    right = model.classes_[shares.argmax(axis=1)] == np.asarray(data.y)[test]
    sure = shares.max(axis=1)
    if len(np.unique(right)) < 2 or len(np.unique(np.round(sure, 2))) < 5:
        return None  # votes of few neighbors are no probabilities
    return sure, right


def _numbers(board: Any) -> Iterator[Markup]:
    out = board.oof
    yield _shown(
        figure(
            lambda ax: plot.predicted_against_truth(out.truth, out.predicted, ax=ax), (4.6, 4.2),
            "predictions against the truth",
        ),
        "Held-out rows: on the line, the prediction is the truth.",
    )  # fmt: skip
    yield _shown(
        figure(lambda ax: plot.residuals(out.truth, out.predicted, ax=ax), (4.6, 4.2), "residuals"),
        "Held-out rows: what is left to explain, against what was predicted.",
    )


def _plane(board: Any, data: Any) -> Iterator[Markup]:
    """Where inputs are one or two numbers, the model itself can be seen."""
    X = data.X
    if not hasattr(X, "shape") or X.shape[1] > 2 or hasattr(X, "tocsr"):
        return
    names = [str(c) for c in X.columns] if hasattr(X, "iloc") else ["x₁", "x₂"][: X.shape[1]]
    try:
        points = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return
    if np.isnan(points).any():
        return
    model = _OnArrays(board.best, X)
    if board.task == "classification" and X.shape[1] == 2:

        def regions(ax: Any) -> None:
            plot.decision_regions(
                model, points, data.y, ax=ax, support=model.support_, margins=model.has_margins
            )
            ax.set(title="", xlabel=names[0], ylabel=names[1])
            if ax.get_legend() is not None:  # its paper would stay white on a dark page
                ax.get_legend().get_frame().set_alpha(0.0)

        yield _shown(figure(regions, (5.0, 4.2), "decision regions"), "What is predicted where.")
    elif board.task == "regression" and X.shape[1] == 1:

        def curve(ax: Any) -> None:
            plot.regression_curve(model, points, data.y, ax=ax)
            ax.set(xlabel=names[0], ylabel=str(data.target))

        yield _shown(figure(curve, (5.0, 4.0), "fitted curve"), "The fitted curve.")


class _OnArrays:
    """A pipeline that was fitted on a table, for pictures that hand it arrays."""

    def __init__(self, model: Any, like: Any) -> None:
        self.model, self.like = model, like
        self.classes_ = getattr(model, "classes_", None)
        if hasattr(model, "decision_function"):
            self.decision_function = lambda X: model.decision_function(self._rows(X))
        # Positions of rows, where the learner knows them: the same in the table.
        support = np.asarray(getattr(model[-1], "support_", ()), dtype=int)
        self.support_ = support if len(support) < len(like) else support[:0]
        self.has_margins = hasattr(model[-1], "C")

    def _rows(self, X: np.ndarray) -> Any:
        if not hasattr(self.like, "iloc"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=self.like.columns)

    def predict(self, X: np.ndarray) -> Any:
        return self.model.predict(self._rows(X))


def _gram(board: Any, data: Any) -> Iterator[Markup]:
    kernel, rows, y = sample(board, data)
    if kernel is None:
        return
    classes = board.task == "classification" and len(np.unique(y)) <= MOST_CLASSES

    def heat(ax: Any) -> None:
        plot.gram(kernel, rows, y if classes else None, ax=ax, title="")

    order = "by class" if classes else f"by {data.target or 'target'}"
    yield _shown(
        figure(heat, (5.0, 4.2), "kernel matrix"),
        f"k between {len(y)} rows in order {order}: blocks on the diagonal are classes that k "
        "tells apart." if classes else f"k between {len(y)} rows in order {order}.",
    )  # fmt: skip

    def eigenvalues(ax: Any) -> None:
        plot.spectrum(kernel, rows, ax=ax)
        ax.set_title("")

    yield _shown(
        figure(eigenvalues, (5.0, 4.2), "spectrum"),
        "Eigenvalues of that matrix: the faster they fall, the fewer directions matter.",
    )


def sample(board: Any, data: Any) -> tuple[Any, Any, np.ndarray]:
    """The winner's kernel, at most `MOST` preprocessed rows ordered by target, their targets."""
    learner = board.best[-1]
    kernel = getattr(learner, "kernel_", None)
    y = np.asarray(data.y)
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
    some = some[np.argsort(y[some], kind="stable")]
    rows = take(data.X, some)
    if len(board.best) > 1:
        rows = board.best[:-1].transform(rows)
    width = getattr(learner, "bandwidth_", None)
    if width is not None and isinstance(rows, np.ndarray):
        rows = rows / np.asarray(width)
    return kernel, rows, y[some]


def take(X: Any, indices: np.ndarray) -> Any:
    """Rows of a table, an array or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return X[indices] if hasattr(X, "shape") else [X[int(i)] for i in indices]
