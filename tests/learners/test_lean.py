"""What a call on plain arrays leaves out: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import mercer
from mercer import Gaussian
from mercer._machine import resources, threads
from mercer.gram import host
from mercer.learners import _base, _widths
from mercer.solvers.linear.factor import Shifted

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)
NUMBERS = np.sin(X[:, 0])
LEARNERS = [
    (mercer.KernelRidge(alpha=0.1), NUMBERS),
    (mercer.KernelRidgeClassifier(alpha=0.1), LABELS),
    (mercer.KernelSVC(C=10.0), LABELS),
    (mercer.KernelSVR(C=10.0), NUMBERS),
    (mercer.KernelNeighborsClassifier(), LABELS),
    (mercer.KernelNeighborsRegressor(), NUMBERS),
    (mercer.NadarayaWatsonRegressor(bandwidth=1.0), NUMBERS),
    (mercer.KernelLogisticRegression(), LABELS),
]
each_learner = pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda v: type(v).__name__)


def counted(monkeypatch: Any, owner: Any, name: str) -> list[Any]:
    """The list that grows by one at every call of a function."""
    calls: list[Any] = []
    function: Callable[..., Any] = getattr(owner, name)

    def count(*values: Any, **named: Any) -> Any:
        calls.append(name)
        return function(*values, **named)

    monkeypatch.setattr(owner, name, count)
    return calls


@each_learner
def test_plain_arrays_are_not_checked_twice(learner: Any, y: np.ndarray, monkeypatch: Any) -> None:
    asked = [
        counted(monkeypatch, _base, name)
        for name in ("validate_data", "check_classification_targets", "check_array")
    ]
    model = clone(learner).fit(X, y)
    model.predict(X[:1])
    assert not any(asked)
    model.fit(X.tolist(), y.tolist())
    assert any(asked)


@each_learner
def test_a_kernel_is_lowered_once(learner: Any, y: np.ndarray, monkeypatch: Any) -> None:
    model = clone(learner).set_params(kernel=Gaussian(1.25)).fit(X, y)
    model.predict(X[:1])  # which may look at another kernel, such as one of another width
    lowered = counted(monkeypatch, Gaussian, "lower")
    for _ in range(3):
        model.fit(X, y).predict(X[:1])
    assert not lowered


@each_learner
def test_system_files_are_read_once(learner: Any, y: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(resources, "FRESH", 1000.0)
    learner = clone(learner).fit(X, y)
    read = counted(monkeypatch, resources, "_read")
    learner.fit(X, y).predict(X)
    assert not read


def test_a_few_rows_tell_that_a_width_fits(monkeypatch: Any) -> None:
    made = []
    gram = _widths.host_gram
    monkeypatch.setattr(_widths, "host_gram", lambda k, X: made.append(len(X)) or gram(k, X))
    _widths.warn_if_far_off(Gaussian(1.0), X)
    assert made == [_widths.FIRST_EXAMPLES]
    with pytest.warns(UserWarning, match="does not fit the data"):
        _widths.warn_if_far_off(Gaussian(1e-3), X)
    assert made[1:3] == [_widths.FIRST_EXAMPLES, len(X)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_named_as_ever(bad: float) -> None:
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mercer.KernelRidge().fit(broken, NUMBERS)
    model = mercer.KernelRidge(alpha=0.1).fit(X, NUMBERS)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(broken)
    targets = NUMBERS.copy()
    targets[0] = bad
    with pytest.raises(ValueError, match="y contains"):
        mercer.KernelRidge().fit(X, targets)


def test_names_and_widths_are_compared_as_ever() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = mercer.KernelRidge(alpha=0.1).fit(frame, NUMBERS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, NUMBERS), "feature_names_in_")
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidge is expecting 3"):
        model.predict(X[:, :2].copy())
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, NUMBERS[:-1])


def test_many_classes_are_warned_of_as_ever() -> None:
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        mercer.KernelNeighborsClassifier().fit(X, np.arange(len(X)))


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_factorizations_use_one_thread_of_blas(monkeypatch: Any) -> None:
    seen: list[set[int]] = []
    factor = Shifted.factor

    def looking(self: Any, shift: float) -> Any:
        seen.append(blas_threads())
        return factor(self, shift)

    monkeypatch.setattr(Shifted, "factor", looking)
    with threadpool_limits(2, user_api="blas"):
        mercer.KernelRidge(alpha=0.1).fit(X, NUMBERS)
        assert blas_threads() == {2}  # put back
        monkeypatch.setattr(threads, "WORTH_BLAS", 0)
        mercer.KernelRidge(alpha=0.1).fit(X, NUMBERS)
    assert seen == [{1}, {2}]


def test_a_prediction_of_a_few_rows_makes_no_plan(monkeypatch: Any) -> None:
    model = mercer.KernelRidge(Gaussian(1.5), alpha=0.1).fit(X, NUMBERS)
    whole = model.predict(X)
    planned = counted(monkeypatch, host, "make_plan")
    np.testing.assert_allclose(model.predict(X[:1]), whole[:1], rtol=1e-13)
    assert not planned
