"""The parts of the search: fewest rows, plain vectors, descent, scales."""

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.proof import Counterexample, prove
from mercer.proof.form import fewest, plain_vector, worst
from mercer.proof.prover import _scales
from mercer.proof.search import Search
from mercer.proof.shapes import SHAPES, clouds
from mercer.proof.target import Target


def test_worst_direction_is_invariant_to_scaling():
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    scale = np.array([1e-6, 1.0, 1e8])
    value, c = worst(K)
    other, d = worst(K * np.outer(scale, scale))
    assert value == pytest.approx(1 - 0.9 * np.sqrt(2))
    assert other == pytest.approx(value)
    assert d * scale / (d * scale)[1] == pytest.approx(c / c[1])
    assert worst(np.array([[np.nan]])) is None


def test_fewest_rows():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 20))
    K = A @ A.T
    assert fewest(K, -1e-9) is None
    K[4, 4] = -1.0
    assert fewest(K, -1e-9).tolist() == [4]
    K = np.eye(20)
    K[3, 7] = K[7, 3] = 1.5
    assert fewest(K, -1e-9).tolist() == [3, 7]
    K = np.eye(30)
    five = [2, 5, 11, 17, 23]  # only all of them together are indefinite: 1 − 3·0.3 > 0 > 1 − 4·0.3
    K[np.ix_(five, five)] -= 0.3 * (1 - np.eye(5))
    assert sorted(fewest(K, -1e-9)) == five


def test_fewest_of_many_rows(monkeypatch):
    """A dense indefinite matrix of 300 rows is cut down by few and small decompositions."""
    work, eigvalsh = [], np.linalg.eigvalsh

    def counted(A):
        work.append(A.size * A.shape[-1])  # n³ for every matrix of a stack
        return eigvalsh(A)

    monkeypatch.setattr(np.linalg, "eigvalsh", counted)
    x = np.linspace(0, 40, 300)
    K = np.maximum(0, 1 - np.subtract.outer(x, x) ** 2)
    assert len(fewest(K, -1e-3)) == 3
    assert 0 < sum(work) < 300**3


def test_plain_vectors():
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    assert plain_vector(K, np.array([1.0, -np.sqrt(2), 1.0])).tolist() == [1, -1, 1]
    c = np.array([0.123456789, 1.0, 0.0])
    assert plain_vector(np.eye(3), c) is c


def test_descent_moves_points_to_where_k_is_indefinite():
    start = np.array([[0.0], [1.0], [2.25]])
    search = Search(Target(mk.Gaussian() - 0.1 * mk.Gaussian(0.5)))
    assert search.refute(start) is None
    found = search.refute(search.descend(start))
    assert isinstance(found, Counterexample)
    assert len(found.points) == 3
    # short numbers again, after all that moving
    assert (found.points * 2.0**13 == np.round(found.points * 2.0**13)).all()
    assert Search(Target(mk.Gaussian())).descend(start) is None


def test_fewer_points_by_descent():
    """Seven equispaced points are needed; three suffice at another distance."""
    search = Search(Target(mk.Gaussian() - 0.1 * mk.Gaussian(0.5)), seconds=60)
    many = search.refute(np.arange(8.0)[:, None])
    assert len(many.points) > 3
    assert len(search.with_fewer(many).points) == 3


def test_points_are_mirrored_into_the_domain():
    search = Search(Target(mk.Intersection()))
    points, K, _ = search.folded(np.array([[1.0], [-3.0], [3.0]]))
    assert points.ravel().tolist() == [1.0, 3.0]
    assert K.shape == (2, 2)
    assert search.fold
    everywhere = Search(Target(mk.Linear()))
    assert len(everywhere.folded(np.array([[1.0], [-1.0]]))[0]) == 2
    assert not everywhere.fold


def test_scales_come_from_the_kernel_too():
    scales = _scales(1e5 * mk.Epanechnikov(width=3e-7).on(0))
    assert {3e-7, 1.5e-7} <= set(scales)
    answer = prove(mk.Epanechnikov(width=3e-7))
    assert isinstance(answer, Counterexample)
    assert len(answer.points) == 3


def test_shapes_are_plain_and_distinct():
    for name, least, shape in SHAPES:
        for d in (least, 3, 9):
            points = shape(d)
            assert points.shape[1] == d, name
            assert len(np.unique(points, axis=0)) == len(points), name
            assert not np.signbit(points[points == 0]).any(), name
    first, second = clouds(2, (1.0,), 0), clouds(2, (1.0,), 0)
    assert (next(first) == next(second)).all()


def test_the_same_question_has_the_same_answer():
    one, two = (prove(mk.BSpline(4, width=0.3), seed=3, seconds=60) for _ in range(2))
    assert (one.points == two.points).all()
    assert (one.vector == two.vector).all()
