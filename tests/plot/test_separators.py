"""Pictures of separators and perceptrons draw the numbers of theory."""

import numpy as np
import pytest

from mercer import KernelPerceptron, Perceptron, data, plot, theory

X, Y = data.blobs(40)


def legend(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_every_separator_drawn_separates():
    fits = [Perceptron(fit_intercept=True, random_state=s).fit(X, Y) for s in range(4)]
    lines = plot.separators(fits, X, Y).lines
    assert len(lines) == 4
    for line, model in zip(lines, fits, strict=True):
        assert model.decision_function(line.get_xydata()) == pytest.approx([0, 0], abs=1e-9)


def test_the_version_space_holds_the_widest_separator():
    ax = plot.version_space(X, Y)
    delta = theory.separability("linear()", X, Y, fit_intercept=True).width
    assert legend(ax) == ["version space", f"widest: δ = {delta:.3g}"]
    empty = plot.version_space(*data.blobs(40, distance=0.5))
    assert [t.get_text() for t in empty.texts] == ["empty: no line separates"]


def test_r_and_delta_have_their_lengths():
    found = theory.separability("linear()", X, Y, fit_intercept=True)
    ax = plot.margin(X, Y, example=3)
    lengths = {
        np.round(np.linalg.norm(np.subtract(t.xy, t.xyann)), 9)
        for t in ax.texts
        if t.arrow_patch is not None
    }
    r = abs(float(found.separator(X[3:4])[0])) / np.sqrt(float(found.separator.squared_norm))
    assert lengths == {np.round(r, 9), np.round(found.width, 9)}
    assert {"r", "δ"} <= {t.get_text() for t in ax.texts}
    assert len(ax.lines) == 3
    assert "support vectors" in legend(ax)


def test_hard_is_harder_than_easy():
    hard, easy = (plot.hardness(*data.blobs(40, noise=s)).get_title() for s in (0.4, 0.2))
    number = [float(t.split("= ")[1].replace(",", "")) for t in (hard, easy)]
    assert number[0] > 5 * number[1]
    assert plot.hardness(*data.xor()).get_title() == "not separable"


def test_hebb_beside_the_perceptron():
    far = np.vstack([X, [[9.0, -4.0]]])  # one far example, which Hebb's sum follows
    y = np.append(Y, 1)
    ax = plot.hebb_and_perceptron(far, y)
    w = theory.hebb(far, y)
    assert far[y > 0].sum(axis=0) - far[y < 0].sum(axis=0) == pytest.approx(w)
    assert ax.lines[0].get_xydata() @ w == pytest.approx([0, 0], abs=1e-6)
    wrong = int((y * (far @ w) <= 0).sum())
    assert legend(ax)[0] == f"Hebb: {wrong} wrong"
    assert legend(ax)[1] == "perceptron: 0 wrong"


def fitted(**options):
    return KernelPerceptron("linear()", shuffle=False, epochs=60, **options).fit(X + [1.0, 0.4], Y)


def test_mistakes_are_those_made_over_examples_seen():
    model = fitted(fit_intercept=True)
    Z = X + [1.0, 0.4]
    seen, made = plot.mistakes_against_bound(model, Z, Y).lines[0].get_data()
    assert made[-1] == model.n_mistakes_ > 1
    assert seen[-1] == model.n_visits_ > made[-1]
    assert np.array_equal(seen, np.arange(model.n_visits_ + 1))  # a step for each visit
    visits = list(model.steps(Z, Y))
    seen, made = plot.mistakes_against_bound(model, Z, Y, visits=visits[:15]).lines[0].get_data()
    assert seen.tolist() == list(range(16))
    assert made[-1] == sum(v.updated for v in visits[:15])


def test_the_bound_lies_above_the_mistakes_and_is_told():
    Z = X + [1.0, 0.4]
    ax = plot.mistakes_against_bound(fitted(fit_intercept=True), Z, Y)
    separator = theory.separability("linear()", Z, Y, fit_intercept=True).separator
    bound = theory.mistake_bound(separator, Z, Y, True)
    assert ax.lines[1].get_ydata()[0] == pytest.approx(bound)
    assert ax.lines[0].get_ydata()[-1] <= bound
    noisy = KernelPerceptron("linear()", epochs=2).fit(*data.xor())
    assert len(plot.mistakes_against_bound(noisy, *data.xor()).lines) == 1


@pytest.mark.parametrize("bias", [False, True])
def test_the_proof_is_a_chain_of_inequalities(bias):
    Z = X if not bias else X + [1.0, 0.4]
    model = KernelPerceptron("linear()", shuffle=False, epochs=60, fit_intercept=bias).fit(Z, Y)
    found = plot.proof_curves(model, Z, Y)
    j, tiny = found.updates, 1e-9
    assert len(j) == model.n_mistakes_ + 1
    assert (found.rho * j <= found.alignment + tiny).all()
    assert (found.alignment <= found.norm + tiny).all()
    assert (found.norm <= np.sqrt(j) * found.R + tiny).all()
    assert model.n_mistakes_ <= found.bound
    ax = plot.convergence_proof(model, Z, Y, curves=found)
    lower, upper, bound = found.formulas
    assert legend(ax) == [upper, "‖w‖", "⟨w, w*⟩", lower]
    assert bound == ("(b*² + 1)(R² + 1)/ρ²" if bias else "(R/ρ)²")
    R, separated = theory.radius("linear()", Z), theory.separability("linear()", Z, Y, bias)
    assert found.bound == pytest.approx(theory.mistake_bound(separated.separator, Z, Y, bias))
    assert np.isclose(found.R, np.sqrt(R**2 + 1) if bias else R)
    assert ax.lines[2].get_ydata() == pytest.approx(found.alignment)
    with pytest.raises(ValueError, match="not separable"):
        plot.proof_curves(KernelPerceptron("linear()", epochs=2).fit(*data.xor()), *data.xor())


def test_accuracy_wavers():
    Z, y = data.moons(40, noise=0.3)
    model = KernelPerceptron("gaussian(0.5)", shuffle=False, epochs=5).fit(Z, y)
    accuracy = plot.accuracy_over_visits(model, Z, y).lines[0].get_ydata()
    assert len(accuracy) == model.n_visits_
    assert accuracy[-1] == pytest.approx(model.score(Z, y))
    assert (np.diff(accuracy) < 0).any()
