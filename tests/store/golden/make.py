"""Golden model files: what one version of the library wrote, kept so that every later one reads it.

``python tests/store/golden/make.py v2`` writes ``tests/store/golden/v2.zip``: small models, and
in `cases.json` the inputs they were asked about and what they answered. The archive of a version is
written once, by that version, and never again: a later version adds one of its own when the format
changes, or when there is something new to store (give the new cases alone, by name, as further
arguments: ``make.py v4 map-PowersMap``). `tests/store/test_golden.py` reads all of them.

v1: the first format, whose files name classes by the modules they stood in then.
v2: stable names; as many of the cases as have all of them.
v3: the pairs of classes of a KernelSVC as flat arrays.
v4: PowersMap.
v5: a KernelSVC of many classes keeps the compact coefficients alone.
v6-pca: KernelPCA.
v6-process: GaussianProcessRegressor.
v6-intervals: what mercer.calibrate makes.
v6-quantiles: KernelQuantileRegressor.
v6-density: KernelDensity.
v6-classes: GaussianProcessClassifier.
v6-groups: KernelKMeans, SpectralClustering and KernelFisherDiscriminant.
v6-linear: the linear rival of classes.
v6-leaves: a recursive feature machine of many rows, in leaves.
"""

import json
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
)

rng = np.random.default_rng(12)
X = np.round(rng.uniform(0.1, 1.0, (24, 3)), 3)
TARGETS = np.round(np.sin(3 * X[:, 0]) + X[:, 1], 3)
THREE = np.array(["low", "mid", "top"])[np.digitize(TARGETS, np.quantile(TARGETS, [0.3, 0.7]))]
TWO = (TARGETS - np.median(TARGETS) > 0).astype(int)
SEQUENCES = ["gattaca", "tagacat", "catgata", "gagacta", "actgact", "ttagacg"]
WORDS = ["one two three", "two three", "three four", "one four", "five", "one five two"]
MAIL = [
    "From: ann@example.org\nSubject: lunch\n\nHello, lunch at 12? https://example.org/menu",
    "From: bob@example.com\nSubject: WIN\n\nYou won! Click http://win.example.com now!!!",
    "From: eve@example.net\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nA happy new year",
]
GRAPHS = [
    [[[0, 1], [1, 2]], ["C", "C", "O"]],
    [[[0, 1], [1, 2], [2, 0]], ["C", "C", "N"]],
    [[[0, 1]], ["O", "O"]],
    [[[0, 1], [1, 2], [2, 3]], ["C", "N", "C", "O"]],
]
IMAGES = np.round(rng.uniform(0.0, 1.0, (10, 16)), 2)
GLYPHS = (rng.uniform(size=(3, 100)) > 0.7).astype(float)
TABLE = {
    "age": [30, 41, None, 22, 35, 58, 61, 19, 44, 52, 27, 33],
    "town": [
        "Ulm",
        "Bonn",
        "Ulm",
        None,
        "Köln",
        "Bonn",
        "Ulm",
        "Ulm",
        "Köln",
        "Bonn",
        "Ulm",
        "Ulm",
    ],
    "since": [f"2024-{month:02d}-05" for month in range(1, 13)],
    "fixed": [1] * 12,
}
ANSWERS = [0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0]

#: What the models are asked about, by name; `made` turns it into what `predict` takes.
INPUTS = {
    "rows": X[::4].tolist(),
    "sequences": SEQUENCES[::2],
    "words": WORDS[::2],
    "mail": MAIL,
    "graphs": GRAPHS,
    "images": IMAGES[::3].tolist(),
    "glyphs": GLYPHS.tolist(),
    "table": TABLE,
    "square": (X[:6] @ X[:6].T - 0.3).round(3).tolist(),
}


def made(name, value):
    """An input as it stands in `cases.json`, as the rows a model takes."""
    if name == "table":
        import pandas as pd

        return pd.DataFrame(value)
    if name == "graphs":
        return [(edges, labels) for edges, labels in value]
    return value if isinstance(value[0], str) else np.array(value, dtype=float)


def register():
    """The name that one of the kernels calls its function by; needed where it is read, too."""
    from mercer import kernels

    kernels.register("golden_product", lambda x, z: float(np.dot(x, z)) ** 2)


def learners():
    """(model, rows, targets, what it is asked about) of every learner, by name."""
    from sklearn.linear_model import LogisticRegression, Ridge

    import mercer
    from mercer import RFMClassifier, RFMRegressor
    from mercer.learners import (
        DeformableTemplateClassifier,
        GaussianProcessClassifier,
        GaussianProcessRegressor,
        KernelCentroidClassifier,
        KernelDensity,
        KernelFisherDiscriminant,
        KernelKMeans,
        KernelLogisticRegression,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelOneClass,
        KernelPCA,
        KernelPerceptron,
        KernelQuantileRegressor,
        KernelRidge,
        KernelRidgeClassifier,
        KernelSVC,
        KernelSVR,
        LocalLinearRegressor,
        NadarayaWatsonClassifier,
        NadarayaWatsonRegressor,
        Perceptron,
        SpectralClustering,
    )
    from mercer.learners.probabilities import CalibratedScores
    from mercer.learners.rivals.linear import LinearClassifier
    from mercer.learners.rivals.trees import TreesClassifier, TreesRegressor
    from mercer.maps import LearnedMetric, PolynomialMap

    kernel, still = "gaussian(0.5)", {"random_state": 0, "epochs": 3}
    found = {
        "quantiles": (KernelQuantileRegressor(kernel, C=2.0), TARGETS),
        "calibrated": (mercer.calibrate(KernelRidge(kernel, 0.1), "cv+", random_state=0), TARGETS),
        "calibrated-classes": (
            mercer.calibrate(KernelLogisticRegression(kernel, 0.1), random_state=0),
            THREE,
        ),
        "process-classes": (GaussianProcessClassifier("4*gaussian(0.5)", optimizer=None), THREE),
        "process": (GaussianProcessRegressor("2*gaussian([1.0, 1.0, 2.0])", max_iter=3), TARGETS),
        "perceptron-vote": (KernelPerceptron(kernel, averaging="vote", **still), THREE),
        "perceptron-average": (KernelPerceptron(kernel, averaging="average", **still), THREE),
        "perceptron-last": (KernelPerceptron(kernel, fit_intercept=True, shuffle=False), TWO),
        "perceptron-ovr": (KernelPerceptron(kernel, multi_class="ovr", **still), THREE),
        "perceptron-budget-average": (
            KernelPerceptron(
                kernel, budget=4, budget_policy="project", averaging="average", **still
            ),
            THREE,
        ),
        "perceptron-held-out": (
            KernelPerceptron(kernel, validation_fraction=0.3, averaging="average", **still),
            TWO,
        ),
        "primal-last": (Perceptron(**still), TWO),
        "primal-vote": (Perceptron(PolynomialMap(2), averaging="vote", **still), THREE),
        "primal-average": (Perceptron(averaging="average", **still), THREE),
        "ridge-path": (KernelRidge(kernel, alphas=[0.1, 1.0]), TARGETS),
        "ridge-targets": (
            KernelRidge(kernel, alpha=[0.1, 1.0]),
            np.column_stack([TARGETS, -TARGETS]),
        ),
        "ridge-cholesky": (KernelRidge(kernel, alpha=0.1, solver="cholesky"), TARGETS),
        "ridge-cg": (KernelRidge(kernel, alpha=0.1, solver="cg", random_state=0), TARGETS),
        "ridge-primal": (KernelRidge("polynomial(2, offset=1)", solver="primal"), TARGETS),
        "ridge-nystrom": (
            KernelRidge(kernel, solver="nystrom", n_centers=5, random_state=0),
            TARGETS,
        ),
        "ridge-classifier": (KernelRidgeClassifier(kernel, class_weight="balanced"), THREE),
        "logistic-two": (KernelLogisticRegression(kernel, alpha=0.1), TWO),
        "logistic-three": (KernelLogisticRegression(kernel, alpha=0.1), THREE),
        "logistic-nystrom": (
            KernelLogisticRegression(kernel, solver="nystrom", n_centers=5, random_state=0),
            THREE,
        ),
        "svc-two": (KernelSVC(kernel, C=2.0, warm_start=True), TWO),
        "svc-three": (KernelSVC(kernel, warm_start=True), THREE),
        "svc-nu": (KernelSVC(kernel, nu=0.3, decision_function_shape="ovo"), THREE),
        "svc-hard-margin": (KernelSVC("gaussian(0.1)", C=np.inf), TWO),
        "svc-probability": (KernelSVC(kernel, probability=True), TWO),
        "svc-many": (KernelSVC(kernel), np.arange(len(X))),
        "svr": (KernelSVR(kernel, warm_start=True), TARGETS),
        "svr-nu": (KernelSVR(kernel, nu=0.4), TARGETS),
        "one-class": (KernelOneClass(kernel, nu=0.2), None),
        "density": (KernelDensity(kernel), None),
        "kmeans": (KernelKMeans(kernel, 3, random_state=0), None),
        "spectral": (SpectralClustering(kernel, 3, random_state=0), None),
        "fisher": (KernelFisherDiscriminant(kernel), THREE),
        "pca": (KernelPCA(kernel, 3, fit_inverse_transform=True), None),
        "nadaraya-watson": (NadarayaWatsonRegressor(kernel), TARGETS),
        "nadaraya-watson-columns": (
            NadarayaWatsonRegressor("laplacian()", per_column=True),
            TARGETS,
        ),
        "nadaraya-watson-classes": (NadarayaWatsonClassifier(kernel), THREE),
        "local-quadratic": (LocalLinearRegressor(kernel, local_degree=2), TARGETS),
        "local-features": (
            LocalLinearRegressor(kernel, feature_map=PolynomialMap(2, offset=1.0)),
            TARGETS,
        ),
        "neighbors-classes": (KernelNeighborsClassifier(kernel, weights="kernel"), THREE),
        "neighbors-radius": (KernelNeighborsRegressor(kernel, radius=0.9), TARGETS),
        "centroids": (KernelCentroidClassifier(kernel), THREE),
        "calibrated-scores": (
            CalibratedScores(KernelSVC(kernel), np.eye(3), np.array([0.0, 0.5, -0.5])),
            THREE,
        ),
        "rival-forest": (TreesClassifier("forest", 3), THREE),
        "rival-boosting": (TreesClassifier("boosting", 3), TWO),
        "rival-forest-numbers": (TreesRegressor("forest", 3), TARGETS),
        "rival-logistic": (LogisticRegression(), THREE),
        "rival-ridge": (Ridge(), TARGETS),
        "rival-linear": (LinearClassifier(), THREE),
        "medoids": (KernelCentroidClassifier(kernel, prototype="medoid"), THREE),
    }
    found |= {
        f"perceptron-budget-{policy}": (
            KernelPerceptron(kernel, budget=4, budget_policy=policy, **still),
            THREE,
        )
        for policy in ("oldest", "random", "project", "merge")
    }
    found["learned"] = RFMRegressor("full", 1, inputs="both"), TARGETS
    found["learned-classes"] = RFMClassifier("diagonal", 1), THREE
    found["learned-metric"] = LearnedMetric("diagonal", 1), TARGETS
    cases = {name: (model, X, y, "rows") for name, (model, y) in found.items()}
    templates = DeformableTemplateClassifier(shape=(4, 4))
    cases["templates"] = (templates, IMAGES, np.arange(10) % 2, "images")
    return cases


def others():
    """The same for kernels on other data than numbers, maps, pipelines and expansions."""
    import pandas as pd
    from scipy.sparse import csr_matrix
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.mixture import GaussianMixture
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import mercer
    from mercer import kernels, maps
    from mercer.data import Schema
    from mercer.learners import KernelRidge, KernelSVC, Perceptron
    from mercer.maps.table import CommonScale, TableColumns, TextColumn

    register()
    frame = pd.DataFrame(TABLE)
    column = np.arange(6.0)
    table = Pipeline(
        [
            ("columns", TableColumns()),
            (
                "encode",
                ColumnTransformer(
                    [
                        (
                            "numbers",
                            make_pipeline(
                                SimpleImputer(strategy="median", add_indicator=True),
                                StandardScaler(),
                            ),
                            ["age", "since"],
                        ),
                        ("words", OneHotEncoder(handle_unknown="ignore"), ["town"]),
                    ]
                ),
            ),
            ("learner", KernelSVC("gaussian(1)")),
        ]
    )
    table.schema_ = Schema("table", tuple(TABLE), ("number", "text", "date", "number"), "answer")
    density = GaussianMixture(2, random_state=0).fit(X)
    bayes = BernoulliNB().fit(X > 0.5, TWO)
    cases = {
        "table": (table, frame, ANSWERS, "table"),
        "sparse": (KernelRidge("linear()"), csr_matrix(X), TARGETS, "rows"),
        "sequences-spectrum": (KernelRidge("spectrum(2)"), SEQUENCES, column, "sequences"),
        "sequences-mismatch": (KernelRidge("mismatch(3, 1)"), SEQUENCES, column, "sequences"),
        "sequences-subsequence": (
            make_pipeline(TextColumn(), KernelRidge("subsequence(2, 0.5)")),
            SEQUENCES,
            column,
            "sequences",
        ),
        "sequences-aligned": (
            KernelRidge("weighted_degree(2) + local_alignment()"),
            SEQUENCES,
            column,
            "sequences",
        ),
        "words": (KernelRidge("bag_of_words()"), WORDS, column, "words"),
        "graphs-walks": (
            KernelRidge("random_walk()"),
            made("graphs", GRAPHS),
            column[:4],
            "graphs",
        ),
        "graphs": (
            KernelRidge("weisfeiler_lehman(2) + 0.5*shortest_path()"),
            made("graphs", GRAPHS),
            column[:4],
            "graphs",
        ),
        "images": (
            make_pipeline(
                CommonScale(),
                KernelRidge("jittered(linear(), angles=[10], shape=[4, 4]) + gaussian(2)"),
            ),
            IMAGES,
            np.arange(10.0),
            "images",
        ),
        "images-tangent": (
            KernelRidge("tangent_distance(4, 4, sigma=1.0)"),
            IMAGES,
            np.arange(10.0),
            "images",
        ),
        "images-rotated": (
            KernelRidge("rotation_invariant(gaussian(2), shape=[4, 4])"),
            IMAGES,
            np.arange(10.0),
            "images",
        ),
        "precomputed": (KernelRidge("precomputed"), INPUTS["square"], column, "square"),
        "similarity": (KernelRidge(kernels.Similarity("golden_product")), X, TARGETS, "rows"),
        "warp": (
            KernelRidge("(linear() + 1).warp('tanh').reweight('norm') + gaussian(1).on([0, 2])"),
            X,
            TARGETS,
            "rows",
        ),
        "from-features": (KernelRidge(kernels.FromFeatures("square")), X, TARGETS, "rows"),
        "from-map": (
            KernelRidge(kernels.FromFeatures(maps.PolynomialMap(2).fit(X))),
            X,
            TARGETS,
            "rows",
        ),
        "mixture": (
            KernelRidge(kernels.ConditionalExpectation(density) + kernels.Fisher(density)),
            X,
            TARGETS,
            "rows",
        ),
        "bayes": (KernelRidge(kernels.ConditionalExpectation(bayes)), X, TARGETS, "rows"),
        "mail": (make_pipeline(maps.EmailFeatures(), Perceptron()), MAIL, [0, 1, 0], "mail"),
        "learned-leaves": (in_leaves(), None, None, "rows"),
        "expansion": (
            mercer.KernelExpansion(mercer.Gaussian(0.5), X[:4], np.arange(4.0), 0.5),
            None,
            None,
            "rows",
        ),
        "expansion-sequences": (
            mercer.KernelExpansion(mercer.Spectrum(2), SEQUENCES, np.arange(6.0)),
            None,
            None,
            "sequences",
        ),
    }
    data = {"EmailFeatures": (MAIL, "mail"), "GlyphFeatures": (GLYPHS, "glyphs")}
    data["SpectrumRepair"] = (np.array(INPUTS["square"]), "square")
    options = {
        "NystromMap": {"n_components": 5, "random_state": 0},
        "RandomFourierMap": {"n_components": 6, "random_state": 0},
        "TensorSketchMap": {"n_components": 8, "random_state": 0},
        "GlyphFeatures": {"shape": (10, 10)},
    }
    for name in maps.__all__:
        rows, asked = data.get(name, (X, "rows"))
        cases[f"map-{name}"] = (getattr(maps, name)(**options.get(name, {})), rows, None, asked)
    return cases


def in_leaves():
    """A feature machine with leaves of 8 rows instead of thousands."""
    from mercer import RFMRegressor
    from mercer.learners.learned import leaves

    with mock.patch.object(leaves, "EXACT_ROWS", 12):
        return RFMRegressor("full", 1).fit(X, TARGETS)


def all_kernels():
    """Every kernel of numbers, and the algebra around them, in one file."""
    import mercer
    from mercer import kernels

    texts = [
        *("linear()", "polynomial(3, offset=1)", "gaussian([1.0, 2.0, 3.0])", "laplacian(2)"),
        *("sigmoid(0.5, 1)", "bspline(3)", "constant(2)", "squared_distance()"),
        *("negative_squared_distance()", "matern(1.5)", "rational_quadratic()", "periodic()"),
        *("cosine()", "chi_squared()", "intersection()", "tanimoto()", "arc_cosine(1)"),
        *("hamming()", "delta()", "anova(2)", "epanechnikov(2)", "tricube(2)", "uniform(2)"),
        *("wendland(2)", "2*gaussian(1) + linear()*linear()", "linear()**2", "linear().exp()"),
        *("(linear() + 1).normalized()", "gaussian(1).on([0])", "linear().warp('log1p')"),
    ]
    found = {text: kernels.parse(text) for text in texts}
    found["bilinear"] = mercer.kernels.Bilinear(np.diag([1.0, 2.0, 3.0]))
    found["polynomial of"] = mercer.Linear().polynomial([1.0, 0.5, 0.25])
    return found


def answers(model, rows):
    """What a model says about rows, by method; numbers as lists."""
    found = {name: getattr(model, name)(rows) for name in METHODS if hasattr(model, name)}
    if not found:
        found["__call__"] = model(rows)
    return {name: plain(value) for name, value in found.items()}


def plain(value):
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value).tolist()


def main(version, names):
    place = Path(__file__).parent / f"{version}.zip"
    if place.exists():
        raise SystemExit(f"{place} is there already; the files of a version are written once")
    with tempfile.TemporaryDirectory() as folder:
        told = write(Path(folder), names)
        text = json.dumps({"inputs": INPUTS, "cases": told}, ensure_ascii=False, indent=0)
        with zipfile.ZipFile(place, "x", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("cases.json", text)
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, path.name)


def write(folder, names):
    """The model files of these cases (or of all), and what the models answer."""
    import mercer

    told = {}
    cases = learners() | others()
    for name in names or [*cases, "kernels"]:
        if name == "kernels":
            found = all_kernels()
            mercer.save(found, folder / "kernels.mercer")
            rows = made("rows", INPUTS["rows"])
            told[name] = {"input": "rows", "each": {n: plain(k(rows)) for n, k in found.items()}}
            continue
        model, rows, y, asked = cases[name]
        if rows is not None:
            model.fit(rows, y) if y is not None else model.fit(rows)
        mercer.save(model, folder / f"{name}.mercer")
        given = made(asked, INPUTS[asked])
        told[name] = {"input": asked, "answers": answers(model, given)}
        if hasattr(model, "partial_fit") and asked == "rows":
            more = (X[:9] + 0.25).tolist(), np.asarray(y)[:9].tolist()
            told[name] |= {"more": more, "later": answers(model.partial_fit(*more), given)}
    return told


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2:])
