"""Shapley values against all 2^d subsets, the axioms, and every kind of model and row."""

import itertools
import math

import numpy as np
import pytest

import mercer
from mercer.reasons.factors import NotFactored

KERNELS = [
    "gaussian(1.3)",
    "gaussian([1, 2, 0.5, 1, 3, 1])",
    "laplacian(0.4, norm=1)",
    "linear()",
    "polynomial(2)",
    "polynomial(3, offset=1)",
    "anova(2)",
    "anova(3, sigma=2)",
    "anova(2).polynomial([1, 2, 3])",
    "bspline(3, width=2)",
    "periodic(3)",
    "chi_squared(0.5)",
    "intersection()",
    "hamming()",
    "delta()",
    "gaussian(1) + 2*linear()",
    "gaussian(1) * linear()",
    "gaussian(1) - 0.5*laplacian(1, norm=1)",
    "gaussian(1).on([0, 1]) * laplacian(1, norm=1).on([2, 3]) + linear().on([4, 5])",
    "(gaussian(1) + 1) * (linear() + 2)",
    "(0.1 * linear()).exp()",
    "gaussian(2) ** 2",
    "gaussian(1).normalized()",
    "linear() / 3",
]
WHOLE = ("hamming", "delta")


def shapley(f, X, background, owner):
    """By the definition: all subsets of parts, each with its weight."""
    owner, p = np.asarray(owner), max(owner) + 1
    worth = {}
    for size in range(p + 1):
        for S in itertools.combinations(range(p), size):
            rows = np.where(np.isin(owner, S), X[:, None], background[None])
            scores = np.asarray(f(rows.reshape(-1, X.shape[1])), dtype=float)
            worth[S] = scores.reshape(len(X), len(background), -1).mean(axis=1)
    values = np.zeros((len(X), p, worth[()].shape[1]))
    for S, before in worth.items():
        weight = math.factorial(len(S)) * math.factorial(p - len(S) - 1) if len(S) < p else 0
        for j in set(range(p)) - set(S):
            after = worth[tuple(sorted((*S, j)))]
            values[:, j] += weight / math.factorial(p) * (after - before)
    return values, worth[()]


def problem(kernel, seed=0, d=6, outputs=2):
    random = np.random.default_rng(seed)
    X, background, Z = (random.uniform(0.1, 2.0, (n, d)) for n in (3, 5, 7))
    if kernel.startswith(WHOLE):
        X, background, Z = (np.floor(rows) for rows in (X, background, Z))
    coef, b = random.normal(size=(7, outputs)), random.normal(size=outputs)
    return mercer.KernelExpansion(mercer.parse(kernel), Z, coef, b), X, background


def groups_of(owner):
    return {f"g{i}": [j for j, own in enumerate(owner) if own == i] for i in set(owner)}


@pytest.mark.parametrize(
    "owner", [(0, 1, 2, 3, 4, 5), (0, 0, 1, 2, 1, 2)], ids=["single", "groups"]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_exact_values_are_those_of_all_subsets(kernel, owner):
    f, X, background = problem(kernel)
    found = mercer.explain_rows(f, X, background, groups_of(owner), method="exact")
    values, base = shapley(f, X, background, owner)
    scale = max(1.0, np.abs(f(X)).max())
    assert found.values.shape == (3, max(owner) + 1, 2)
    assert np.abs(found.values - values).max() < 1e-10 * scale
    assert np.abs(found.base_values - base).max() < 1e-10 * scale
    assert found.error < 1e-10 * scale


@pytest.mark.parametrize("width", [0.3, 1.0, 30.0])
def test_ten_columns_by_every_rule(width):
    """Narrow kernels take all nodes of the rule, wide ones few."""
    f, X, background = problem(f"gaussian({width})", d=10, outputs=1)
    found = mercer.explain_rows(f, X, background, method="exact")
    values, _ = shapley(f, X, background, range(10))
    assert np.abs(found.values - values[:, :, 0]).max() < 1e-12


def test_a_factor_of_zero_is_no_division_by_zero():
    f, X, background = problem("bspline(1)", seed=3)
    X[0] += 10.0  # out of the support of every point
    found = mercer.explain_rows(f, X, background, method="exact")
    assert np.abs(found.values - shapley(f, X, background, range(6))[0]).max() < 1e-12


def test_columns_that_are_drawn_by_themselves():
    f, X, background = problem("gaussian(1.5)", outputs=1)
    every = np.stack(np.meshgrid(*background[:2].T), axis=-1).reshape(-1, 6)
    alone = mercer.explain_rows(f, X, background[:2], reading="independent")
    assert np.abs(alone.values - shapley(f, X, every, range(6))[0][:, :, 0]).max() < 1e-10


@pytest.mark.parametrize("kernel", ["gaussian(1.5)", "linear() + gaussian(1)", "bspline(3)"])
def test_columns_that_are_removed_from_the_kernel(kernel):
    f, X, _ = problem(kernel, d=3, outputs=1)
    empty = 1.0 * f.coef.sum()  # a Gaussian or a product of no columns is 1, a linear kernel 0
    total = np.zeros((3, 3))
    for order in itertools.permutations(range(3)):
        before = np.full(3, empty)
        for size in (1, 2, 3):
            on = f.kernel.on(sorted(order[:size]))
            after = mercer.KernelExpansion(on, f.points, f.coef[:, 0])(X)
            total[:, order[size - 1]] += (after - before) / 6
            before = after
    found = mercer.explain_rows(f, X, X, reading="removed")
    assert np.abs(found.values - total).max() < 1e-10
    assert np.abs(found.base_values - empty - f.intercept).max() < 1e-10


@pytest.mark.parametrize("seed", range(5))
def test_axioms_on_random_problems(seed):
    random = np.random.default_rng(seed)
    kernel = ["gaussian(1.2)", "anova(2)", "laplacian(norm=1)", "polynomial(2)"][seed % 4]
    f, X, background = problem(kernel, seed=seed, d=5, outputs=1)
    found = mercer.explain_rows(f, X, background)
    assert np.abs(found.scores - f(X)[:, 0]).max() < 1e-10  # efficiency
    # Null: a column in which the row and all of the background agree.
    j = int(random.integers(5))
    background[:, j] = X[:, j] = 0.7
    assert np.abs(mercer.explain_rows(f, X, background).values[:, j]).max() < 1e-12
    # Symmetry: two columns that are the same everywhere.
    f.points[:, 1], X[:, 1], background[:, 1] = f.points[:, 0], X[:, 0], background[:, 0]
    twins = mercer.explain_rows(f, X, background).values
    assert np.abs(twins[:, 0] - twins[:, 1]).max() < 1e-12
    # Linearity in the coefficients.
    g = mercer.KernelExpansion(f.kernel, f.points, random.normal(size=7))
    both = mercer.KernelExpansion(f.kernel, f.points, f.coef[:, 0] + g.coef)
    sums = [mercer.explain_rows(h, X, background).values for h in (f, g, both)]
    assert np.abs(sums[0] + sums[1] - sums[2]).max() < 1e-12


def test_without_compiled_loops_the_values_are_the_same(monkeypatch):
    from mercer.reasons import exact

    f, X, background = problem("gaussian(1.3)")
    compiled = mercer.explain_rows(f, X, background).values
    monkeypatch.setattr(exact, "compiles", lambda: False)
    assert np.abs(mercer.explain_rows(f, X, background).values - compiled).max() < 1e-14


def test_what_does_not_factor_says_why_and_is_sampled_with_its_error():
    f, X, background = problem("rational_quadratic(1)", outputs=1)
    with pytest.raises(NotFactored, match="several columns"):
        mercer.explain_rows(f, X, background, method="exact")
    found = mercer.explain_rows(f, X, background, walks=400)
    assert found.method == "sampled"
    assert "not exact" in found.note
    assert "sampled" in repr(found)
    true = shapley(f, X, background, range(6))[0][:, :, 0]
    off = np.abs(found.values - true) / found.error
    assert found.error.shape == true.shape
    assert off.max() < 5.0
    assert off.mean() < 1.5
    assert np.abs(found.scores - f(X)[:, 0]).max() < 1e-10


@pytest.mark.parametrize(
    "kernel",
    ["rational_quadratic(1)", "polynomial(4, offset=1)", "gaussian([1, 2, 0.5, 1, 3, 1])",
     "matern(2.5).on([0, 2]) + linear().on([1, 2])", "linear().normalized()"],
)  # fmt: skip
def test_gradients_add_up_and_are_derivatives(kernel):
    from mercer.reasons.slopes import gradient

    f, X, background = problem(kernel, outputs=2)
    found = mercer.explain_rows(f, X, background, method="gradients")
    start = f(background.mean(axis=0)[None])
    assert np.abs(found.values.sum(axis=1) - (f(X) - start)).max() < 1e-7
    slopes, h = gradient(f, X), 1e-5
    for j in range(6):
        step = np.eye(6)[j] * h
        numeric = (f(X + step) - f(X - step)) / (2 * h)
        assert np.abs(slopes[:, j] - numeric).max() < 1e-6


# --- models ------------------------------------------------------------------------------------


def fitted(model, classes=2):
    random = np.random.default_rng(1)
    X = random.normal(size=(90, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, np.linspace(0, 1, classes)[:-1])
    return model.fit(X, y), X


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelSVC("gaussian(1)"),
        mercer.KernelSVR("gaussian(1)"),
        mercer.KernelOneClass("gaussian(1)"),
        mercer.KernelRidge("gaussian(1)", alpha=0.1),
        mercer.KernelRidge("polynomial(2)", alpha=0.1),
        mercer.KernelRidgeClassifier("laplacian(1, norm=1)"),
        mercer.KernelLogisticRegression("gaussian(1)"),
        mercer.KernelPerceptron("gaussian(1)"),
        mercer.GaussianProcessRegressor("gaussian(1)"),
        mercer.GaussianProcessClassifier("gaussian(1)"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_answers_of_models_are_explained(model):
    model, X = fitted(model)
    found = mercer.explain_rows(model, X[:6], X[:20])
    ask = getattr(model, "decision_function", model.predict)
    assert found.method == "exact"
    truth = ask(X[:6])
    assert np.abs(found.scores - truth).max() < 1e-8
    if truth.ndim == 1:
        values = shapley(ask, X[:6], X[:20], range(4))[0][:, :, 0]
        assert np.abs(found.values - values).max() < 1e-8


def test_pairs_of_classes_become_mean_margins():
    model, X = fitted(mercer.KernelSVC("gaussian(1)", decision_function_shape="ovo"), classes=4)
    found = mercer.explain_rows(model, X[:5], X[:10])

    def margins(rows):
        pairs, total = model.decision_function(rows), np.zeros((len(rows), 4))
        for p, (i, j) in enumerate(itertools.combinations(range(4), 2)):
            total[:, i] += pairs[:, p] / 3
            total[:, j] -= pairs[:, p] / 3
        return total

    assert found.output_names == ["0", "1", "2", "3"]
    assert np.abs(found.values - shapley(margins, X[:5], X[:10], range(4))[0]).max() < 1e-10


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_by_the_rescale_rule(classes):
    model, X = fitted(mercer.KernelLogisticRegression("gaussian(1)"), classes)
    found = mercer.explain_rows(model, X[:5], X[:10], output="probability")
    truth = model.predict_proba(X[:5])
    assert found.method == "exact"
    assert "probabilities" in found.definition
    assert np.abs(found.scores - (truth[:, 1] if classes == 2 else truth)).max() < 1e-9
    if classes == 2:
        scores = mercer.explain_rows(model, X[:5], X[:10])
        ratio = found.values / scores.values
        assert np.allclose(ratio, ratio[:, :1])
    else:
        assert np.abs(found.values.sum(axis=2)).max() < 1e-12  # what one class gains, others lose


def test_other_probabilities_are_sampled():
    model, X = fitted(mercer.KernelSVC("gaussian(1)", probability=True))
    found = mercer.explain_rows(model, X[:2], X[:10], output="probability", walks=20)
    assert found.method == "sampled"
    assert np.abs(found.error).max() < 0.2
    assert np.abs(found.scores - model.predict_proba(X[:2])[:, 1]).max() < 1e-12


def test_votes_are_not_taken_for_an_expansion():
    model, X = fitted(mercer.KernelPerceptron("gaussian(1)", averaging="vote"))
    found = mercer.explain_rows(model, X[:2], X[:10], walks=10)
    assert found.method == "sampled"
    assert "not those of its expansion" in found.note


# --- tables, pipelines, groups -------------------------------------------------------------------


@pytest.fixture
def table():
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, 80),
            "town": random.choice(["Ulm", "Bonn", "Kiel"], 80),
            "pay": random.normal(3, 1, 80),
        }
    )
    y = (frame.age / 10 + frame.pay + 2.0 * (frame.town == "Ulm") > 7.5).to_numpy()
    return frame, y


def pipeline(last):
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = ColumnTransformer(
        [("n", StandardScaler(), ["age", "pay"]), ("c", OneHotEncoder(), ["town"])]
    )
    return make_pipeline(columns, last)


def test_a_category_of_a_pipeline_is_one_column(table):
    frame, y = table
    model = pipeline(mercer.KernelSVC("gaussian(1)")).fit(frame, y)
    found = mercer.explain_rows(model, frame[:4], frame[:12])
    assert found.feature_names == ["age", "town", "pay"]
    assert found.method == "exact"
    asked = mercer.explain_rows(model, frame[:4], frame[:12], method="sampled", walks=300)
    assert (np.abs(found.values - asked.values) < 6 * asked.error + 1e-12).all()
    kept = mercer.explain_rows(model, frame[:20])  # against the points that the model keeps
    assert kept.method == "exact"
    assert np.abs(kept.scores - model.decision_function(frame[:20])).max() < 1e-10
    with pytest.raises(ValueError, match="background="):
        mercer.explain_rows(model, frame[:1])


def test_steps_that_mix_columns_are_noticed(table):
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    frame, y = table
    numbers = frame[["age", "pay"]]
    model = make_pipeline(PCA(2), mercer.KernelSVC("gaussian(1)")).fit(numbers, y)
    found = mercer.explain_rows(model, numbers[:2], numbers[:9], walks=10)
    assert found.method == "sampled"
    assert "mixes columns" in found.note


@pytest.mark.parametrize(
    "step",
    [
        lambda rows: rows + (rows.max() == rows) * rows[:, ::-1],  # in the row of the maximum only
        lambda rows: rows - rows.mean(axis=0),  # the rows together, which a shuffle keeps
    ],
    ids=["seldom", "batch"],
)
def test_steps_that_mix_rows_or_columns_seldom_are_noticed(step):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    model = make_pipeline(FunctionTransformer(step), mercer.KernelSVC("gaussian(1)"))
    model.fit(X, X[:, 0] > 0)
    with pytest.raises(NotFactored, match="mixes columns"):
        mercer.explain_rows(model, X[:5], X[5:], method="exact")


@pytest.mark.parametrize("backgrounds", [1, 9, 16])
def test_as_few_nodes_as_the_worst_background_allows_give_products_of_any_sign(backgrounds):
    from mercer.reasons.exact import _in_numpy, _many

    random = np.random.default_rng(backgrounds)
    A, B, coef = random.normal(size=(9, 5, 4)), random.normal(size=(9, backgrounds, 4)), np.eye(4)
    for scale in (1e-3, 0.1, 1.0, 30.0):  # from two nodes to the rule that is exact
        near = A[:, :1] + scale * B
        true = _in_numpy(A, near, coef, np.zeros((5, 9, 4)))
        assert np.abs(_many(A, near, coef) - true).max() < 1e-12 * np.abs(true).max()


def test_kernels_on_named_columns(table):
    frame, y = table
    kernel = mercer.Gaussian(1.0).on(["pay"]) * mercer.Gaussian(20.0).on(["age"])
    model = mercer.KernelSVC(kernel + mercer.kernels.Hamming().on(["town"])).fit(frame, y)
    found = mercer.explain_rows(model, frame[:4], frame[:12])
    assert found.method == "exact"
    asked = mercer.explain_rows(model, frame[:4], frame[:12], method="sampled", walks=300)
    assert (np.abs(found.values - asked.values) < 6 * asked.error + 1e-12).all()
    made = found.to_frame()
    assert list(made.columns) == ["base", "age", "town", "pay"]
    assert np.allclose(made.sum(axis=1), model.decision_function(frame.loc[made.index]))


def test_other_packages_find_a_column_of_data_for_every_name(table):
    """An array, as plots of the package shap index it, and not the frame."""
    frame, y = table
    model = pipeline(mercer.KernelSVC("gaussian(1)")).fit(frame, y)
    found = mercer.explain_rows(model, frame[:4], frame[:12])
    assert found.data.tolist() == frame[:4].to_numpy().tolist()
    numbers = frame[["age", "pay"]]
    ridge = mercer.KernelRidge("gaussian(9)", alpha=0.1).fit(numbers, numbers.pay)
    assert mercer.explain_rows(ridge, numbers[:4], numbers[:9]).data.dtype == float
    both = mercer.explain_rows(model, frame[:4], frame[:12], {"who": ["town", "age"]})
    assert both.feature_names == ["who", "pay"]
    assert both.data.tolist() == [["2 columns", pay] for pay in frame.pay[:4]]
    shap = pytest.importorskip("shap")
    pytest.importorskip("matplotlib").use("Agg")
    for one in (found, both):
        drawn = shap.Explanation(
            one.values, one.base_values, one.data, feature_names=one.feature_names
        )
        shap.plots.waterfall(drawn[2], show=False)
        shap.plots.beeswarm(drawn, show=False)
        shap.plots.scatter(drawn[:, -1], show=False)


def test_the_background_may_have_its_columns_in_another_order(table):
    frame, _ = table
    numbers = frame[["age", "pay"]]
    model = mercer.KernelRidge("gaussian([9, 1])", alpha=0.1).fit(numbers, numbers.pay)
    found = mercer.explain_rows(model, numbers[:4], numbers[:12]).values
    turned = mercer.explain_rows(model, numbers[:4], numbers[["pay", "age"]][:12]).values
    bare = mercer.explain_rows(model, numbers[:4], numbers[:12].to_numpy()).values
    assert np.array_equal(found, turned)
    assert np.array_equal(found, bare)
    with pytest.raises(ValueError, match="the same columns"):
        mercer.explain_rows(model, numbers[:4], numbers[:12].rename(columns={"age": "old"}))


def test_frames_of_several_outputs():
    model, X = fitted(mercer.KernelLogisticRegression("gaussian(1)"), 3)
    pytest.importorskip("pandas")
    frame = mercer.explain_rows(model, X[:5], X[:10]).to_frame()
    assert frame.shape == (5, 3 * 5)
    assert np.allclose(frame["1"].sum(axis=1), model.decision_function(X[:5])[:, 1])


def test_importances_side_by_side():
    pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    model = mercer.KernelRidge("gaussian(2)", alpha=0.1).fit(X, 3 * X[:, 1] + X[:, 0])
    found = mercer.reasons.importances(model, X, 3 * X[:, 1] + X[:, 0])
    assert list(found.columns) == ["shapley", "gradient", "permutation"]
    for name in found.columns:
        assert list(found[name].sort_values(ascending=False).index) == ["x1", "x0", "x2"]


# --- limits and mistakes -------------------------------------------------------------------------


def test_within_a_memory_limit_the_values_are_the_same():
    random = np.random.default_rng(0)
    Z, X = random.normal(size=(600, 12)), random.normal(size=(100, 12))
    f = mercer.KernelExpansion(mercer.Gaussian(3.0), Z, random.normal(size=600))
    free = mercer.explain_rows(f, X, X[:16]).values
    import tracemalloc

    with mercer.config(memory="4MB"):
        tracemalloc.start()
        tight = mercer.explain_rows(f, X, X[:16]).values
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert np.abs(free - tight).max() < 1e-11
    assert peak < 4e6, peak


def test_within_a_memory_limit_the_walks_are_the_same():
    f, X, background = problem("rational_quadratic(1)")
    free = mercer.explain_rows(f, X, background, walks=31)
    with mercer.config(memory="0.1MB"):
        tight = mercer.explain_rows(f, X, background, walks=31)
    assert np.abs(free.values - tight.values).max() < 1e-12
    assert np.abs(free.error - tight.error).max() < 1e-12


def test_threads_and_order_change_nothing():
    f, X, background = problem("gaussian(1.3)")
    alone = mercer.explain_rows(f, X[1:2], background).values
    with mercer.config(threads=2):
        assert np.array_equal(mercer.explain_rows(f, X, background).values[1:2], alone)


def test_sparse_rows_and_float32():
    sparse = pytest.importorskip("scipy.sparse")
    model, X = fitted(mercer.KernelSVC("gaussian(1)"))
    dense = mercer.explain_rows(model, X[:4], X[:9]).values
    rows = mercer.KernelSVC("gaussian(1)").fit(
        sparse.csr_array(X), model.predict(X) * 0 + (X[:, 0] > 0)
    )
    found = mercer.explain_rows(rows, sparse.csr_array(X[:4]), sparse.csr_array(X[:9]))
    assert np.abs(found.scores - rows.decision_function(X[:4])).max() < 1e-10
    small = mercer.explain_rows(model, X[:4].astype(np.float32), X[:9].astype(np.float32)).values
    assert np.abs(small - dense).max() < 1e-5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reading": "causal"}, "'interventional'"),
        ({"method": "guess"}, "'sampled'"),
        ({"output": "odds"}, "'probability'"),
        ({"method": "sampled", "walks": 1}, "at least 2 walks"),
        ({"method": "sampled", "X": np.ones((1, 6)), "background": None}, "give background="),
        ({"background": np.zeros((3, 7))}, "6 columns, and background 7"),
        ({"columns": {"a": [0, 9]}}, "names 9"),
        ({"columns": {"a": [0, 1], "b": [1]}}, "in the groups 'a' and 'b'"),
        ({"X": np.zeros(6)}, "rows and columns"),
        ({"X": np.zeros((0, 6))}, "rows and columns"),
        ({"X": np.full((1, 6), np.nan)}, "NaN"),
        ({"output": "probability"}, "has no predict_proba"),
        ({"model": "rational_quadratic(1)", "reading": "independent"}, "needs exact values"),
    ],
)
def test_mistakes_are_named(change, words):
    f, X, background = problem(change.get("model", "gaussian(1)"))
    given = {"X": X, "background": background} | {k: v for k, v in change.items() if k != "model"}
    with pytest.raises(ValueError, match=words):
        mercer.explain_rows(f, **given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "interventional (not observational, which is E[f(X) | x_S]): v(S) = mean over 5 "),
        ({"method": "sampled", "walks": 7}, "interventional (not observational"),
        ({"reading": "independent"}, "each column drawn by itself: v(S)"),
        ({"reading": "removed"}, "columns removed: v(S)"),
        ({"method": "gradients"}, "integrated gradients along the line from the mean of 5 "),
        ({"method": "sampled", "walks": 7}, "; 7 walks"),
    ],
)
def test_what_is_printed_names_the_reading(options, words):
    f, X, background = problem("gaussian(1)")
    assert words in repr(mercer.explain_rows(f, X, background, **options))


def test_a_model_must_be_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        mercer.explain_rows(mercer.KernelSVC(), np.zeros((2, 2)))


@pytest.mark.parametrize("inputs", ["values", "both"])
def test_a_learned_metric_is_asked_for_its_answers(inputs):
    """Its expansion takes other columns than the rows have."""
    random = np.random.default_rng(0)
    X = random.normal(3.0, 2.0, size=(60, 3))
    model = mercer.RFMRegressor("fixed", inputs=inputs).fit(X, X[:, 0])
    found = mercer.explain_rows(model, X[:2], X[:10], walks=10)
    assert found.method == "sampled"
    assert np.allclose(found.scores, model.predict(X[:2]))
