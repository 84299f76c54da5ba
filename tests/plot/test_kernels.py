"""Pictures of kernels draw their values."""

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Polynomial, Sigmoid, data, plot
from mercer.kernels import BSpline
from mercer.proof import fourier_check


def test_the_shape_of_a_kernel_peaks_at_its_center():
    ax = plot.kernel_shape(Gaussian(), center=[0.5])
    x, k = ax.lines[0].get_data()
    assert abs(x[np.argmax(k)] - 0.5) < 0.03
    assert ax.get_title() == "Gaussian, σ = 1"


def test_no_contour_frames_a_region_of_zeros():
    ax = plot.kernel_shape(BSpline(3), (0.0, 0.0))
    lines = [c for c in ax.collections if c.get_linewidth().max() < 1 and len(c.get_paths()) > 1]
    edges = [p.vertices for c in lines for p in c.get_paths() if len(p.vertices)]
    assert max(np.abs(e).max() for e in edges[-7:]) < 2.9


def test_five_surfaces_in_one_figure():
    row = plot.kernel_gallery()
    titles = [ax.get_title() for ax in row]
    assert [t.split(",")[0] for t in titles] == [
        "Linear", "Laplacian", "Gaussian", "Polynomial", "BSpline",
    ]  # fmt: skip
    assert len({ax.figure for ax in row}) == 1
    assert all(ax.name == "3d" for ax in row)
    assert "d = 3" in titles[3]


def test_the_table_of_xor_in_the_lectures_order():
    X, y = data.xor()
    for ax in (plot.gram(Polynomial(2), X), plot.gram(Polynomial(2), X, y)):
        table = np.array([t.get_text() for t in ax.texts]).reshape(4, 4)
        assert table.tolist() == [list("4040"), list("0404")] * 2
        assert [t.get_text() for t in ax.get_xticklabels()] == [f"$x^{{{i}}}$" for i in range(1, 5)]
    assert [t.get_text() for t in plot.gram(Polynomial(2), X, y, sort=True).texts][:4] == list(
        "4400"
    )
    assert not plot.gram(Polynomial(2), X, numbers=False).texts


def test_a_bright_diagonal_does_not_hide_the_rest():
    X = np.random.default_rng(0).normal(size=(50, 40))
    assert plot.gram("gaussian(3)", X).images[0].get_clim()[1] < 0.6
    near, _ = data.moons(50)
    assert plot.gram("gaussian(2)", near).images[0].get_clim()[1] == pytest.approx(1.0)


def test_the_spectrum_shows_negative_eigenvalues_apart():
    X, _ = data.moons(30)
    apart = "|λ|, λ < 0"
    assert apart not in {line.get_label() for line in plot.spectrum(Gaussian(), X).get_lines()}
    drawn = plot.spectrum(Sigmoid(1.0, -1.0), X).get_lines()
    assert apart in {line.get_label() for line in drawn}


def test_the_dips_of_a_fourier_transform_are_filled():
    good, bad = plot.fourier("bspline(3)"), plot.fourier(lambda r: (r <= 1) * 1.0)
    assert [t.get_text() for t in good.get_legend().get_texts()] == ["S(ω) ≥ 0"]
    assert good.get_title() == "BSpline, d = 3"
    assert not good.collections
    assert len(bad.collections) == 1
    depth = bad.collections[0].get_paths()[0].vertices[:, 1].min()
    assert depth == pytest.approx(fourier_check(lambda r: (r <= 1) * 1.0, 1).minimum, rel=1e-6)
    assert "from ω = 3.1" in bad.get_legend().get_texts()[1].get_text()
    found = fourier_check("uniform()", 1)
    again = plot.fourier(found)
    assert again.get_title() == plot.fourier("uniform()").get_title()
    assert again.lines[1].get_ydata()[0] == found.spectrum[0]


def test_eigenfunctions_are_orthonormal_and_have_their_values():
    ax = plot.eigenfunctions("gaussian(0.2)", count=3)
    functions = np.array([line.get_ydata() for line in ax.lines[1:]])
    assert functions @ functions.T / functions.shape[1] == pytest.approx(np.eye(3), abs=1e-6)
    K = Gaussian(0.2)(np.linspace(0, 1, 400)[:, None]) / 400
    values = np.linalg.eigvalsh(K)[::-1]
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names == [f"λ$_{{{i + 1}}}$ = {values[i]:.3g}" for i in range(3)]


def test_truncations_come_ever_closer_to_the_gaussian():
    lines = plot.taylor_truncations(orders=(0, 1, 2, 4, 8)).lines
    truth = lines[0].get_ydata()
    gaps = [np.abs(line.get_ydata() - truth).max() for line in lines[1:]]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.05 < gaps[0]


def test_the_growth_of_monomials_is_the_lectures_picture():
    ax = plot.monomial_growth()
    assert ax.get_xlabel().startswith("m")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["d = 2", "d = 3", "d = 4"]
    for d, line in zip((2, 3, 4), ax.lines, strict=True):
        m, counts = line.get_data()
        assert list(counts) == [Polynomial(d).n_dims(int(i)) for i in m]
    assert plot.monomial_growth([100], [6]).lines[0].get_ydata()[0] == 1_609_344_100


def test_a_sorted_gram_has_alike_examples_side_by_side():
    """What the chapter calls blocks: large values near the diagonal."""
    X, y = data.circles(60, random_state=1)
    mixed = np.random.default_rng(0).permutation(60)
    K = np.asarray(plot.gram("gaussian(0.5)", X[mixed], y[mixed]).images[0].get_array())
    whole = mercer.Gaussian(0.5)(X)
    assert np.diagonal(K, 1).mean() > 0.85 > 2 * whole.mean()
    assert sorted(K.sum(axis=0).round(6)) == sorted(whole.sum(axis=0).round(6))
