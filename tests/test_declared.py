"""Every estimator and map declares its parameters, and refuses what the declaration refuses."""

import inspect
import sys

import numpy as np
import pytest

import mercer.learners
import mercer.maps

CLASSES = [
    getattr(package, name) for package in (mercer.learners, mercer.maps) for name in package.__all__
]
CASES = [
    pytest.param(kind, name, check, id=f"{kind.__name__}-{name}")
    for kind in CLASSES
    for name, check in kind._parameters.items()
    if [*check.bad()]
]
X, y = np.eye(4), [0, 1, 0, 1]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_parameter_is_declared_and_none_that_is_not_there(kind):
    assert set(kind._parameters) == set(inspect.signature(kind).parameters)
    for name, check in kind._parameters.items():
        check(inspect.signature(kind).parameters[name].default)


@pytest.mark.parametrize(("kind", "name", "check"), CASES)
def test_fit_refuses_what_the_declaration_refuses(kind, name, check):
    for value in check.bad():
        model = kind(**{name: value})
        with pytest.raises((TypeError, ValueError)) as told:
            model.fit(X, y)
        said = f"{kind.__name__}: {name} must be {check.words}, got {value!r}"
        said += ", which has more than 64 bits" * (type(value) is int and value > sys.maxsize)
        why = getattr(check, "why", "") if told.type is ValueError else ""
        assert str(told.value) == said + (f" ({why})" if why else "")


def test_other_methods_check_too():
    for kind in (mercer.learners.Perceptron, mercer.learners.KernelPerceptron):
        with pytest.raises(ValueError, match=f"{kind.__name__}: margin must be"):
            kind(margin=-1.0).partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match=f"{kind.__name__}: margin must be"):
            next(kind(margin=-1.0).steps(X, y))
        with pytest.raises(ValueError, match=f"{kind.__name__}: margin must be"):
            kind().fit(X, y).set_params(margin=-1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="EmailFeatures: max_text must be"):
        mercer.maps.EmailFeatures(max_text=0).read("A: b")
    neighbors = mercer.learners.KernelNeighborsClassifier(n_neighbors=1).fit(X, y)
    with pytest.raises(ValueError, match="radius must be"):
        neighbors.radius_neighbors(X, radius=-1.0)


def test_the_names_of_parameters_are_those_of_the_class():
    class Louder(mercer.learners.KernelSVC):
        def __init__(self, kernel="rbf", volume=1.0):
            super().__init__(kernel)
            self.volume = volume

    for kind in (mercer.learners.KernelSVC, Louder, mercer.learners.KernelSVC):
        for _ in range(2):
            known = set(kind().get_params(deep=False))
            assert known == set(inspect.signature(kind.__init__).parameters) - {"self"}
