"""Counterexamples: found fast, with few points, and confirmed."""

from dataclasses import dataclass

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.formula.nodes import sqnorm
from mercer.proof import Counterexample, Undecided, prove


def test_refuted_with_few_points(indefinite):
    name, k, n_features, most = indefinite
    answer = prove(k, n_features=n_features, seconds=60.0)  # a busy machine must not decide
    assert isinstance(answer, Counterexample), f"{name}\n{answer}"
    assert answer.kind == "indefinite"
    assert not answer
    assert len(answer.points) == len(answer.vector) <= most
    if n_features is not None:
        assert answer.points.shape[1] == n_features
    assert answer.exact
    # cᵀKc once more, from the answer alone, and by other means
    assert answer.check() == answer.value < 0
    K = answer.matrix()
    by_hand = float(answer.vector @ K @ answer.vector)
    assert by_hand == pytest.approx(answer.value, rel=1e-6, abs=1e-13)
    assert np.linalg.eigvalsh((K + K.T) / 2)[0] < 0


def test_the_lecture_s_indicator_is_refuted_on_1_2_3():
    answer = prove(lambda x, z: float(abs(x - z) <= 1))
    assert answer.points.ravel().tolist() == [1.0, 2.0, 3.0]
    root = np.sqrt(2)
    assert np.linalg.eigvalsh(answer.matrix()) == pytest.approx([1 - root, 1, 1 + root])


def test_asymmetric_functions():
    for f in (lambda x, z: x @ z - 0.1 * x[0] * z[-1] ** 2, lambda x, z: float(x[0] > z[0])):
        answer = prove(f)
        assert isinstance(answer, Counterexample)
        assert answer.kind == "asymmetric"
        assert len(answer.points) == 2
        assert answer.vector is None
        x, z = answer.points
        assert answer.value == answer.check() == pytest.approx(f(x, z) - f(z, x))
        assert answer.value != 0
        assert "k(x, z) − k(z, x) =" in str(answer)


@dataclass(frozen=True, eq=False, repr=False)
class Lopsided(mk.Kernel):
    """k(x, z) = ‖x‖²: a formula that nobody should write."""

    def lower(self, rows, path=""):
        return sqnorm("x", rows)


def test_an_asymmetric_formula():
    answer = prove(Lopsided(), n_features=2)
    assert answer.kind == "asymmetric"
    assert answer.exact
    assert answer.check() == answer.value == -3.0


def test_only_points_in_the_domain_are_used():
    answer = prove(mk.Intersection() - 2 * mk.ChiSquared())
    assert isinstance(answer, Counterexample)
    assert (answer.points >= 0).all()


def test_the_data_come_first():
    X = np.array([[10.0], [10.5], [11.0], [30.0]])
    answer = prove(mk.Epanechnikov(), data=X)
    assert set(answer.points.ravel()) <= set(X.ravel())
    assert len(answer.points) == 3


def test_a_sample_of_many_rows():
    X = np.random.default_rng(0).uniform(0, 5, (5000, 1)).astype(np.float32)
    answer = prove(mk.Tricube(), data=X)
    assert set(answer.points.ravel()) <= set(X.ravel().astype(float))
    undecided = prove(mk.Similarity(lambda x, z: float(x @ z)), data=X, seconds=0.1)
    assert undecided.tried[0] == "64 of the 5000 given rows"
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(X)
    assert len(prove(mk.Tricube(), data=sparse).points) <= 4


def test_many_columns():
    assert len(prove(mk.Sigmoid(), n_features=784).points) == 2
    assert isinstance(prove(lambda x, z: x @ z, n_features=784, seconds=1.0), Undecided)


def test_a_data_frame_with_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [10.0, 10.5, 11.0], "name": ["a", "b", "c"]})
    answer = prove(mk.Epanechnikov().on("age"), data=frame)
    assert isinstance(answer, Counterexample)
    assert answer.check() == answer.value < 0
    assert not answer.exact
    by_row = prove(lambda a, b: -float(a["age"] * b["age"]), data=frame)
    assert by_row.value == -100.0
    no_frame = prove(-mk.Gaussian().on(["age", "height"]))
    assert isinstance(no_frame, Undecided)
    assert "data are needed" in no_frame.reason


def test_examples_of_different_lengths():
    def common(a, b):
        return float(len(np.intersect1d(a, b)) - 2)

    answer = prove(common, data=[np.arange(5), np.arange(3), np.arange(1)])
    assert isinstance(answer, Counterexample)
    assert [len(x) for x in answer.points] == [1]


def test_functions_of_other_things_need_data():
    def overlap(a, b):
        return float(len(set(a.lower()) & set(b))) - 1.5

    answer = prove(overlap)
    assert isinstance(answer, Undecided)
    assert "data are needed" in str(answer)
    assert "AttributeError" in str(answer)
    refuted = prove(overlap, data=["ab", "bc", "a"])
    assert isinstance(refuted, Counterexample)
    assert refuted.points == ["a"]
    assert refuted.value == -0.5
    assert isinstance(prove(lambda a, b: float(a == b), data=["ab", "bc"]), Undecided)


def test_an_error_about_the_data_reaches_the_user():
    with pytest.raises(AttributeError):
        prove(lambda a, b: a.upper() == b, data=[1.0, 2.0])
    with pytest.raises(ValueError, match="2-D"):
        prove(mk.Epanechnikov(), data=[1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        prove(mk.Epanechnikov(), data=[[np.nan]])
    with pytest.raises(ValueError, match="empty"):
        prove(mk.Epanechnikov(), data=np.zeros((0, 2)))


def test_a_given_matrix():
    K = np.array([[1.0, 0.2, 2.0], [0.2, 1.0, 0.0], [2.0, 0.0, 1.0]])
    answer = prove(mk.Precomputed(), data=K)
    assert isinstance(answer, Counterexample)
    assert list(answer.points) == [0, 2]
    assert (
        answer.value == answer.check() == answer.vector @ K[np.ix_([0, 2], [0, 2])] @ answer.vector
    )
    assert "row 0, row 2" in str(answer)
    assert isinstance(prove(mk.Precomputed(), data=np.eye(3)), Undecided)
    assert prove(mk.Precomputed(), data=np.triu(K)).kind == "asymmetric"
    assert "matrix itself" in str(prove(mk.Precomputed()))
    with pytest.raises(ValueError, match="square"):
        prove(mk.Precomputed(), data=np.ones((2, 3)))


def test_opaque_parts_inside_an_expression():
    k = mk.Gaussian() - 2 * mk.Similarity(lambda x, z: float(x @ z))
    answer = prove(k, n_features=2)
    assert isinstance(answer, Counterexample)
    assert answer.exact
    assert answer.check() < 0


def test_a_function_that_gives_nonsense():
    answer = prove(lambda x, z: x - z, n_features=2)
    assert isinstance(answer, Undecided)
    assert "one real number" in str(answer)
    assert isinstance(prove(lambda x, z: np.nan), Undecided)


def test_a_refuting_rule_is_told_even_if_no_points_are_found():
    answer = prove(-mk.Gaussian(), seconds=0.0)
    assert isinstance(answer, Undecided)
    assert "the rules refute it" in answer.reason
    assert "stopped" in str(answer)


def test_a_counterexample_prints_as_a_tree():
    assert str(prove(mk.Uniform())).splitlines()[2:] == [
        "├─ 3 points: 1, 2, 3",
        "├─ c = (1, -1, 1)",
        "└─ cᵀKc = -1 < 0, in 50-digit arithmetic",
    ]


@pytest.mark.parametrize("n_features", [None, 1, 2, 3])
@pytest.mark.parametrize(
    "k",
    [
        mk.Bilinear([[-1.0]]).on([1]),
        mk.Bilinear([[1.0, 0.0], [0.0, -1.0]]).normalized(),
        mk.Bilinear(np.eye(3)[::-1]) - mk.Bilinear([[0.0]]) * mk.Constant(0.0),
        mk.Constant(-2.0).normalized().warp("tanh"),
    ],
    ids=repr,
)
def test_what_refutes_a_part_need_not_fit_the_whole(k, n_features):
    """A rule names points for the part it knows, which may have other columns, or no value."""
    answer = prove(k, n_features=n_features, seconds=1.0)
    assert isinstance(answer, Counterexample | Undecided)
    if answer.holds is False:
        assert answer.check() < 0
        assert n_features in (None, answer.points.shape[1])


def test_matrices_whose_eigenvalues_are_not_found_are_passed_over(monkeypatch):
    def refused(*arguments):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", refused)
    assert isinstance(prove(mk.Sigmoid(1.0, -1.0), n_features=2, seconds=0.5), Undecided)
    monkeypatch.undo()
    monkeypatch.setattr(np.linalg, "eigvalsh", refused)
    assert not prove(mk.Sigmoid(1.0, -1.0), n_features=2, seconds=0.5)
