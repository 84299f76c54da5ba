"""A kernel is right or raises: every one with a formula, at extreme parameters and inputs.

The formulas are written once more here, on plain mpmath numbers, and know nothing of the library.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest

import mercer.kernels as mk
from mercer.formula import pairwise_mp

mpf = mpmath.mpf
DIGITS = 60


def _squared(x, z):
    return mpmath.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def _dot(x, z):
    return mpmath.fsum(a * b for a, b in zip(x, z, strict=True))


def _norm(x):
    return mpmath.sqrt(_dot(x, x))


def _gaussian(x, z, sigma=1.0):
    widths = [mpf(s) for s in np.broadcast_to(sigma, len(x))]
    return mpmath.exp(
        -mpmath.fsum(((a - b) / s) ** 2 for a, b, s in zip(x, z, widths, strict=True)) / 2
    )


def _laplacian(x, z, rate=1.0, norm=2):
    gaps = [abs(a - b) for a, b in zip(x, z, strict=True)]
    length = {1: sum(gaps), 2: mpmath.sqrt(_squared(x, z)), "inf": max(gaps)}[norm]
    return mpmath.exp(-mpf(rate) * length)


def _matern(x, z, nu=1.5, length=1.0):
    a = mpmath.sqrt(2 * mpf(nu) * _squared(x, z)) / mpf(length)
    shape = {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[nu]
    return shape * mpmath.exp(-a)


def _rational(x, z, alpha=1.0, length=1.0):
    alpha, length = mpf(alpha), mpf(length)
    return mpmath.exp(-alpha * mpmath.log1p(_squared(x, z) / (2 * alpha * length**2)))


def _wendland(x, z, smoothness=1, width=1.0):
    r = mpmath.sqrt(_squared(x, z)) / mpf(width)
    shape = [1, 4 * r + 1, (35 * r**2 + 18 * r + 3) / 3, 32 * r**3 + 25 * r**2 + 8 * r + 1]
    return max(1 - r, 0) ** (2 * smoothness + 2) * shape[smoothness]


def _compact(profile):
    return lambda x, z, width=1.0: profile(mpmath.sqrt(_squared(x, z)) / mpf(width))


def _spline(x, z, degree, width=1.0):
    """The box convolved with itself: the textbook's sum, from the edge where few terms cancel."""
    if degree == 0:
        return mpf(all(2 * abs(a - b) <= mpf(width) for a, b in zip(x, z, strict=True)))

    def value(n, t):
        edges = [mpf(n + 1) / 2 - abs(t) - k for k in range(n + 2)]
        terms = [(-1) ** k * math.comb(n + 1, k) * e**n for k, e in enumerate(edges) if e > 0]
        return mpmath.fsum(terms) / math.factorial(n)

    return mpmath.fprod(value(degree, (a - b) / mpf(width)) for a, b in zip(x, z, strict=True))


def _periodic(x, z, period=1.0, length=1.0):
    waves = (mpmath.sin(mpmath.pi * (a - b) / mpf(period)) ** 2 for a, b in zip(x, z, strict=True))
    return mpmath.exp(-2 * mpmath.fsum(waves) / mpf(length) ** 2)


def _chi_squared(x, z, gamma=1.0):
    terms = ((a - b) ** 2 / (a + b) if a + b else mpf(0) for a, b in zip(x, z, strict=True))
    return mpmath.exp(-mpf(gamma) * mpmath.fsum(terms))


def _anova(x, z, degree=2, sigma=1.0):
    each = [mpmath.exp(-((a - b) ** 2) / (2 * mpf(sigma) ** 2)) for a, b in zip(x, z, strict=True)]
    return mpmath.fsum(mpmath.fprod(s) for s in itertools.combinations(each, degree))


def _cosine(x, z):
    norms = _norm(x) * _norm(z)
    return _dot(x, z) / norms if norms else mpf(0)


def _tanimoto(x, z):
    below = _dot(x, x) + _dot(z, z) - _dot(x, z)
    return _dot(x, z) / below if below else mpf(0)


def _arc_cosine(x, z, order=1):
    norms = _norm(x) * _norm(z)
    theta = mpmath.acos(max(-1, min(1, _dot(x, z) / norms))) if norms else mpmath.pi / 2
    rest, cos, sin = mpmath.pi - theta, mpmath.cos(theta), mpmath.sin(theta)
    shape = [rest, sin + rest * cos, 3 * sin * cos + rest * (1 + 2 * cos**2)][order]
    return norms**order * shape / mpmath.pi


def _power_exponential(x, z, length=1.0, power=1.0, norm=2):
    p, q = mpf(norm), mpf(power)
    size = mpmath.fsum(abs(a - b) ** p for a, b in zip(x, z, strict=True)) ** (1 / p)
    return mpmath.exp(-((size / mpf(length)) ** q))


def _equal(join):
    return lambda x, z: join([mpf(a == b) for a, b in zip(x, z, strict=True)])


EXACT = {
    "Linear": _dot,
    "Constant": lambda x, z, value=1.0: mpf(value),
    "Polynomial": lambda x, z, degree, offset=0.0: (_dot(x, z) + mpf(offset)) ** degree,
    "Sigmoid": lambda x, z, eta=1.0, nu=0.0: mpmath.tanh(mpf(eta) * _dot(x, z) + mpf(nu)),
    "Bilinear": lambda x, z, A: _dot(x, [_dot([mpf(float(v)) for v in row], z) for row in A]),
    "Cosine": _cosine,
    "Tanimoto": _tanimoto,
    "ArcCosine": _arc_cosine,
    "Gaussian": _gaussian,
    "Laplacian": _laplacian,
    "Matern": _matern,
    "PowerExponential": _power_exponential,
    "RationalQuadratic": _rational,
    "SquaredDistance": _squared,
    "NegativeSquaredDistance": lambda x, z: -_squared(x, z),
    "Epanechnikov": _compact(lambda u: max(1 - u**2, 0)),
    "Tricube": _compact(lambda u: max(1 - u**3, 0) ** 3),
    "Uniform": _compact(lambda u: mpf(u <= 1)),
    "Wendland": _wendland,
    "BSpline": _spline,
    "Periodic": _periodic,
    "ChiSquared": _chi_squared,
    "Intersection": lambda x, z: mpmath.fsum(map(min, x, z)),
    "Hamming": _equal(lambda same: mpmath.fsum(same) / len(same)),
    "Delta": _equal(mpmath.fprod),
    "Anova": _anova,
}

#: Kernels on strings, graphs and images, and those made of functions, have their own references.
WIDTHS = (
    1e-300,
    1e-170,
    1e-160,
    1e-155,
    1e-150,
    1e-80,
    1e-8,
    0.3,
    1.0,
    7.0,
    1e8,
    1e80,
    1e150,
    1e155,
    1e300,
)
SWEEP = {
    "Constant": [{"value": v} for v in (0.0, -2.0, 1e300, 5e-324)],
    "Polynomial": [
        {"degree": d, "offset": c}
        for d in (1, 2, 7, 60, 1000) for c in (0.0, 1.0, -1.0, 1e-20, 1e20)
    ],
    "Sigmoid": [{"eta": e, "nu": n} for e in (1e-300, 1.0, 1e8, 1e300) for n in (-1.0, 0.0, 1e300)],
    "Bilinear": [
        {"A": np.diag(d)} for d in ([1e12, 1e-6, 1.0], [1e16, -1.0, 0.0], [0.0, 0.0, 0.0])
    ],
    "ArcCosine": [{"order": n} for n in (0, 1, 2)],
    "Gaussian": [{"sigma": s} for s in (*WIDTHS, [1e-100, 1.0, 1e100], [1e-170, 1.0, 1.0])],
    "Laplacian": [{"rate": r, "norm": n} for r in WIDTHS[::2] for n in (1, 2, "inf")],
    "Matern": [{"length": w, "nu": nu} for w in WIDTHS[::2] for nu in (0.5, 1.5, 2.5)],
    "PowerExponential": [
        {"length": w, "power": q, "norm": p}
        for w in WIDTHS[::3] for q in (0.3, 1.0, 1.9) for p in (1, 1.3, 2)
    ],
    "RationalQuadratic": [
        {"length": w, "alpha": a}
        for w in WIDTHS[::2] for a in (1e-8, 1e-3, 0.1, 1.0, 30.0, 1e6, 1e17, 1e100)
    ],
    "Epanechnikov": [{"width": w} for w in WIDTHS],
    "Tricube": [{"width": w} for w in WIDTHS],
    "Uniform": [{"width": w} for w in WIDTHS],
    "Wendland": [{"width": w, "smoothness": s} for w in WIDTHS[::2] for s in range(4)],
    "BSpline": [{"degree": d, "width": w} for d in (0, 1, 3, 8, 25, 201) for w in WIDTHS[::3]],
    "Periodic": [{"period": p, "length": w} for p in (1e-3, 1.0, 1e100) for w in WIDTHS[::2]],
    "ChiSquared": [{"gamma": g} for g in WIDTHS],
    "Anova": [{"degree": d, "sigma": s} for d in (1, 2, 3, 4, 100) for s in WIDTHS[::2]],
}  # fmt: skip


def _rows(scale):
    """Three columns: near and far pairs, equal and opposite rows, zeros; at one scale."""
    x = np.array([0.75, 1.5, 0.25])
    rows = [x, 2 * x, x + [0.5, 0, 0], x * (1 + 1e-9), -x, -x * [1, 1, 1 + 1e-8], 0 * x, 40 * x]
    return scale * np.array(rows)


def _scales(parameters):
    """The unit, the kernel's own widths, and the ends of float64."""
    own = [v for v in np.ravel([v for v in parameters.values() if np.ndim(v) == 0]) if _is_float(v)]
    own = [abs(float(v)) for v in own if 0 < abs(float(v)) < math.inf]
    return sorted({1.0, 1e-160, 1e160, *own, *(1 / v for v in own if v > 1e-300)})


def _is_float(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def _cases():
    for name in EXACT:
        for parameters in SWEEP.get(name, [{}]):
            yield pytest.param(name, parameters, id=f"{name}-{parameters}"[:90])


def test_no_kernel_with_a_formula_is_left_out():
    own = [cls for cls in mk.leaves() if cls.__module__.startswith("mercer.")]
    vectors = {cls.__name__ for cls in own if not issubclass(cls, mk.OpaqueKernel)}
    assert vectors - {"FromFeatures", "Fisher", "TangentDistance"} == set(EXACT)


@pytest.mark.parametrize(("name", "parameters"), list(_cases()))
def test_a_kernel_is_right_or_raises(name, parameters):
    try:
        kernel = getattr(mk, name)(**parameters)
    except ValueError:
        assert _far_out(parameters)
        return
    right = 0
    for scale in _scales(parameters):
        rows = _rows(scale)
        if kernel.claim().domain:
            rows = np.abs(rows)
        if not np.isfinite(rows).all():
            continue
        try:
            with np.errstate(all="ignore"):
                K, diagonal = kernel(rows), kernel.diag(rows)
        except ValueError as error:
            if "overflow" not in str(error) and "scale" not in str(error):
                raise
            continue
        with mpmath.workdps(DIGITS):
            _compare(name, kernel, parameters, rows, K, diagonal)
        right += 1
    assert right or name == "Polynomial", "refused everywhere"


def _far_out(parameters):
    numbers = [
        float(v) for v in np.ravel([np.ravel(v) for v in parameters.values()]) if _is_float(v)
    ]
    product = math.sqrt(parameters.get("alpha", 1.0)) * parameters.get("length", 1.0)
    return any(v < 1e-150 or v > 1e150 or v >= 26 for v in [*numbers, product])


def _compare(name, kernel, parameters, rows, K, diagonal):
    points = [[mpf(float(v)) for v in row] for row in rows]
    lengths = [abs(EXACT[name](x, x, **parameters)) for x in points]
    assert np.isfinite(diagonal).all()
    assert np.array_equal(K, K.T, equal_nan=True)
    for i, j in itertools.combinations_with_replacement(range(len(rows)), 2):
        exact = EXACT[name](points[i], points[j], **parameters)
        error = abs(mpf(K[i, j]) - exact) if math.isfinite(K[i, j]) else mpmath.inf
        size = mpmath.sqrt(lengths[i] * lengths[j]) + abs(exact)
        slack = 1e-290 + size * 1e-10 + _condition(name, parameters, rows[i], rows[j])
        if abs(exact) > 1.7e308:
            continue
        assert error <= slack, (rows[i], rows[j], K[i, j], mpmath.nstr(exact, 20))
        if i == j:
            assert abs(mpf(diagonal[i]) - exact) <= slack


def _condition(name, parameters, x, z):
    """What one rounding of x − z, or of x·z, may do to values that hang on it without end."""
    if name == "Periodic":
        turns = np.abs(x - z).max() / parameters["period"]
        return 1e-15 * turns / min(1.0, parameters["length"] ** 2) if turns < 1e290 else mpmath.inf
    if name in ("Sigmoid", "Polynomial"):
        slope = parameters.get("eta", 1.0) * parameters.get("degree", 1)
        inner = float(np.abs(x) @ np.abs(z)) + abs(
            parameters.get("offset", parameters.get("nu", 0.0))
        )
        base = mpf(inner) ** (parameters.get("degree", 1)) if name == "Polynomial" else inner
        return slope * (1e-15 * base + 1e-322)
    if name == "SquaredDistance" or name == "NegativeSquaredDistance":
        return 1e-13 * float(np.square(np.abs(x) + np.abs(z)).sum())
    if name == "Uniform" or (name == "BSpline" and parameters["degree"] == 0):
        width = parameters["width"]
        gaps = [np.linalg.norm(x - z) / width] if name == "Uniform" else 2 * np.abs(x - z) / width
        return 1.0 if any(abs(g - 1) < 1e-12 for g in gaps) else 0.0
    return 0.0


@pytest.mark.parametrize("degree", [3, 8, 9, 16, 25])
@pytest.mark.parametrize("scale", [0.1, 0.5, 3.0])
def test_splines_of_float32_rows_keep_their_digits(degree, scale):
    """Their truncated powers cancel: to three digits at degree 25, were it not for float64."""
    rows = _rows(scale).astype(np.float32)
    K = mk.BSpline(degree)(rows)
    with mpmath.workdps(DIGITS):
        points = [[mpf(float(v)) for v in row] for row in rows]
        exact = [[float(_spline(x, z, degree)) for z in points] for x in points]
    np.testing.assert_allclose(K, exact, atol=1e-5 * np.max(exact))


@pytest.mark.parametrize("name", EXACT)
def test_every_formula_is_exact(name):
    """No constant of a formula is rounded: 40 digits agree with the formula written here."""
    for parameters in SWEEP.get(name, [{}]):
        try:
            kernel = getattr(mk, name)(**parameters)
        except ValueError:
            continue
        rows = np.abs(_rows(1.0))[[0, 1, 2, 7]]
        with mpmath.workdps(400):  # high powers of huge widths
            for x, z in itertools.combinations_with_replacement(rows, 2):
                exact = EXACT[name](list(map(mpf, x)), list(map(mpf, z)), **parameters)
                value = pairwise_mp(kernel.formula(), x, z, dps=400)
                assert abs(value - exact) <= abs(exact) * mpf(10) ** -40 + mpf(10) ** -290, (
                    parameters,
                    x,
                    z,
                )


@pytest.mark.parametrize(
    "kernel", [mk.Tanimoto(), mk.Linear().normalized(), (mk.Linear() + mk.Tanimoto()).normalized()]
)
@pytest.mark.parametrize(("dtype", "small"), [(np.float64, 1e-155), (np.float32, 1e-18)])
def test_rows_too_small_to_be_squared_are_refused_where_that_matters(kernel, dtype, small):
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 1.0]], dtype=dtype)
    assert np.isfinite(kernel(rows)).all()
    with pytest.raises(ValueError, match=r"underflows in row 2 of X.*scale the data"):
        kernel(rows * np.array([[1], [1], [small]], dtype=dtype))


def test_the_negative_of_a_kernel_cannot_be_normalized():
    with pytest.raises(ValueError, match="k\\(x, x\\)"):
        (-mk.Gaussian()).normalized()(np.ones((2, 2)))
    with pytest.raises(ValueError, match="k\\(x, x\\)"):
        (mk.Gaussian() - 2).normalized().diag(np.ones((2, 2)))


def test_small_powers_of_distances_whose_square_in_lengths_vanishes():
    rows = 1e-5 * np.random.default_rng(0).normal(size=(4, 3))
    rows[3] = rows[0] * (1 + 1e-9)
    parameters = {"length": 6.4e149, "power": 0.0154}
    kernel = mk.PowerExponential(**parameters)
    with mpmath.workdps(60):
        _compare("PowerExponential", kernel, parameters, rows, kernel(rows), kernel.diag(rows))
