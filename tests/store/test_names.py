"""The names of classes in a file: one for each class, none that depends on where we keep it."""

import dataclasses
import re
import zipfile
from collections import UserList

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from tests.store.fuzz_models import all_names

import mercer
from mercer import KernelSVC, kernels, learners, maps
from mercer.store import StoreError, names


def test_every_name_leads_to_its_class_and_back():
    known = all_names()
    ours = {name for name in names.DECLARED if not name.startswith("sklearn")}
    assert ours <= set(known)
    for name in known:
        assert names.name_of(names.find(name)) == name


def test_every_public_kernel_learner_and_map_has_its_public_name():
    for package in (learners, maps):
        short = package.__name__.removeprefix("mercer.")
        for name in package.__all__:
            assert names.name_of(getattr(package, name)) == f"{short}.{name}"
    for leaf in kernels.KERNELS.values():
        assert names.name_of(leaf) == f"kernels.{leaf.__name__}"


@pytest.mark.filterwarnings("ignore")  # one epoch is not enough
def test_no_path_of_ours_is_written(tmp_path):
    rows, labels = np.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2]
    models = [
        learners.KernelPerceptron(epochs=1, averaging="vote"),
        learners.KernelPerceptron(epochs=1, budget=2),
        learners.KernelSVC(),
        learners.KernelSVR(),
        learners.DeformableTemplateClassifier(shape=(1, 2)),
        learners.Perceptron(maps.PolynomialMap(2), epochs=1),
    ]
    mercer.save([model.fit(rows, labels) for model in models], tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        text = archive.read("header.json").decode()
    assert not re.findall(r"mercer\.\w+|sklearn\.\w*\._\w+", text)
    assert {"perceptron.Budget", "svm.Pairs", "svm.Quadratic"} <= set(
        re.findall(r'"([\w.]+)"', text)
    )


@pytest.mark.parametrize("cls", [kernels.Claim, dict, mercer.Gram, StoreError, type(kernels)])
def test_other_classes_have_none(cls):
    assert names.name_of(cls) is None


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Doubled(kernels.Kernel):
    """A kernel that another package defines."""

    sigma: float = 1.0

    def lower(self, rows, path=""):
        return 2.0 * kernels.Gaussian(self.sigma).lower(rows, path)


def test_a_kernel_from_outside_is_found_once_it_is_there(tmp_path, monkeypatch):
    rows = np.arange(6.0).reshape(3, 2)
    model = learners.KernelRidge(Doubled(3.0) + mercer.Linear()).fit(rows, [1.0, 2.0, 4.0])
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert again.kernel == model.kernel
    assert (again.predict(rows) == model.predict(rows)).all()
    monkeypatch.setattr(names, "_outsiders", list)  # as where its module is not imported
    with pytest.raises(StoreError, match=r"holds a Doubled of the module .* import that module"):
        mercer.load(tmp_path / "m")


CALIBRATED = {
    "scores": KernelSVC(),
    "probabilities": GaussianNB(),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CALIBRATED)
def test_private_classes_of_scikit_learn_are_not_needed_to_read_a_model(
    name, classes, tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(90, 2)), 3 * rng.normal(size=(200, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [0.0, 0.5])]
    model = CalibratedClassifierCV(CALIBRATED[name], cv=3).fit(
        X, np.where(y > "abc"[classes - 1], "a", y)
    )
    expected = model.predict_proba(Z)
    mercer.save(model, tmp_path / "m")
    for private in ("_CalibratedClassifier", "_SigmoidCalibration"):
        monkeypatch.delattr(f"sklearn.calibration.{private}")
    again = mercer.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(Z), expected)
    mercer.save(again, tmp_path / "n")
    np.testing.assert_array_equal(mercer.load(tmp_path / "n").predict_proba(Z), expected)


def test_a_list_of_columns_is_read_where_scikit_learn_has_no_such_list(tmp_path):
    earlier = type("_RemainderColsList", (UserList,), {})
    earlier.__module__ = "sklearn.compose._column_transformer"
    columns = ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough")
    X = np.arange(12.0).reshape(4, 3)
    expected = columns.fit_transform(X)
    columns.transformers_[-1] = (*columns.transformers_[-1][:2], earlier([1, 2]))
    mercer.save(columns, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert list(again.transformers_[-1][2]) == [1, 2]
    np.testing.assert_array_equal(again.transform(X), expected)
