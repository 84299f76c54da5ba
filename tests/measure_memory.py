"""What a call takes beyond what was there: ``python tests/measure_memory.py ridge 200 8000``.

``python tests/measure_memory.py all 10000 0`` measures all cases under all limits.

The case runs once, so that libraries and compiled loops are loaded (LLVM takes some 100 MB), and
once more to be measured, on so many rows within a limit of so many MB. Printed is the growth of
resident memory (its peak, less what was there before the call) as a share of the limit, or
the sentence of a refusal.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import mercer

M_MMAP_THRESHOLD = -3
#: Megabytes and rows that every case is measured with, and the share that it may take.
LIMITS = [(100, 5000), (200, 8000), (400, 12_000)]
MOST = 1.1


def learner(name, predict="predict", **options):
    def run(X, y):
        labels = name.endswith(
            ("Classifier", "Discriminant", "SVC", "LogisticRegression", "Perceptron")
        )
        model = getattr(mercer, name)("gaussian(3)", **options)
        target = (y > 0).astype(int) if labels else y
        model = model.fit(X) if name == "KernelOneClass" else model.fit(X, target)
        getattr(model, predict)(X[: len(X) // 4])

    return run


def feature_map(name, **options):
    return lambda X, y: getattr(mercer.maps, name)(**options).fit(X).transform(X[: len(X) // 4])


def matrix(action):
    return lambda X, y: action(mercer.Gaussian(3.0), X, y)


@cache
def wide(rows):
    return np.random.default_rng(1).random((rows, 1500))


@cache
def sparse(rows):
    return csr_array(np.where(wide(rows) < 0.05, 1.0, 0.0))


def fitting(X, y, matrices):
    """As many rows as so many matrices of k between them fit into the memory limit."""
    n = int((mercer.get_config().memory_bytes / (8 * matrices)) ** 0.5)
    return X[:n], y[:n]


def templates(X, y):
    images = wide(len(X))[: len(X) // 4, :100]
    mercer.DeformableTemplateClassifier(shape=(10, 10)).fit(images, y[: len(images)] > 0)


@cache
def letters(rows):
    return [
        "".join(np.array(list("acgt"))[(10 * row).astype(int) % 4]) for row in wide(rows)[:, :20]
    ]


CASES = {
    "ridge": learner("KernelRidge"),
    "ridge-cg": learner("KernelRidge", solver="cg", max_iter=20, tol=1e-2),
    "ridge-classifier": learner("KernelRidgeClassifier"),
    "svc": learner("KernelSVC"),
    "svr": learner("KernelSVR"),
    "one-class": learner("KernelOneClass", nu=0.1),
    "logistic": learner("KernelLogisticRegression"),
    "perceptron": learner("KernelPerceptron"),
    "neighbors": learner("KernelNeighborsRegressor", n_neighbors=50),
    "kneighbors": learner("KernelNeighborsRegressor", "kneighbors", n_neighbors=1500),
    "radius": learner("KernelNeighborsRegressor", "radius_neighbors", radius=1.35),
    "radius-mean": learner("KernelNeighborsRegressor", radius=1.35),
    "centroid": learner("KernelCentroidClassifier"),
    "smoother": learner("NadarayaWatsonRegressor"),
    "smoother-classifier": learner("NadarayaWatsonClassifier"),
    "local-linear": learner("LocalLinearRegressor", bandwidth=2.0),
    "pca": learner("KernelPCA", "transform", n_components=10),
    "kmeans": learner("KernelKMeans", n_clusters=4, n_init=2, max_iter=4),
    "spectral": learner("SpectralClustering", n_clusters=2),
    "fisher": learner("KernelFisherDiscriminant", tol=0.1, max_iter=20),
    "quantiles": learner("KernelQuantileRegressor"),
    "neighbors-classifier": learner("KernelNeighborsClassifier", "predict_proba"),
    "process": learner("GaussianProcessRegressor"),
    "process-classifier": lambda X, y: learner("GaussianProcessClassifier")(X[:1000], y[:1000]),
    "primal-perceptron": lambda X, y: mercer.Perceptron().fit(X, y > 0).predict(X),
    "density": learner("KernelDensity", "score_samples", bandwidth=1.0),
    "reasons": lambda X, y: mercer.explain_rows(
        mercer.KernelExpansion("gaussian(3)", X[:300], y[:300]), X, X[:20]
    ),
    "nystrom-map": feature_map("NystromMap", kernel="gaussian(3)", n_components=300),
    "fourier-map": feature_map("RandomFourierMap", n_components=300),
    "polynomial-map": feature_map("PolynomialMap", degree=2),
    "cubic-map": feature_map("PolynomialMap", degree=3),
    "powers-map": feature_map("PowersMap", degree=4),
    "taylor-map": feature_map("TaylorGaussianMap", sigma=3.0, degree=3),
    "sketch-map": feature_map("TensorSketchMap", n_components=512, degree=3),
    "explicit-map": feature_map("ExplicitMap", kernel="polynomial(3)"),
    "templates": templates,
    "product": matrix(lambda k, X, y: k.gram(X) @ y),
    "product-of-many": matrix(lambda k, X, y: k.gram(X) @ X),
    "dense": matrix(lambda k, X, y: k.gram(X[: len(X) // 3]).dense()),
    "features": lambda X, y: mercer.Polynomial(3).features(X),
    "features-of-sum": lambda X, y: (mercer.Polynomial(2) + mercer.Linear()).features(X),
    "letters": lambda X, y: mercer.Spectrum(3).gram(letters(len(X))) @ y,
    "wide": lambda X, y: mercer.Gaussian(9.0).warp("sqrt").gram(wide(len(X))) @ y,
    "wide-normalized": lambda X, y: mercer.Polynomial(2).normalized().gram(wide(len(X))) @ y,
    "wide-unit": lambda X, y: mercer.Cosine().gram(wide(len(X))) @ y,
    "wide-columns": lambda X, y: mercer.Gaussian(9.0).on(range(1200)).gram(wide(len(X))) @ y,
    "wide-scaled": lambda X, y: mercer.Gaussian(np.full(1500, 9.0)).gram(wide(len(X))) @ y,
    "sparse": lambda X, y: mercer.Gaussian(3.0).gram(sparse(len(X))) @ y,
    "posterior": lambda X, y: (
        mercer.KernelRidge("gaussian(3)").fit(X, y).predict(X[:500], return_std=True)
    ),
    "process-exact": lambda X, y: mercer.GaussianProcessRegressor(
        "gaussian(3)", solver="exact", max_iter=2
    ).fit(*fitting(X, y, 1.2)),
    "posterior-exact": lambda X, y: (
        mercer.KernelRidge("gaussian(3)", solver="cholesky")
        .fit(*fitting(X, y, 1.5))
        .predict(X, return_std=True)
    ),
    "warped": matrix(lambda k, X, y: k.warp("tanh").gram(X) @ y),
    "reweighted": matrix(lambda k, X, y: k.reweight("norm").gram(X) @ y),
    "on-columns": matrix(lambda k, X, y: k.on([0, 1, 2]).gram(X) @ y),
    "normalized": matrix(lambda k, X, y: (k + 1.0).normalized().gram(X) @ y),
}


def resident(name):
    """A line of /proc/self/status in bytes: VmRSS now, VmHWM at its peak."""
    with open("/proc/self/status") as stream:
        line = next(line for line in stream if line.startswith(name))
    return 1024 * int(line.split()[1])


def main(case, megabytes, rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20))
    y = X[:, 0] + 0.3 * rng.normal(size=rows)
    mercer.set_config(memory=f"{megabytes}MB", progress=False)
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 2**16)  # so that what is freed is given back
    with suppress(ValueError, MemoryError):
        CASES[case](X, y)
    libc.malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")  # the peak starts anew
    before, started, told = resident("VmRSS"), time.perf_counter(), ""
    try:
        CASES[case](X, y)
    except (ValueError, MemoryError) as error:
        told = str(error)
    share = (resident("VmHWM") - before) / (1e6 * megabytes)
    seconds = time.perf_counter() - started
    print(json.dumps({"case": case, "share": share, "seconds": seconds, "refused": told}))


def measured(case, megabytes, rows):
    """What `main` prints, of a process of its own."""
    path = os.pathsep.join(
        [str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    )
    run = subprocess.run(
        [sys.executable, __file__, case, str(megabytes), str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    if run.returncode:
        return {"case": case, "problem": run.stderr[-2000:], "seconds": 0.0}
    found = json.loads(run.stdout.splitlines()[-1])
    if found["share"] > MOST or (found["refused"] and "limit" not in found["refused"]):
        found["problem"] = f"{megabytes} MB, {rows} rows: {found}"
    return found


def report(count, seed=0):
    """All cases under all limits, or so many of these, as the fuzzers report.

    Other thousands of the seed measure those that follow.
    """
    from fuzzing import turns

    runs = [(case, *limit) for limit in LIMITS for case in CASES]
    runs = runs[seed // 1000 * count :][:count]
    found = [measured(*runs[number]) for number in turns(len(runs))]
    refused = sum(bool(one.get("refused")) for one in found)
    problems = [f"memory, {one['case']}: {one['problem']}" for one in found if "problem" in one]
    seconds = [round(one["seconds"], 1) for one in found]
    outcomes = {"accepted": len(found) - refused, "refused": refused}
    times = {"seconds": round(sum(seconds)), "slowest": max(seconds, default=0.0)}
    print(
        json.dumps(
            {"outcomes": outcomes, "problems": problems, "n_problems": len(problems), **times}
        )
    )


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    if sys.argv[1] == "all":
        report(*map(int, sys.argv[2:4]))
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
