"""The names of classes in a file: one for each class, none that depends on where we keep it."""

import dataclasses
import re
import zipfile

import numpy as np
import pytest

import mercer
from mercer import kernels, learners, maps
from mercer.store import StoreError, names


def test_every_name_leads_to_its_class_and_back():
    known = names.all_names()
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
    with pytest.raises(StoreError, match=r"Doubled'.*module that defines it has been imported"):
        mercer.load(tmp_path / "m")
