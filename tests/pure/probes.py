"""What must have the same bits in every state of a process: `python tests/pure/probes.py --list`.

A probe computes numbers: K, G @ V and diagonals of a kernel, or the coefficients and predictions of
a learner or a map. The script puts its process into a state (`--before`), runs the probes and
prints, as JSON, the name of each result with the hashes of its bits in the calls that were asked
for.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import mercer
from mercer import kernels, learners, maps

Results = dict[str, Any]


class Probe(NamedTuple):
    """A name and the function that computes; the name says what, on which data, how large."""

    name: str
    run: Callable[[], Results]


# --- kernels -------------------------------------------------------------------------------------

KERNELS = (
    "linear()",
    "polynomial(2, 1)",
    "polynomial(3)",
    "polynomial(5, 1, 0.01)",
    "sigmoid(0.01, 0.1)",
    "cosine()",
    "tanimoto()",
    "arc_cosine(0)",
    "arc_cosine(1)",
    "gaussian(1.0)",
    "gaussian(8.0)",
    "laplacian(0.5)",
    "laplacian(0.5, 1)",
    "matern(0.5, 2)",
    "matern(1.5, 2)",
    "matern(2.5, 2)",
    "rational_quadratic(1, 2)",
    "power_exponential(2, power=0.7)",
    "epanechnikov(3)",
    "tricube(3)",
    "uniform(3)",
    "wendland(1, 4)",
    "squared_distance()",
    "bspline(3, 2)",
    "periodic(2, 1)",
    "chi_squared(0.5).warp('abs')",
    "intersection().warp('abs')",
    "anova(2, 1)",
    "0.5*gaussian(2) + polynomial(2, 1).normalized()",
    "gaussian(2) * linear() + 1",
    "cosine() * matern(1.5, 3)",
)
#: Rows, columns: from what a lecture draws to what is cut into tiles.
SHAPES = ((8, 2), (60, 5), (200, 40), (700, 10), (1500, 20), (2500, 120))
#: Kernels of which a number of K takes a function of every column: fewer rows of many columns.
LONG, FEWER_ROWS = ("periodic", "bspline", "anova"), {2500: 1000}


def rows(n: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, n, columns)).normal(size=(n, columns))


def block(kernel: Any, X: Any, Z: Any) -> Results:
    """Every door to the numbers of K."""
    V = rows(X.shape[0] if hasattr(X, "shape") else len(X), 3, seed=2)
    G = kernel.gram(X)
    return {
        "k(X)": kernel(X),
        "k(X, Z)": kernel(X, Z),
        "dense": G.dense(),
        "G @ V": G @ V,
        "diagonal": G.diagonal(),
    }


def of_kernels() -> Iterator[Probe]:
    for text in KERNELS:
        for most, columns in SHAPES:
            n = FEWER_ROWS.get(most, most) if text.startswith(LONG) else most
            for dtype in ("float64", "float32"):

                def run(text: str = text, n: int = n, c: int = columns, t: str = dtype) -> Results:
                    X, Z = rows(n, c).astype(t), rows(n // 3 + 1, c, seed=1).astype(t)
                    return block(kernels.parse(text), X, Z)

                yield Probe(f"kernel {text} {n}x{columns} {dtype}", run)
    for name, make in OTHER_ROWS.items():
        for text in ("linear()", "gaussian(3)", "laplacian(0.5)"):

            def other(text: str = text, make: Any = make) -> Results:
                return block(kernels.parse(text), make(900, 0), make(300, 1))

            yield Probe(f"kernel {text} {name}", other)
    for text in ("weighted_degree(3)", "spectrum(2)", "subsequence(2)"):

        def strings(text: str = text) -> Results:
            return block(kernels.parse(text), words(120, 0)[0], words(40, 1)[0])

        yield Probe(f"kernel {text} strings", strings)


def sparse_rows(n: int, seed: int) -> Any:
    return scipy.sparse.random(n, 2000, 0.02, format="csr", random_state=seed)


def half_full_rows(n: int, seed: int) -> Any:
    return scipy.sparse.random(n, 60, 0.5, format="csr", random_state=seed)


def pixels(n: int, seed: int) -> np.ndarray:
    """Bytes as images have them, most of them zero."""
    random = np.random.default_rng(seed)
    return (random.integers(0, 256, (n, 196)) * (random.random((n, 196)) < 0.3)).astype(np.uint8)


OTHER_ROWS = {"sparse": sparse_rows, "half full": half_full_rows, "bytes": pixels}


# --- learners ------------------------------------------------------------------------------------

SIZES = {"small": (60, 3), "medium": (400, 8), "large": (2000, 10)}
#: Learners of cubic cost with many turns are measured on fewer rows.
FEWER = {"GaussianProcessClassifier": 500, "GaussianProcessRegressor": 500}
REGRESSORS = ("KernelRidge", "KernelSVR")
#: Settings that take another road than the defaults.
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "KernelSVC": (
        {"C": 5.0, "kernel": "polynomial(3, 1, 0.1)"},
        {"nu": 0.3},
        {"probability": True},
    ),
    "KernelSVR": ({"nu": 0.3},),
    "KernelRidge": ({"solver": "nystrom"}, {"solver": "cg", "alpha": 1e-3}, {"alpha": 0.1}),
    "KernelRidgeClassifier": ({"alpha": 0.1, "centers": "leverage", "solver": "nystrom"},),
    "KernelLogisticRegression": ({"alpha": 1.0}, {"solver": "nystrom", "alpha": 0.01}),
    "KernelPerceptron": (
        {"averaging": "average", "fit_intercept": True},
        {"budget": 50, "budget_policy": "merge"},
        {"kernel": "polynomial(2, 1)", "tie": "first"},
        {"validation_fraction": 0.2},
    ),
    "Perceptron": ({"averaging": "average"},),
    "KernelNeighborsClassifier": ({"radius": 0.8}, {"kernel": "laplacian(1, 1)"}),
    "SpectralClustering": ({"solver": "nystrom"},),
    "KernelPCA": ({"n_components": 5},),
}
NUMBERS = ("dual_coef_", "coef_", "intercept_", "support_", "n_iter_", "alpha_", "bandwidth_")
ANSWERS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")


def numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(numbers(v) for v in value)
    return (
        np.asarray(value).dtype.kind in "biufc" if np.isscalar(value) else hasattr(value, "dtype")
    )


def found(model: Any, X: Any) -> Results:
    """What was learned, and the answers for one row, for fifty and for all."""
    names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    results = {n: getattr(model, n, None) for n in sorted(names.union(NUMBERS))}
    results = {n: v for n, v in results.items() if v is not None and numbers(v)}
    for how in ANSWERS:
        if hasattr(model, how):
            for count in (1, 50, None):
                results[f"{how} {count or 'all'}"] = getattr(model, how)(X[:count])
    return results


def fitted(name: str, settings: dict[str, Any], size: str) -> Results:
    n, columns = SIZES[size]
    n = min(n, FEWER.get(name, n))
    X, new = rows(n, columns, seed=3), rows(n, columns, seed=4)
    signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rows(n, 1, seed=5)[:, 0]
    regression = "Regressor" in name or name in REGRESSORS
    model = getattr(learners, name)(**settings)
    return found(model.fit(X, signal if regression else np.digitize(signal, [-0.5, 0.7])), new)


def on_images(size: str) -> Results:
    X, y = mercer.data.digits()
    n = {"small": 60, "medium": 120, "large": 240}[size]
    return found(learners.DeformableTemplateClassifier().fit(X[:n], y[:n]), X[n : n + 60])


def of_learners() -> Iterator[Probe]:
    for name in learners.__all__:
        for settings in ({}, *SETTINGS.get(name, ())):
            said = " ".join(f"{k}={v}" for k, v in settings.items())
            for size in SIZES:

                def run(name: str = name, options: Any = settings, size: str = size) -> Results:
                    return on_images(size) if "Template" in name else fitted(name, options, size)

                yield Probe(" ".join(filter(None, ("learner", name, said, size))), run)
    yield from of_vector_machines()
    yield Probe("learner calibrate medium", lambda: calibrated(400))
    yield Probe("test mmd small", lambda: tested(60))
    yield Probe("test hsic small", lambda: independence(60))
    yield Probe("reasons small", lambda: explained(60))
    yield Probe("test change_points small", lambda: changes(60))


def words(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Strings of twelve letters, and whether "ab" is near the beginning."""
    random = np.random.default_rng(seed)
    found = ["".join(random.choice(list("abcd"), 12)) for _ in range(n)]
    return found, np.array(["ab" in text[:6] for text in found])


def product_of_norms(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 8)


def of_vector_machines() -> Iterator[Probe]:
    """Kernels that no compiled loop can compute."""

    def strings() -> Results:
        X, y = words(600, 0)
        return found(learners.KernelSVC(kernels.WeightedDegree(3)).fit(X, y), words(100, 1)[0])

    def labels(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * X[:, 1] > 0.1 * X[:, 2]

    def precomputed() -> Results:
        X, new = rows(600, 5), rows(100, 5, seed=1)
        k = mercer.Gaussian(2.0)
        return found(learners.KernelSVC("precomputed").fit(k(X), labels(X)), k(new, X))

    def function() -> Results:
        X, new = rows(600, 5), rows(100, 5, seed=1)
        model = learners.KernelSVC(kernels.Similarity(product_of_norms, blocks=True))
        return found(model.fit(X, labels(X)), new)

    def images() -> Results:
        X = pixels(1500, 0)
        y = X[:, :98].sum(axis=1, dtype=int) > X[:, 98:].sum(axis=1, dtype=int)
        return found(learners.KernelSVC("polynomial(2, 1, 1e-6)").fit(X, y), pixels(200, 1))

    def sparse() -> Results:
        X, new = sparse_rows(1200, 0), sparse_rows(200, 1)
        return found(learners.KernelSVC().fit(X, np.asarray(X.sum(axis=1)).ravel() > 20), new)

    yield Probe("learner KernelSVC strings 600", strings)
    yield Probe("learner KernelSVC precomputed 600", precomputed)
    yield Probe("learner KernelSVC function 600", function)
    yield Probe("learner KernelSVC bytes 1500", images)
    yield Probe("learner KernelSVC sparse 1200", sparse)


def calibrated(n: int) -> Results:
    X = rows(n, 3)
    model = mercer.calibrate(learners.KernelRidge()).fit(X, np.sin(X[:, 0]))
    return {"predict": model.predict(X), "interval": model.predict_interval(X)}


def tested(n: int) -> Results:
    return {
        "result": list(mercer.stats.mmd_test(rows(n, 2), rows(n, 2, seed=1), permutations=50))[:2]
    }


def explained(n: int) -> Results:
    X = rows(n, 4)
    model = learners.KernelSVC("gaussian(1)").fit(X, X[:, 0] > X[:, 1] ** 2)
    sampled = mercer.explain_rows(model, X[:3], X, method="sampled", walks=10)
    return {"exact": mercer.explain_rows(model, X).values, "sampled": sampled.values}


def independence(n: int) -> Results:
    x = rows(n, 1)
    return {"result": list(mercer.stats.hsic_test(x, x**2, permutations=50))[:2]}


def changes(n: int) -> Results:
    series = rows(n, 1) + np.repeat([0.0, 1.0], n // 2)[:, None]
    return {"result": mercer.stats.change_points(series, permutations=50).pvalues}


# --- maps ----------------------------------------------------------------------------------------

MAPS: dict[str, tuple[dict[str, Any], ...]] = {
    "ExplicitMap": ({"kernel": "polynomial(2, 1)"},),
    "NystromMap": ({}, {"centers": "leverage"}, {"centers": "greedy"}, {"centers": "kmeans++"}),
    "PolarMap": ({},),
    "PolynomialMap": ({"degree": 2, "offset": 1.0},),
    "PowersMap": ({"degree": 3},),
    "RandomFourierMap": ({}, {"kernel": "matern(1.5, 2)", "orthogonal": True}),
    "TaylorGaussianMap": ({"degree": 3},),
    "TensorSketchMap": ({},),
}


def of_maps() -> Iterator[Probe]:
    for name, settings in MAPS.items():
        for options in settings:
            said = " ".join(f"{k}={v}" for k, v in options.items())
            for size, (n, columns) in SIZES.items():

                def run(
                    name: str = name, o: Any = options, n: int = n, c: int = columns
                ) -> Results:
                    return found(getattr(maps, name)(**o).fit(rows(n, c)), rows(n, c, seed=1))

                yield Probe(" ".join(filter(None, ("map", name, said, size))), run)
    for size, n in (("small", 40), ("medium", 200), ("large", 700)):

        def repaired(n: int = n) -> Results:
            X = rows(n, 4)
            return {"K": maps.SpectrumRepair().fit_transform(kernels.parse("sigmoid(1, 0)")(X))}

        def glyphs(n: int = n) -> Results:
            return {
                "F": maps.GlyphFeatures(shape=(8, 8)).fit_transform(mercer.data.digits()[0][:n])
            }

        def letters(n: int = n) -> Results:
            return {"F": maps.EmailFeatures().fit_transform(mercer.data.mail(n)[0])}

        yield Probe(f"map SpectrumRepair {size}", repaired)
        yield Probe(f"map GlyphFeatures {size}", glyphs)
        yield Probe(f"map EmailFeatures {size}", letters)


# --- bits ----------------------------------------------------------------------------------------


def probes(patterns: list[str]) -> list[Probe]:
    """Those whose names match one of the patterns, from beginning to end."""
    every = (*of_kernels(), *of_learners(), *of_maps())
    return [p for p in every if any(re.fullmatch(pattern, p.name) for pattern in patterns)]


def arrays(value: Any) -> Iterator[np.ndarray]:
    if scipy.sparse.issparse(value):
        value = (value.tocsr().indptr, value.tocsr().indices, value.tocsr().data)
    if isinstance(value, list | tuple):
        for part in value:
            yield from arrays(part)
    else:
        yield np.ascontiguousarray(value)


def bits(value: Any) -> str:
    """A hash of the shape, the type and every bit."""
    digest = hashlib.sha256()
    for array in arrays(value):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return digest.hexdigest()[:16]


def run(probe: Probe) -> Results:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return probe.run()
