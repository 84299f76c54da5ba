"""The names that classes have in a model file: stable, whatever becomes of our modules.

A public kernel, learner or map has its public name (``kernels.Gaussian`` is `mercer.kernels`'
Gaussian), a class of scikit-learn the name users import it by. What else a model is made of is
declared in `DECLARED`, the only place that changes when its module or class is renamed. A kernel
or a learner from outside has the path of its class, and is found once its module has been
imported, by the program or as a plug-in that is installed.

No other class is in a file, and no file makes us import anything that is not named here.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module

from mercer._plugins import GROUPS, load_plugins
from mercer.kernels.core import Kernel
from mercer.learners.catalog import learners
from mercer.learners.saving import Savable

#: Packages whose public kernels and estimators may be in a file.
PUBLIC = ("kernels", "learners", "maps")

#: Other classes that models are made of: the name in the file, and where the class is now.
DECLARED = {
    "data.Schema": "mercer.data.schema:Schema",
    "expansion.KernelExpansion": "mercer.expansion:KernelExpansion",
    "formula.Categories": "mercer.formula.inputs:Categories",
    "formula.Columns": "mercer.formula.inputs:Columns",
    "formula.FrozenArray": "mercer.formula.inputs:FrozenArray",
    "formula.Input": "mercer.formula.nodes:Input",
    "formula.Matrix": "mercer.formula.inputs:Matrix",
    "formula.NonNegative": "mercer.formula.inputs:NonNegative",
    "formula.Scale": "mercer.formula.inputs:Scale",
    "formula.Unit": "mercer.formula.inputs:Unit",
    "formula.Warped": "mercer.formula.inputs:Warped",
    "intervals.ConformalClassifier": "mercer.learners.intervals.calibration:ConformalClassifier",
    "intervals.ConformalRegressor": "mercer.learners.intervals.calibration:ConformalRegressor",
    "learned.Inputs": "mercer.maps.learned.inputs:Inputs",
    "learned.Leaves": "mercer.learners.learned.leaves:Leaves",
    "maps.CommonScale": "mercer.maps.table:CommonScale",
    "maps.Monomials": "mercer.formula.monomials:Monomials",
    "maps.TableColumns": "mercer.maps.table:TableColumns",
    "maps.TextColumn": "mercer.maps.table:TextColumn",
    "perceptron.Memory": "mercer.solvers.online.memory:Memory",
    "perceptron.Rule": "mercer.solvers.online.rule:Rule",
    "perceptron.Budget": "mercer.solvers.online.budget:Store",
    "perceptron.Tally": "mercer.solvers.online.run:Tally",
    "probabilities.CalibratedScores": "mercer.learners.probabilities:CalibratedScores",
    "rivals.LinearClassifier": "mercer.learners.rivals.linear:LinearClassifier",
    "rivals.Trees": "mercer.learners.rivals.trees:Trees",
    "rivals.TreesClassifier": "mercer.learners.rivals.trees:TreesClassifier",
    "rivals.TreesRegressor": "mercer.learners.rivals.trees:TreesRegressor",
    "svm.Pair": "mercer.learners.svms.pairs:Pair",
    "svm.PairExpansion": "mercer.learners.svms.many_classes:PairExpansion",
    "svm.Pairs": "mercer.learners.svms.pairs:Pairs",
    "svm.Quadratic": "mercer.solvers.quadratic.problem:Quadratic",
    "templates.Warps": "mercer.solvers.warping:Warps",
    # Private classes of scikit-learn that models consist of become classes that are surely there.
    "sklearn.calibration._CalibratedClassifier": "mercer.store.stand_ins:CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration": "mercer.store.stand_ins:Sigmoid",
    "sklearn.compose._RemainderColsList": "collections:UserList",
}

#: Where those are in the versions of scikit-learn that have them: they are written by these names.
PRIVATE = {
    "sklearn.calibration:_CalibratedClassifier": "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration:_SigmoidCalibration": "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer:_RemainderColsList": "sklearn.compose._RemainderColsList",
}

#: The preprocessing and the densities of scikit-learn that travel with our models.
SKLEARN = {
    "sklearn.calibration": ("CalibratedClassifierCV",),
    "sklearn.ensemble": (
        *("BaggingClassifier", "BaggingRegressor", "VotingClassifier", "VotingRegressor"),
    ),
    "sklearn.feature_extraction.text": (
        *("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    ),
    "sklearn.multiclass": ("OneVsOneClassifier", "OneVsRestClassifier"),
    "sklearn.multioutput": ("MultiOutputClassifier", "MultiOutputRegressor"),
    "sklearn.compose": ("ColumnTransformer", "make_column_selector"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.isotonic": ("IsotonicRegression",),
    # The linear rivals of `compare`: coefficients, and nothing that is private.
    "sklearn.linear_model": ("LogisticRegression", "Ridge"),
    "sklearn.mixture": ("GaussianMixture",),
    "sklearn.naive_bayes": ("BernoulliNB", "GaussianNB", "MultinomialNB"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        *("FunctionTransformer", "KBinsDiscretizer", "LabelBinarizer", "LabelEncoder"),
        *("MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder"),
        *("PolynomialFeatures", "PowerTransformer", "QuantileTransformer", "RobustScaler"),
        *("SplineTransformer", "StandardScaler"),
    ),
}

#: Packages whose classes are listed above or nowhere: no plug-in is missing where one is named.
NEVER = {"mercer", "sklearn", "numpy", "scipy", *sys.stdlib_module_names}

#: Version 1 of the format wrote the path of a class as it was then: frozen, never to be changed.
OLD_PATHS = {
    "mercer.maps._monomials:Monomials": "maps.Monomials",
    "mercer.learners.svm:_Pair": "svm.Pair",
    "mercer.solvers.budget:Store": "perceptron.Budget",
    "mercer.solvers.online:Tally": "perceptron.Tally",
    "mercer.solvers.perceptron_rule:Rule": "perceptron.Rule",
    "mercer.solvers.quadratic:Quadratic": "svm.Quadratic",
    "mercer.solvers.updates:Memory": "perceptron.Memory",
    "mercer.solvers.warping:Warps": "templates.Warps",
}

_PATH_OF = {path: name for name, path in DECLARED.items()}


def name_of(cls: type) -> str | None:
    """The name of a class in a file, or None where no file may hold it."""
    path = _path(cls)
    if path in PRIVATE:
        return PRIVATE[path]
    candidates = [_PATH_OF.get(path), modern(path)]
    name = next((n for n in candidates if n and find(n) is cls), None)
    return name or (path if cls in _outsiders() else None)


def find(name: str) -> type | None:
    """The class of that name, or None where there is none that a file may hold."""
    if name in DECLARED:
        module, _, attribute = DECLARED[name].partition(":")
        return _class_in(module, attribute)
    package, _, attribute = name.rpartition(".")
    if attribute in SKLEARN.get(package, ()):
        return _class_in(package, attribute)
    if package in PUBLIC and attribute in import_module(f"mercer.{package}").__all__:
        found = _class_in(f"mercer.{package}", attribute)
        return found if package != "kernels" or (found and issubclass(found, Kernel)) else None
    # The last of several is the newest: a notebook's cell may have been run again.
    found = next((cls for cls in reversed(_outsiders()) if _path(cls) == name), None)
    if found is None and ":" in name:
        load_plugins(*GROUPS)
        found = next((cls for cls in reversed(_outsiders()) if _path(cls) == name), None)
    return found


def modern(path: str) -> str:
    """The name for a path of version 1: packages stayed, and the modules in them are left out.

    >>> modern("mercer.kernels.radial:Gaussian")
    'kernels.Gaussian'
    >>> modern("sklearn.preprocessing._data:StandardScaler")
    'sklearn.preprocessing.StandardScaler'
    """
    if path in OLD_PATHS:
        return OLD_PATHS[path]
    found = re.fullmatch(r"mercer\.(\w+)[\w.]*:(\w+)|(sklearn(?:\.[a-z]\w*)*)[\w.]*:(\w+)", path)
    return ".".join(part for part in found.groups() if part) if found else path


def _path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _class_in(module: str, attribute: str) -> type | None:
    found = getattr(import_module(module), attribute, None)
    return found if isinstance(found, type) else None


def _outsiders() -> list[type]:
    """Kernels and learners that other packages define, of those that have been imported."""
    bases: list[type] = [Kernel, Savable]
    for base in bases:  # which grows
        bases += base.__subclasses__()
    listed = (c for one in learners() for c in (one.classifier, one.regressor))
    known = [*bases, *(c for c in listed if isinstance(c, type))]
    return [cls for cls in known if not f"{cls.__module__}.".startswith("mercer.")]
