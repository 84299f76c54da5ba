"""The kernel perceptron: learns from its mistakes, one example at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._arrays import host, is_chunked, is_sparse, is_tensor, like
from mercer._examples import count as n_rows
from mercer._examples import take
from mercer._notices import warn
from mercer._parameters import Count, Maybe, OneOf, check_parameters, checked
from mercer.expansion import KernelExpansion
from mercer.gram import diagonal, host_gram, solver_gram
from mercer.kernels import DEFAULT, Gaussian, as_kernel
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import KernelLearner, targets
from mercer.learners.perceptrons.shared import EPOCHS, PerceptronBase, Trace, Visit
from mercer.solvers.online.budget import POLICIES, Store
from mercer.solvers.online.fit import learn_dual, learn_on_budget
from mercer.solvers.online.run import Schedule


@estimator
class KernelPerceptron(PerceptronBase, KernelLearner):
    """f(x) = Σᵢ αᵢ k(xᵢ, x) + b, where αᵢ ← αᵢ + η yᵢ whenever f errs on xᵢ.

    Two classes have one f, for labels −1 and +1 (the second class); update when y f(x) ≤ margin.
    More classes have one f each. With ``multi_class="native"`` the right class is raised and the
    best wrong one (the lowest, among equals) lowered when f_right − f_wrong ≤ margin; with
    ``"ovr"`` each class is a perceptron of its own against the rest. `predict` takes the highest
    score, the first class at a tie or at a score of zero.

    The updates are exactly those of the textbook loop; their effect on the scores is gathered into
    matrix products, so that time is close to that of the products alone.

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k. One that is known not to be positive semi-definite is used, with a warning.
    epochs : float, default 10
        Passes over the data, possibly a fraction of one. An epoch without a mistake is the last.
    fit_intercept : bool, default False
        Learn b as well: b ← b + η y on a mistake (Gordon and Smola); the other
        lectures have none.
    averaging : {"last", "average", "vote"}
        The predictor after the last visit; the average of the predictors after every visit; or
        the vote of all of them.
    tie : {"mistake", "first"}
        At y f(x) = margin: "mistake" updates (lectures 002, 004); "first" takes the first class,
        and updates if that is wrong (Ritter's sign(0) = −1, Klein's arg max, Abernethy's > 0). A
        score that differs by no more than rounding, 8ε Σ |terms|, is a tie.
    margin : float, default 0
        Update on right answers, too, if they are not this clear. ``margin=1`` with a small
        `learning_rate` is stochastic gradient descent on the hinge loss max(0, 1 − y f).
    learning_rate : float, default 1
        η. Without margin it only scales f.
    multi_class : {"native", "ovr"}
        What more than two classes do.
    max_updates : int or None
        Stop after so many updates; few updates are a form of regularization.
    validation_fraction : float or None
        Hold out this part of the data, judge each epoch on it, stop after `n_iter_no_change`
        epochs without a better score, and keep the best.
    n_iter_no_change : int, default 5
        See `validation_fraction`.
    budget : int or None
        Keep at most so many points: memory and time per example are bounded for ever.
    chunks : {"exact", "mixed"}
        What rows in pieces do (a Dask array, `mercer.chunks`): "exact" visits piece after piece, by
        the textbook's loop. "mixed" lets every piece learn by itself, all at a time, and takes the
        mean of them after each epoch: not the textbook's sequence of updates, but parallel. It
        keeps at most `budget` points (5000 without one), those with the largest ‖αφ(x)‖.
    budget_policy : {"oldest", "random", "project", "merge"}
        What to give up for it: the oldest point, a random one, what lies outside the span of the
        kept ones, or the difference between two points, which become one ("merge", for
        `Gaussian` kernels on vectors only).
    class_weight : dict, "balanced" or None
        Multiplies the weights of the examples of each class, see `fit`.
    shuffle : bool, default True
        A new order in each epoch. `partial_fit` always takes the order given.
    random_state : int, RandomState or None
        Draws orders, held-out examples and the points that go. None draws as 0 does, the same in
        every fit.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The examples with α ≠ 0, counted over all calls (−1: a merged point, no example).
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        The coefficients of f, signed; averaged if `averaging` says so.
    intercept_ : ndarray of shape (1 or n_classes,)
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The last predictor's signed α, one for each example seen (Ritter).
    counts_ : ndarray
        How often each example was updated on, α ≥ 0 (as in the notes): one number per example, with
        "ovr" one for each class.
    expansion_ : KernelExpansion
        f (of a vote: its last predictor).
    mistakes_ : ndarray of shape (n_mistakes_,)
        The examples that were updated on, in order. With a budget, `mistakes_` and `history_` are
        of the last call only.
    n_mistakes_, n_visits_ : int
        Updates made and examples seen; with "ovr" every class counts its own updates.
    history_ : list of dict
        For each epoch: visits, mistakes, the sum of hinge losses, and the validation score.
    n_iter_, converged_, interrupted_ : epochs run, whether the last was clean, whether Ctrl-C came
    classes_ : ndarray
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPerceptron, Polynomial
    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> model = KernelPerceptron(Polynomial(2), tie="first", shuffle=False).fit(X, [1, -1, 1, -1])
    >>> model.alpha_
    array([1., 0., 0., 0.])
    >>> model.predict([[3.0, 2.0], [2.0, -2.0]])
    array([ 1, -1])
    """

    _learns_from_pieces = True

    kernel: Any = DEFAULT
    epochs: float = parameter(EPOCHS, default=10)
    _: KW_ONLY
    budget: int | None = parameter(Maybe(Count()), default=None)
    budget_policy: str = parameter(OneOf(*POLICIES), default="oldest")
    chunks: str = parameter(OneOf("exact", "mixed"), default="exact", name_was="order")

    # --- learning ---------------------------------------------------------------------------

    @property
    def _keeps_rows_in_place(self) -> bool:  # type: ignore[override]
        # The points of a budget come and go one by one, but for those of pieces.
        return self.budget is None or self.chunks == "mixed"

    def fit(
        self,
        X: Any,
        y: Any,
        alpha_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from nothing, or from a given signed α (one row per example) and b.

        An update on an example of weight w goes w times as far; one of weight 0 is not visited.
        """
        if is_chunked(X) or self.chunks == "mixed":
            self._check_order(is_chunked(X), alpha_init)
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True, whole=True)
        return self._fit(X, y, alpha_init, intercept_init, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on where the last call stopped: one pass over X, in the order given.

        `classes` (all that will ever come) are needed in the first call. Weights as in `fit`.
        """
        if self.chunks == "mixed":
            raise ValueError("partial_fit goes on in the order given: chunks='mixed' has no such")
        if hasattr(self, "_memory"):
            check_parameters(self, self._parameters)
            X = self._examples(X, reset=False)
            y = targets(X, y, type(self).__name__, labels=True, whole=True)
            if self.kernel_.takes_matrix:
                raise ValueError("a model of a precomputed matrix cannot go on with partial_fit")
        elif as_kernel(self.kernel).takes_matrix:
            raise ValueError(
                "partial_fit needs examples, to evaluate k against later ones; a precomputed "
                "matrix has none. Use fit, or give the kernel itself."
            )
        else:
            X, y = self._start(X, y, sample_weight=sample_weight, labels=True, whole=True)
        return self._go_on(X, y, classes, sample_weight)

    def _check_order(self, in_pieces: bool, alpha_init: Any) -> None:
        """Refuse what rows in pieces, or a mixture, cannot do."""
        checked(type(self).__name__, "chunks", self.chunks, self._parameters["chunks"])
        if self.chunks == "exact":
            if self.budget is not None:
                raise ValueError(
                    "a budget over rows in chunks needs chunks='mixed', or one partial_fit each"
                )
            return
        if not in_pieces:
            raise ValueError("chunks='mixed' is for rows in pieces: mercer.chunks(X) makes some")
        asked = {
            "averaging": self.averaging != "last",
            "validation_fraction": self.validation_fraction is not None,
            "max_updates": self.max_updates is not None,
            "alpha_init": alpha_init is not None,
        }
        for name, given in asked.items():
            if given:
                raise ValueError(f"chunks='mixed' has no {name}: pieces learn at the same time")
        warn(
            "chunks='mixed' averages perceptrons that learn from one piece each: this is not the "
            "textbook's sequence of updates (chunks='exact' is)",
        )

    def _begin(self, X: Any, y: Any, given: Any, random: Any) -> Any:
        outputs = self._memory.rule.outputs
        self._random, self._store = random, self._new_store(X, outputs)
        return _given_alpha(given, n_rows(X), outputs)

    def _learn(self, X: Any, labels: np.ndarray, schedule: Schedule, held: Any, start: Any) -> Any:
        told: Any
        memory, options = self._memory, {"held": held, "patience": self.n_iter_no_change}
        if self.chunks == "mixed":
            gram = solver_gram(self.kernel_, X)
            learn = gram.solver("mixed perceptron", None)
            told = learn(gram, labels, memory, schedule, self.budget)
        elif self._store is None:
            gram, earlier = solver_gram(self.kernel_, X), None
            if len(memory.names):
                earlier = solver_gram(self.kernel_, X, memory.points)
            told = learn_dual(
                gram, labels, memory, schedule, earlier=earlier, start=start, **options
            )
        elif start is not None:
            raise ValueError("alpha_init and budget do not go together: the given α has no order")
        else:
            gram, state = host_gram(self.kernel_, X), (self._store, self._random)
            *told, self._store = learn_on_budget(gram, labels, memory, schedule, *state, **options)
        self._publish()
        return told

    def _new_store(self, X: Any, outputs: int) -> Store | None:
        policy = self.budget_policy
        if self.budget is None or self.chunks == "mixed":
            return None
        if self.averaging == "vote" or (self.averaging == "average" and policy != "project"):
            raise ValueError(
                f"averaging={self.averaging!r} needs points that budget_policy={policy!r} gives "
                "up. With a budget there is averaging='last', or 'average' with 'project'."
            )
        if policy == "merge" and not (
            isinstance(self.kernel_, Gaussian) and (isinstance(X, np.ndarray) or is_sparse(X))
        ):
            raise ValueError(
                "budget_policy='merge' puts two points into one on the line between them: it needs "
                f"a Gaussian kernel on vectors, not {self.kernel_!r} on "
                f"{type(X).__name__}. 'oldest', 'random' and 'project' take any kernel."
            )
        return Store(int(self.budget), outputs, policy)

    def _publish(self) -> None:
        """The attributes of the predictor, from the memory."""
        memory = self._memory
        coef, intercept = memory.coef, memory.intercept
        keep = np.flatnonzero(coef.any(axis=1))
        self.support_: np.ndarray = memory.names[keep]
        self.dual_coef_: np.ndarray = coef[keep].T.copy()
        self.intercept_: np.ndarray = intercept.copy()
        one = memory.rule.outputs == 1
        self.expansion_: KernelExpansion = KernelExpansion(
            self.kernel_,
            take(memory.points, keep),
            coef[keep, 0] if one else coef[keep],
            intercept[0] if one else intercept,
        )

    @property
    def alpha_(self) -> np.ndarray:
        memory = self._memory
        if (memory.names < 0).any():
            raise AttributeError("merged points are no examples, so there is no α an example")
        alpha = np.zeros((memory.seen, memory.rule.outputs))
        alpha[memory.names] = memory.alpha
        return alpha[:, 0] if memory.rule.outputs == 1 else alpha

    @property
    def counts_(self) -> np.ndarray:
        if self._store is not None:
            raise AttributeError("with a budget, counts are not kept")
        some = self._memory.counts()
        counts = np.zeros((self._memory.seen, *some.shape[1:]))
        counts[self._memory.names] = some
        return counts

    # --- predictions, teaching --------------------------------------------------------------

    def _scores(self, X: Any) -> Any:
        X = self._examples(X, reset=False)
        n = n_rows(X)
        if self._memory.averaging == "vote":
            return like(self._memory.votes(self.kernel_, X, n), X)
        values = self.expansion_(X)
        return (values if is_tensor(values) else np.asarray(values)).reshape(n, -1)

    def steps(self, X: Any, y: Any, separator: KernelExpansion | None = None) -> Iterator[Visit]:
        """Every visit of `fit`, told by its own loop (no budget).

        Each `Visit` has epoch, index, score, predicted, target, updated, α so far, b, ‖w‖², the
        mistakes so far and, given a separator w* as an expansion, ⟨w, w*⟩: the quantities of the
        convergence proof. After the last one α and b are those of `fit`.

        >>> import numpy as np
        >>> from mercer import KernelPerceptron, Linear
        >>> for v in KernelPerceptron(Linear(), shuffle=False).steps([[1.0], [-2.0]], [1, -1]):
        ...     print(v.epoch, v.index, v.score, v.predicted, v.target, v.alpha, v.squared_norm)
        1 0 0.0 -1 1 [1. 0.] 1.0
        1 1 -2.0 -1 -1 [1. 0.] 1.0
        2 0 1.0 1 1 [1. 0.] 1.0
        2 1 -2.0 -1 -1 [1. 0.] 1.0
        """
        return self.trace(X, y, separator).visits(n_rows(X))

    def trace(self, X: Any, y: Any, separator: KernelExpansion | None = None) -> Trace:
        """Every visit of `fit` as arrays; see `steps` for the quantities.

        >>> from mercer import KernelPerceptron, Linear
        >>> trace = KernelPerceptron(Linear(), shuffle=False).trace([[1.0], [-2.0]], [1, -1])
        >>> trace.index, trace.update[:, 0], trace.squared_norm
        (array([0, 1, 0, 1]), array([1., 0., 0., 0.]), array([1., 1., 1., 1.]))
        """
        if self.budget is not None:
            raise ValueError("steps() shows α of every example, which a budget does not keep")
        model, X = clone(self), host(X)
        visits = model._visits(X, y)
        ideal = None
        if separator is not None:
            values = np.asarray(host(separator(X)), dtype=np.float64)
            ideal = (values - separator.intercept).reshape(n_rows(X), -1)
        return model._trace(visits, y, host(diagonal(model.kernel_, X)), ideal)


def _given_alpha(alpha: Any, n: int, outputs: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The non-zero rows of a given α, and which they are."""
    if alpha is None:
        return None
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim == 1 and outputs == 1:
        given = given[:, None]
    if given.shape != (n, outputs) or not np.isfinite(given).all():
        shape = f"({n},)" if outputs == 1 else f"({n}, {outputs})"
        raise ValueError(
            f"alpha_init needs one finite number per example and output, shape {shape}; got "
            f"{np.shape(alpha)}"
        )
    chosen = np.flatnonzero(given.any(axis=1))
    return chosen, given[chosen]
