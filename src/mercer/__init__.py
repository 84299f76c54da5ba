"""Mercer: kernel machines with proofs, at the speed of the matrix product under them.

>>> import mercer
>>> k = 0.5 * mercer.Gaussian(sigma=2.0) + mercer.Polynomial(2, offset=1.0)
>>> bool(k.prove())
True

Docstrings name the lectures that a formula follows: Ritter ("Kernels and Kernelized Perceptron"),
Abernethy ("Lecture 09: Kernel Methods"), Gordon and Smola ("Perceptron and Kernels"), Klein
("Lecture 14: Kernel Methods"), and handwritten notes on feature vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mercer._lazy import by_name

if TYPE_CHECKING:
    from mercer.kernels.names import *  # noqa: F403

__version__ = "0.2.0.dev0"

#: Names and the modules that have them; the names of kernels are in their catalog.
_WHERE = {
    "mercer._config": ["config", "get_config", "set_config"],
    "mercer.kernels": ["Kernel", "parse"],
    "mercer.gram": ["Gram", "distance_to_mean"],
    "mercer.proof": [
        "Counterexample",
        "Proof",
        "Undecided",
        "fourier_check",
        "prove",
        "repair",
    ],
    "mercer.expansion": ["KernelExpansion"],
    "mercer.learners": [
        "DeformableTemplateClassifier",
        "KernelCentroidClassifier",
        "KernelLogisticRegression",
        "KernelNeighborsClassifier",
        "KernelNeighborsRegressor",
        "KernelOneClass",
        "KernelPerceptron",
        "KernelRidge",
        "KernelRidgeClassifier",
        "KernelSVC",
        "KernelSVR",
        "LocalLinearRegressor",
        "NadarayaWatsonClassifier",
        "NadarayaWatsonRegressor",
        "Perceptron",
    ],
    "mercer.selection": ["compare"],
    "mercer.store": ["load", "save"],
}
_MODULES = [
    "data",
    "formula",
    "gram",
    "kernels",
    "learners",
    "maps",
    "onnx",
    "plot",
    "proof",
    "report",
    "selection",
    "solvers",
    "store",
    "testing",
    "theory",
]
_HOME = {name: module for module, names in _WHERE.items() for name in names}

_load = by_name(__name__, _HOME, _MODULES)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name[:1].isupper() and name not in _HOME:
        from mercer import kernels

        if name in kernels.KERNELS:
            return kernels.KERNELS[name]
    return _load(name)


def __dir__() -> list[str]:
    from mercer import kernels

    return sorted([*_HOME, *_MODULES, *kernels.KERNELS, "__version__"])
