"""The catalog of learners: one list for commands, comparisons, boards and documents."""

import inspect
from pathlib import Path

import pytest

import mercer
from mercer.learners import catalog
from mercer.learners.catalog import TASKS, Learner, find, learners, name_of
from mercer.selection import compare

EVERY = [(entry.name, task) for entry in learners() for task in TASKS if entry.does(task)]


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_every_learner_is_compared_by_its_name(name, task):
    X, y = mercer.data.moons(60) if task == "classification" else mercer.data.linear_noise(60)
    board = compare(X, y, kernels=["gaussian(1)"], learners=[name], cv=3, holdout=None)
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


def test_what_cannot_be_registered_or_found():
    with pytest.raises(ValueError, match="there is a learner 'knn' already"):
        catalog.register(Learner("mine", classifier=mercer.KernelSVC, aliases=("knn",)))
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
