"""The catalog of learners: one list for commands, comparisons, boards and documents."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import mercer
from mercer.learners import catalog
from mercer.learners.catalog import TASKS, Grid, Learner, find, learners, name_of
from mercer.selection import compare

EVERY = [(entry.name, task) for entry in learners() for task in TASKS if entry.does(task)]


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the most similar example, of those with at least some similarity."""

    def __init__(self, kernel="gaussian(1)", least=0.0):
        self.kernel = kernel
        self.least = least

    def fit(self, X, y):
        self.classes_, self.codes_ = np.unique(y, return_inverse=True)
        self.X_, self.n_features_in_ = X, np.shape(X)[1]
        return self

    def predict(self, X):
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        K = np.asarray(X) if given else mercer.kernels.as_kernel(self.kernel)(X, self.X_)
        codes = np.where(K.max(axis=1) >= self.least, self.codes_[K.argmax(axis=1)], 0)
        return self.classes_[codes]


def export(model, table, out):
    raise NotImplementedError("asked to export it")


@pytest.fixture
def nearest():
    grid = Grid((0.0, 0.5, 0.9), lambda least, unit, spread: {"least": least * unit})
    catalog.register(
        Learner("nearest", classifier=Nearest, aliases=("1nn",), grid=grid, onnx=export)
    )
    yield
    catalog.unregister("nearest")


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_every_learner_is_compared_by_its_name(name, task):
    X, y = mercer.data.moons(60) if task == "classification" else mercer.data.linear_noise(60)
    board = compare(X, y, kernels=["gaussian(1)"], learners=[name], cv=3)
    assert board.best_row.learner == find(name, task).class_name(task)
    assert board.best_row.mean > board.baseline.mean
    assert name in str(board)


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_names_classes_and_settings_fit(name, task):
    entry = find(name, task)
    cls = entry.estimator(task)
    assert cls.__name__ == entry.class_name(task) in mercer.learners.__all__
    assert name_of(cls.__name__) == name
    for key in (*entry.aliases, cls.__name__, cls.__name__.lower(), name.upper()):
        assert find(key, task) is entry
    grid = entry.grid_for(task)
    parameters = inspect.signature(cls).parameters
    for value in grid.values:
        assert set(grid.settings(value, 2.0, 3.0)) <= set(parameters)
    if grid.warm_start:
        assert "warm_start" in parameters


def test_a_learner_from_outside_is_known_everywhere(nearest, tmp_path):
    from click.testing import CliRunner

    from mercer.cli.fit import command

    X, y = mercer.data.moons(80)
    board = compare(X, y, kernels=["gaussian(1)"], cv=3)
    rows = {row.learner: row for row in board.rows}
    assert rows["Nearest"].mean > 0.9
    assert "KernelRidgeClassifier" in rows
    board = compare(X, y, kernels=["gaussian(1)"], learners=["1nn"], cv=3)
    assert "nearest" in str(board)
    assert board.best.predict(X).shape == (80,)
    options = ["--kernel", "gaussian(1)", "--learner", "nearest", "--set", "least=0.1"]
    done = CliRunner().invoke(command, ["moons", *options, "--model", str(tmp_path / "m")])
    assert "Nearest" in str(done.exception)  # it was fitted; the store takes no foreign class
    pytest.importorskip("onnx")
    with pytest.raises(NotImplementedError, match="asked to export"):
        mercer.onnx.export(Nearest().fit(X, y))


def test_what_cannot_be_registered_or_found():
    with pytest.raises(ValueError, match="there is a learner 'knn' already"):
        catalog.register(Learner("mine", classifier=Nearest, aliases=("knn",)))
    with pytest.raises(ValueError, match="neither a classifier nor a regressor"):
        catalog.register(Learner("mine"))
    with pytest.raises(ValueError, match="Did you mean 'neighbors'"):
        find("neigbors", "regression")
    for name in ("logistic", "svc", "KernelSVC"):
        with pytest.raises(ValueError, match="does not do regression; ridge, svm"):
            find(name, "regression")


def test_the_documentation_lists_the_catalog():
    def code(*names):
        return ", ".join(f"`{name}`" for name in names if name)

    text = (Path(__file__).parents[2] / "docs" / "selection.md").read_text(encoding="utf-8")
    for entry in learners():
        tried = "with every kernel" if entry.judges else "with the best kernel"
        tried = "with a Gaussian of its own scale" if entry.chooses_scale else tried
        cells = [code(entry.name, *entry.aliases), *(code(entry.class_name(t)) for t in TASKS)]
        row = f"| {' | '.join(cells)} | {tried if entry.raced else 'if asked for'} |"
        assert row in text
