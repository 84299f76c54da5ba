"""What a model file may hold: the list that writing and reading share."""

from __future__ import annotations

import numpy as np

FORMAT = "mercer"
VERSION = 1
#: The header is text about arrays, not data: more than this is not one of ours.
MAX_HEADER = 64 * 2**20
MAX_DEPTH = 60
MAX_ARRAYS = 100_000
#: Kinds of numbers, text and times that arrays are made of; no objects, no records.
ARRAY_KINDS = "biufcSUmM"

#: Where objects of a model may come from: whole packages of this library, single classes elsewhere.
OWN = (
    "mercer.formula.inputs",
    "mercer.kernels",
    "mercer.learners",
    "mercer.maps",
    "mercer.solvers",
)
OTHERS = {
    "mercer.data.schema": {"Schema"},
    "mercer.expansion": {"KernelExpansion"},
    "mercer.formula.nodes": {"Input"},
    "sklearn.pipeline": {"Pipeline", "FeatureUnion"},
    "sklearn.compose._column_transformer": {"ColumnTransformer", "_RemainderColsList"},
    "sklearn.impute._base": {"SimpleImputer", "MissingIndicator"},
    "sklearn.decomposition._pca": {"PCA"},
    "sklearn.decomposition._truncated_svd": {"TruncatedSVD"},
    "sklearn.feature_selection._variance_threshold": {"VarianceThreshold"},
    "sklearn.preprocessing._function_transformer": {"FunctionTransformer"},
    "sklearn.preprocessing._data": {
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    },
    "sklearn.preprocessing._encoders": {"OneHotEncoder", "OrdinalEncoder"},
    "sklearn.preprocessing._label": {"LabelBinarizer", "LabelEncoder"},
    "sklearn.mixture._gaussian_mixture": {"GaussianMixture"},
    "sklearn.naive_bayes": {"BernoulliNB", "GaussianNB", "MultinomialNB"},
    "sklearn.calibration": {
        "CalibratedClassifierCV",
        "_CalibratedClassifier",
        "_SigmoidCalibration",
    },
    "sklearn.isotonic": {"IsotonicRegression"},
}

#: Number types that stand in parameters such as ``dtype``.
PLAIN: dict[str, type] = {
    f"{cls.__module__}:{cls.__qualname__}": cls
    for cls in (np.float32, np.float64, np.int32, np.int64, float, int, str, bool, object)
}


class StoreError(ValueError):
    """The object cannot be saved, or the file cannot be trusted; the message says why."""


def allowed(module: str, name: str) -> bool:
    """Whether objects of this class may be in a file."""
    own = any(module == p or module.startswith(p + ".") for p in OWN)
    return (own and name.isidentifier()) or name in OTHERS.get(module, ())
