"""scikit-learn's callbacks reach the fits of learners, alone and inside pipelines and searches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer

pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)


class Diary:
    """Everything that a callback is told."""

    max_propagation_depth = None

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def setup(self, estimator, context) -> None:
        self.said.append(("setup", context.estimator_name))

    def teardown(self, estimator, context) -> None:
        self.said.append(("teardown", context.estimator_name))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None) -> None:
        assert not context.estimator_name.startswith("Kernel") or len(X) == len(y)
        self.said.append(("begin", context.estimator_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None) -> None:
        self.said.append(("end", context.estimator_name))
        if context.estimator_name.startswith("Kernel"):
            fitted_estimator.predict([[0.0, 0.0]])


@pytest.mark.parametrize("name", [n for n in mercer.learners.__all__ if n.endswith("Classifier")])
def test_a_fit_begins_and_ends(name: str) -> None:
    if name == "DeformableTemplateClassifier":
        return  # of images
    diary = Diary()
    getattr(mercer, name)().set_callbacks(diary).fit(X, Y)
    expected = [(what, name) for what in ("setup", "begin", "end", "teardown")]
    assert [entry for entry in diary.said if entry[1] == name] == expected


def test_pipelines_and_searches_pass_them_on(tmp_path) -> None:
    steps = make_pipeline(StandardScaler(), mercer.KernelSVC())
    search = GridSearchCV(steps, {"kernelsvc__C": [1.0, 2.0]}, cv=2)
    diary = Diary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.set_callbacks(diary).fit(X, Y)
    assert diary.said.count(("end", "KernelSVC")) == 2 * 2 + 1
    mercer.save(search, tmp_path / "m")
    assert mercer.load(tmp_path / "m").predict(X).shape == (40,)


def test_what_fails_is_torn_down() -> None:
    diary = Diary()
    with pytest.raises(ValueError, match="NaN"):
        mercer.KernelRidge().set_callbacks(diary).fit(X * np.nan, Y)
    assert diary.said[-1] == ("teardown", "KernelRidge")


def test_a_model_file_holds_none(tmp_path) -> None:
    model = mercer.KernelRidge().set_callbacks(Diary()).fit(X, Y)
    model.save(tmp_path / "m")
    assert not hasattr(mercer.load(tmp_path / "m"), "_skl_callbacks")
