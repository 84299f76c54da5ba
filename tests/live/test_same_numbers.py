"""mercer.js against the library: the same scores to 1e-9, the same visits and mistakes."""

import itertools
import json
import shutil
import subprocess
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import mercer
from mercer.formula import NotRenderable
from mercer.live import kernel_for_page, script
from mercer.testing import vector_kernels

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node is not installed: nothing runs the page's script"
)
CLOSE = 1e-9
# ruff: noqa: E501  (scripts)
#: Reads a list of jobs, and answers each by one function of the script.
RUN = """
const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(jobs.map((job) => {
  try { return answer(job); } catch (error) { return {error: error.message}; }
})));
"""
LEARN = """
function answer(job) {
  const model = learners_js.learn(learners_js.kernelOf(job.kernel, []), {...job, tol: 1e-13}), t = model.trace, list = (v) => [...v];
  return {scores: model.scores(Float64Array.from(job.Q), job.Q.length / job.width).map(list), coef: model.coef?.map(list), b: model.b, parts: model.parts?.map(list),
    trace: t && {index: list(t.index), update: list(t.update), norm: list(t.norm), mistakes: list(t.mistakes)}};
}
"""
CURVE = """
function answer(job) {
  const found = learners_js.curve(learners_js.kernelOf(job.kernel, []), job, Float64Array.from(job.grid));
  return {mean: [...found.mean], half: [...found.half]};
}
"""
NUMBERS = """
function answer(job) {
  const kernel = learners_js.kernelOf(job.kernel, []), X = mercer_js.prepared(kernel, Float64Array.from(job.X), job.width), n = job.X.length / job.width, K = mercer_js.gram(kernel, X, X, n, n);
  const found = {K: [...K], places: [...mercer_js.kernelPCA(K, n, 3).places], values: [...mercer_js.eigen(K, n).values], order: new mercer_js.Random(7).permutation(n)};
  if (job.t) { const Q = mercer_js.prepared(kernel, Float64Array.from(job.Q), job.width), rows = job.Q.length / job.width, k = mercer_js.gram(kernel, Q, X, rows, n), own = mercer_js.diagonal(kernel, Q, rows);
    const gp = mercer_js.process(K, Float64Array.from(job.t), job.noise);
    found.gp = {mean: [...mercer_js.expanded(gp, k, rows)[0]], variance: [...own].map((v, i) => gp.variance(k.slice(i * n, (i + 1) * n), v)), evidence: gp.evidence}; }
  return found;
}
"""


def in_browser(answer, jobs):
    """The same script in a page of Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not (chromium and find_spec("playwright")):
        pytest.skip("Playwright or Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        each = "jobs.map((job) => { try { return answer(job); } catch (e) { return {error: e.message}; } })"
        found = []
        for start in range(0, len(jobs), 500):
            code = f"(jobs) => {{ {script('learners')}\n{answer}\nreturn JSON.stringify({each}); }}"
            found += json.loads(page.evaluate(code, jobs[start : start + 500]))
        browser.close()
    return found


def in_node(answer, jobs, first="learners"):
    code = script(first) + answer + RUN
    done = subprocess.run(
        [NODE, "-e", code], input=json.dumps(jobs), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def perceptron(averaging):
    return lambda k, rng: (
        {"epochs": int(rng.randint(1, 9))},
        lambda o: mercer.KernelPerceptron(
            k, epochs=o["epochs"], averaging=averaging, random_state=0
        ),
    )


#: Options at random, and the library's learner for them.
LEARNERS = {
    "perceptron": perceptron("last"),
    "averaged": perceptron("average"),
    "voted": perceptron("vote"),
    "svm": lambda k, rng: (
        {"C": float(10 ** rng.uniform(-1, 1.5))},
        lambda o: mercer.KernelSVC(k, C=o["C"], tol=1e-13),
    ),
    "ridge": lambda k, rng: (
        {"alpha": float(10 ** rng.uniform(-2, 1))},
        lambda o: mercer.KernelRidgeClassifier(k, alpha=o["alpha"]),
    ),
    "logistic": lambda k, rng: (
        {"alpha": float(10 ** rng.uniform(-2, 1))},
        lambda o: mercer.KernelLogisticRegression(k, alpha=o["alpha"], tol=1e-15),
    ),
    "process": lambda k, rng: (
        {"variance": float(rng.uniform(0.5, 20))},
        lambda o: mercer.GaussianProcessClassifier(o["variance"] * k, optimizer=None),
    ),
    "smoother": lambda k, rng: ({}, lambda o: mercer.NadarayaWatsonClassifier(k, bandwidth=1.0)),
    "neighbors": lambda k, rng: (
        {"n_neighbors": int(rng.randint(1, 6))},
        lambda o: mercer.KernelNeighborsClassifier(k, n_neighbors=o["n_neighbors"]),
    ),
    "centroid": lambda k, rng: ({}, lambda o: mercer.KernelCentroidClassifier(k)),
}
#: Learners whose problem has one solution only where k is a kernel.
CONVEX = ("svm", "logistic", "process")


def written():
    """Kernels with a formula that a page can compute, on three columns."""
    found = []
    for k in vector_kernels(3):
        try:
            found.append((k, kernel_for_page(k, repr(k), [])))
        except NotRenderable:
            assert "FromFeatures" in repr(k)  # a Python function
    return found


def problem(rng):
    n, classes = int(rng.randint(8, 34)), int(rng.randint(2, 4))
    X = np.round(rng.uniform(0.05, 1.5, (n, 3)), 4)
    y = np.r_[np.arange(classes), rng.randint(0, classes, n - classes)]
    return X, y, rng.uniform(0.05, 1.5, (5, 3))


def scores(model, Q):
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(Q)).reshape(len(Q), -1).T
    shares = model.predict_proba(Q)
    return (shares[:, 1:] - shares[:, :1] if shares.shape[1] == 2 else shares).T


def compare(states, seed, run):
    """One learner per state and kernel, in turn; what differs, and how many were equal."""
    rng, jobs, expected = np.random.RandomState(seed), [], []
    turn = itertools.cycle(LEARNERS)
    kernels = written()
    for _ in range(states):
        X, y, Q = problem(rng)
        next(turn)  # so that a kernel meets another learner in the next state
        for k, spec in kernels:
            name = next(turn)
            if name in CONVEX and k.claim(3).holds is not True:
                continue
            options, make = LEARNERS[name](k, rng)
            trace, model = None, make(options)
            try:
                with warnings.catch_warnings(action="ignore"):
                    trace = (
                        model.trace(X, y) if name in ("perceptron", "averaged", "voted") else None
                    )
                    model = trace.model if trace is not None else model.fit(X, y)
                    f = scores(model, Q)
            except ValueError:
                f = None  # the library refuses it, and so must the page
            jobs.append({"kernel": spec, "learner": name, "options": options, "width": 3,
                         "X": X.ravel().tolist(), "y": y.tolist(), "Q": Q.ravel().tolist()})  # fmt: skip
            expected.append((repr(k), X, y, k, f, trace))
    wrong = []
    for job, found, (k, X, y, kernel, f, trace) in zip(
        jobs, run(LEARN, jobs), expected, strict=True
    ):
        where = f"{job['learner']} {job['options']} {k}"
        if f is None or "error" in found:
            if f is not None or "error" not in found:
                wrong.append(f"{where}: only one of the two refuses: {found.get('error')}")
            continue
        apart = np.abs(np.array(found["scores"]) - f).max() / max(1.0, np.abs(f).max())
        if job["learner"] == "logistic":  # the library stops at the root of its tolerance
            apart = max(apart / 1e3, slope(kernel, X, y, job["options"]["alpha"], found))
        if job["learner"] == "svm" and not apart < CLOSE:  # b is free where no α is
            apart = worse(kernel, X, y, job["options"]["C"], found)
        if not apart < CLOSE:
            wrong.append(f"{where}: {apart:.1e}")
        if trace is not None and not same_visits(trace, found["trace"]):
            wrong.append(f"{where}: other visits")
    return wrong, len(jobs) - len(wrong)


def slope(kernel, X, y, alpha, found):
    """The derivative of logistic regression's objective where the page ended."""
    a, b, K = np.array(found["coef"]).T, np.array(found["b"]), np.asarray(kernel(X))
    f = K @ a + b
    if a.shape[1] == 1:
        rest = (y == 1)[:, None] - 1 / (1 + np.exp(-f))
    else:
        e = np.exp(f - f.max(axis=1, keepdims=True))
        rest = (y[:, None] == np.arange(a.shape[1])) - e / e.sum(axis=1, keepdims=True)
    size = max(1.0, np.abs(K).max()) * len(y)
    return max(np.abs(K @ (rest - alpha * a)).max(), np.abs(rest.sum(axis=0)).max()) / size


def worse(kernel, X, y, C, found):
    """By how much the objectives of the page's machines, one per pair, are above the library's."""
    pairs = list(itertools.combinations(np.unique(y), 2))
    above = []
    for (first, second), coef, b in zip(pairs, found["parts"], found["b"], strict=True):
        rows = (y == first) | (y == second)
        t, K, a = np.where(y[rows] == second, 1.0, -1.0), kernel(X[rows]), np.array(coef)[rows]
        model = mercer.KernelSVC(kernel, C=C, tol=1e-13).fit(X[rows], t)
        own = np.zeros(len(t))
        own[model.support_] = np.ravel(model.expansion_.coef)

        def objective(a, f, K=K, t=t):
            return 0.5 * a @ K @ a + C * np.maximum(0.0, 1.0 - t * f).sum()

        least = objective(own, np.ravel(model.decision_function(X[rows])))
        above.append(objective(a, K @ a + b) / least - 1.0)
    return max(map(abs, above))


def same_visits(trace, found):
    return (
        np.array_equal(trace.index, found["index"])
        and np.array_equal(trace.update.ravel(), found["update"])
        and np.array_equal(trace.mistakes, found["mistakes"])
        and np.allclose(trace.squared_norm, found["norm"], rtol=CLOSE, atol=CLOSE)
    )


RUNNERS = [
    pytest.param(in_node, marks=needs_node, id="node"),
    pytest.param(in_browser, id="browser"),
]


@pytest.mark.parametrize("run", RUNNERS)
def test_learners_give_the_library_s_numbers(run):
    wrong, equal = compare(5, 0, run)
    assert not wrong, "\n".join(wrong)
    assert equal > 200


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNNERS)
def test_learners_give_the_library_s_numbers_on_two_hundred_states(run):
    wrong, equal = compare(200, 1, run)
    assert not wrong, f"{len(wrong)} differ, {equal} do not\n" + "\n".join(wrong[:40])


@needs_node
def test_gram_matrices_processes_and_kernel_pca():
    rng, jobs, expected = np.random.RandomState(2), [], []
    for k, spec in written():
        X, _, Q = problem(rng)
        job = {"kernel": spec, "X": X.ravel().tolist(), "Q": Q.ravel().tolist(), "width": 3}
        gp = None
        if k.claim(3).holds is True:
            t = rng.normal(size=len(X))
            noise = float(rng.uniform(0.1, 1.0))
            job |= {"t": t.tolist(), "noise": noise}
            gp = mercer.GaussianProcessRegressor(k, noise, optimizer=None, normalize_y=False).fit(
                X, t
            )
            gp = (*gp.latent_mean_and_variance(Q), gp.log_marginal_likelihood_value_)
        jobs.append(job)
        expected.append((k, X, gp))
    for found, (k, X, gp) in zip(in_node(NUMBERS, jobs), expected, strict=True):
        n, K = len(X), np.asarray(k(X))
        size = max(1.0, np.abs(K).max())
        assert "error" not in found, (k, found)
        assert np.abs(np.array(found["K"]).reshape(n, n) - K).max() < 1e-12 * size, k
        assert (
            np.abs(np.array(found["values"]) - np.linalg.eigvalsh(K)[::-1]).max() < 1e-12 * n * size
        ), k
        assert found["order"] == np.random.RandomState(7).permutation(n).tolist()
        if gp is not None:
            # Signs of axes are arbitrary: products are compared.
            places = np.array(found["places"]).reshape(n, 3)
            centered = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
            values, vectors = np.linalg.eigh(centered)
            if values[-3] - values[-4] > 1e-6 * size:
                kept = vectors[:, -3:] * np.sqrt(np.maximum(values[-3:], 0.0))
                assert np.abs(places @ places.T - kept @ kept.T).max() < CLOSE * n * size, k
            mean, variance, evidence = gp
            assert np.abs(np.array(found["gp"]["mean"]) - mean).max() < CLOSE * size, k
            assert np.abs(np.array(found["gp"]["variance"]) - variance).max() < CLOSE * size, k
            assert abs(found["gp"]["evidence"] - evidence) < 1e-8 * max(1.0, abs(evidence)), k


JUDGES = """
function answer(job) {
  const judges = new judges_js.Judges(job.images, job.labels), plain = (list) => list.map((one) => ({...one, voters: one.voters.map((v) => [v.label, v.weight])}));
  return [plain(judges.answers(job.drawings)), plain(judges.answers([job.drawings[1]]))];
}
"""


@needs_node
def test_the_judges_of_digits_are_the_library_s():
    from mercer.lab.compute.digits import JUDGES as LEARNERS
    from mercer.lab.compute.digits import LEARNED, training

    X, labels = training()
    y = np.array(list(labels), dtype=int)
    Q = np.asarray(mercer.data.digits().X)[LEARNED : LEARNED + 60]
    job = {"images": X.ravel().tolist(), "labels": labels, "drawings": Q.tolist()}
    (many, one), *_ = in_node(JUDGES, [job], "judges")
    assert {v["name"] for v in many} == {"perceptron", "svm", "tangent"}
    for found, (entry, kernel) in zip(many, LEARNERS, strict=True):
        model = entry.make(kernel, {}).fit(X, y)
        assert found["said"] == model.predict(Q).tolist(), found["name"]
    far, near = model.kneighbors(Q[1:2], n_neighbors=8)
    voters = one[2]["voters"]
    assert [v[0] for v in voters] == y[near[0]].tolist()
    np.testing.assert_allclose([v[1] for v in voters], far[0], rtol=1e-9)
    first = LEARNERS[0][0].make(LEARNERS[0][1], {}).fit(X, y)
    shares = np.sort(first.expansion_.contributions(Q[1:2])[:, one[0]["said"][0]])
    weights = [v[1] for v in one[0]["voters"]]
    np.testing.assert_allclose(weights, [*shares[::-1][:4], *shares[:4]], rtol=1e-9)


TABLE = """
function answer(job) { return tables_js.principal(job.columns); }
"""


@needs_node
def test_a_table_is_projected_as_the_library_does():
    X = np.random.default_rng(0).normal(size=(30, 4)) @ np.diag([3.0, 1.0, 0.2, 0.1])
    (found,) = in_node(TABLE, [{"columns": X.T.tolist()}], "tables")
    places = np.array(found).reshape(-1, 2)
    Z = (X - X.mean(0)) / X.std(0)
    expected = mercer.KernelPCA("linear()", n_components=2).fit_transform(Z)
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-9)


@needs_node
@pytest.mark.parametrize("seed", range(3))
def test_curves_and_their_bands(seed):
    from mercer.lab.compute.curves import CurveState, _band

    rng = np.random.RandomState(seed)
    x, grid = np.sort(rng.uniform(0, 10, 40)), np.linspace(0, 10, 23)
    y = np.sin(x) + 0.3 * rng.normal(size=40)
    jobs, expected = [], []
    for text, learner, options in (
        ("gaussian(1)", "ridge", {"alpha": 0.2}),
        ("polynomial(3,1)", "ridge", {"alpha": 0.5}),
        ("gaussian()", "nadaraya", {"bandwidth": 0.4}),
        ("laplacian(1)", "nadaraya", {"bandwidth": 0.7}),
        ("gaussian()", "local", {"bandwidth": 0.8}),
    ):
        given = {"kernel": text, "learner": learner, "options": options, "source": None}
        state = CurveState.read(given | {"x": x.tolist(), "y": y.tolist()})
        spec = kernel_for_page(state.parsed, text, [])
        jobs.append({"kernel": spec, "learner": learner, "options": options, "x": x.tolist(),
                     "y": y.tolist(), "grid": grid.tolist()})  # fmt: skip
        K = np.asarray(state.parsed(x[:, None])) + options.get("alpha", 0.0) * np.eye(40)
        lost = np.finfo(float).eps * (np.linalg.cond(K) if learner == "ridge" else 0.0)
        expected.append((text, learner, lost, _band(state, state.fit(), grid[:, None])))
    for found, (text, learner, lost, (mean, _, high)) in zip(
        in_node(CURVE, jobs), expected, strict=True
    ):
        assert "error" not in found, found
        # Two ways to solve ill-conditioned equations differ by their condition, at most.
        within = max(CLOSE, 4 * lost)
        assert np.abs(np.array(found["mean"]) - mean).max() < within, (text, learner)
        half = np.array([np.inf if v is None else v for v in found["half"]])
        assert np.allclose(half, high - mean, rtol=0, atol=10 * within), (text, learner)
