"""Equal examples are solved as one variable: the optimum and f are those of all of them."""

import numpy as np
import pytest

from mercer import config
from mercer.kernels import Gaussian, Laplacian
from mercer.learners import KernelOneClass, KernelSVC
from mercer.solvers.quadratic import parallel
from mercer.solvers.quadratic.duplicate_rows import first_equal, merged_tasks
from mercer.solvers.quadratic.problem import Task, Tasks, c_svc, epsilon_svr


@pytest.fixture(scope="module")
def answers():
    """Yes and no to six questions, and noisy opinions that depend on them."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(1200, 6)) > 0.3).astype(float)
    return X, X @ rng.normal(size=6) + rng.normal(size=1200), rng.choice([0.5, 1.0, 2.0], 1200)


@pytest.fixture
def both(monkeypatch):
    """A model fitted on distinct examples, and one fitted on all of them."""

    def fit(model, *data):
        seen = []
        monkeypatch.setattr(
            parallel, "merged_tasks", lambda *given: seen.append(merged_tasks(*given)) or seen[-1]
        )
        first = model().fit(*data)
        assert seen[0] is not None
        assert len(seen[0].distinct) <= 64
        monkeypatch.setattr(parallel, "merged_tasks", lambda *given: None)
        return first, model().fit(*data)

    return fit


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_with_weights(answers, both, classes):
    X, score, weights = answers
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    one, all_of_them = both(lambda: KernelSVC(Gaussian(1.5), C=0.7, tol=1e-6), X, y, weights)
    np.testing.assert_allclose(one.dual_objective_, all_of_them.dual_objective_, rtol=1e-6)
    scores = one.decision_function(X), all_of_them.decision_function(X)
    np.testing.assert_allclose(*scores, atol=1e-4)
    np.testing.assert_allclose(one.slack_, all_of_them.slack_, atol=1e-4)
    bound = np.max(0.7 * weights[one.support_])
    assert np.abs(one.dual_coef_).max() <= bound
    if classes == 2:
        # All but one of equal examples that are support vectors are at their bound.
        inside = np.abs(one.dual_coef_[0]) < 0.7 * weights[one.support_] * (1 - 1e-12)
        assert inside.sum() <= 2 * 64
        assert abs(one.dual_coef_.sum()) < 1e-9


def test_one_class_starts_where_the_sums_say(answers, both):
    X, *_ = answers
    one, all_of_them = both(lambda: KernelOneClass(Laplacian(0.5), nu=0.2, tol=1e-6), X)
    scores = one.decision_function(X), all_of_them.decision_function(X)
    np.testing.assert_allclose(*scores, atol=1e-4)


def test_what_is_not_merged(answers):
    X, score, weights = answers
    rows, signs = np.arange(len(X)), np.where(score > 0, 1, -1)
    task = Task(rows, c_svc(signs, weights))
    gram = Gaussian(1.5).gram(X)
    assert merged_tasks(gram, Tasks.of([task])) is not None
    assert merged_tasks(gram, Tasks.of([Task(rows, epsilon_svr(score, weights, 0.1))])) is None
    assert merged_tasks(gram, Tasks.of([Task(rows, task.problem, "resume")])) is None
    assert merged_tasks(Gaussian(1.5).gram(X + 1e-9 * score[:, None]), Tasks.of([task])) is None
    heavy = Gaussian(1.5).reweight(lambda rows: 1.0 + np.arange(len(rows))).gram(X)
    # The weight of a row is not in its numbers.
    assert merged_tasks(heavy, Tasks.of([task])) is None
    with config(memory=4 * X.nbytes):
        assert merged_tasks(gram, Tasks.of([task])) is None


def test_those_that_stand_for_others_have_their_numbers(answers):
    X, *_ = answers
    found = first_equal(Gaussian(1.5).gram(X))
    assert (X[found] == X).all()
    assert len(np.unique(found)) == len(np.unique(X, axis=0))
