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

import sys
from typing import TYPE_CHECKING, Any

from mercer._lazy import ImportHints, by_name, unknown

if TYPE_CHECKING:  # what type checkers see; a test keeps it equal to the names that load on use
    from mercer import data as data
    from mercer import formula as formula
    from mercer import gram as gram
    from mercer import kernels as kernels
    from mercer import learners as learners
    from mercer import maps as maps
    from mercer import onnx as onnx
    from mercer import plot as plot
    from mercer import proof as proof
    from mercer import reasons as reasons
    from mercer import report as report
    from mercer import selection as selection
    from mercer import solvers as solvers
    from mercer import stats as stats
    from mercer import store as store
    from mercer import testing as testing
    from mercer import theory as theory
    from mercer._config import config as config
    from mercer._config import get_config as get_config
    from mercer._config import set_config as set_config
    from mercer._notices import DataWarning as DataWarning
    from mercer._notices import KernelWarning as KernelWarning
    from mercer._notices import MachineWarning as MachineWarning
    from mercer._notices import MercerWarning as MercerWarning
    from mercer._notices import NumericalWarning as NumericalWarning
    from mercer.engines.cluster.files import chunks as chunks
    from mercer.expansion import KernelExpansion as KernelExpansion
    from mercer.gram import Gram as Gram
    from mercer.gram import distance_to_mean as distance_to_mean
    from mercer.kernels import Kernel as Kernel
    from mercer.kernels import parse as parse
    from mercer.kernels.names import *  # noqa: F403
    from mercer.learners import *  # noqa: F403
    from mercer.learners.intervals.calibration import calibrate as calibrate
    from mercer.proof import Counterexample as Counterexample
    from mercer.proof import Proof as Proof
    from mercer.proof import Undecided as Undecided
    from mercer.proof import fourier_check as fourier_check
    from mercer.proof import prove as prove
    from mercer.proof import repair as repair
    from mercer.reasons import explain_rows as explain_rows
    from mercer.selection import compare as compare
    from mercer.solvers.spectral.preimage import preimage as preimage
    from mercer.store import load as load
    from mercer.store import save as save

__version__ = "0.2.0.dev0"

#: Names and the modules that have them; the names of kernels are in their catalog.
_WHERE = {
    "mercer._config": ["config", "get_config", "set_config"],
    "mercer._notices": [
        "DataWarning",
        "KernelWarning",
        "MachineWarning",
        "MercerWarning",
        "NumericalWarning",
    ],
    "mercer.engines.cluster.files": ["chunks"],
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
        "GaussianProcessClassifier",
        "GaussianProcessRegressor",
        "KernelCentroidClassifier",
        "KernelDensity",
        "KernelFisherDiscriminant",
        "KernelKMeans",
        "KernelLogisticRegression",
        "KernelNeighborsClassifier",
        "KernelNeighborsRegressor",
        "KernelOneClass",
        "KernelPCA",
        "KernelPerceptron",
        "KernelQuantileRegressor",
        "KernelRidge",
        "KernelRidgeClassifier",
        "KernelSVC",
        "KernelSVR",
        "LocalLinearRegressor",
        "NadarayaWatsonClassifier",
        "NadarayaWatsonRegressor",
        "Perceptron",
        "RFMClassifier",
        "RFMRegressor",
        "SpectralClustering",
    ],
    "mercer.solvers.spectral.preimage": ["preimage"],
    "mercer.learners.intervals.calibration": ["calibrate"],
    "mercer.reasons": ["explain_rows"],
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
    "reasons",
    "report",
    "selection",
    "solvers",
    "stats",
    "store",
    "testing",
    "theory",
]
_HOME = {name: module for module, names in _WHERE.items() for name in names}

_load = by_name(__name__, _HOME, _MODULES)
sys.meta_path.append(ImportHints)


if not TYPE_CHECKING:  # a type checker then knows that other names do not exist

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        if name.startswith("_"):  # a module that is yet to be imported: nobody needs a hint
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        if name[:1].isupper() and name not in _HOME:
            from mercer import kernels

            if name in kernels.KERNELS:
                return getattr(kernels, name)
        if name in _HOME or name in _MODULES:
            return _load(name)
        raise unknown(__name__, name, __dir__(), _elsewhere(name))


def _elsewhere(name: str) -> str:
    """Which module has a name that is not here, perhaps under another name; or nothing."""
    from importlib import import_module

    from mercer._suggest import CALLED_HERE

    called = CALLED_HERE.get(name, name)
    if called in __dir__():
        return ""
    for module in (f"mercer.{part}" for part in _MODULES if part != "solvers"):
        try:
            names = dir(import_module(module))
        except ModuleNotFoundError:  # an extra that is not installed
            continue
        if called in names:
            return f"; {f'{name} is called' if called != name else 'it is'} {module}.{called}"
    return ""


def __dir__() -> list[str]:
    from mercer import kernels

    return sorted([*_HOME, *_MODULES, *kernels.KERNELS, "__version__"])
