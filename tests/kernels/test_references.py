"""Kernels that are computed by a detour, against what their definition says word for word."""

from itertools import product

import numpy as np
import pytest

from mercer.kernels import Mismatch, RandomWalk, TangentDistance


def _mismatch(x, z, p, m, alphabet):
    """Σ over every string u of p letters of the numbers of grams of x and of z near it."""

    def near(text, u):
        grams = (text[i : i + p] for i in range(len(text) - p + 1))
        return sum(sum(a != b for a, b in zip(gram, u, strict=True)) <= m for gram in grams)

    return sum(near(x, u) * near(z, u) for u in product(alphabet, repeat=p))


@pytest.mark.parametrize(
    ("letters", "p", "m"),
    [("A", 3, 1), ("AB", 3, 2), ("ABC", 4, 1), ("ABCD", 4, 3), ("ABCDE", 3, 0), ("ABCDE", 3, 2)],
)  # fmt: skip
def test_mismatch(letters, p, m):
    rng = np.random.default_rng(p + 10 * m)
    lengths = (0, p - 1, p, 5, 9, 14)
    texts = ["".join(rng.choice(list(letters), n)) for n in lengths]
    K = Mismatch(p, m, alphabet=len(letters))(texts)
    expected = [[_mismatch(x, z, p, m, letters) for z in texts] for x in texts]
    assert K.tolist() == expected
    assert Mismatch(p, m, alphabet=len(letters)).diag(texts).tolist() == np.diag(expected).tolist()


def _graph(rng, n):
    pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.5]
    return pairs, list(rng.choice(["C", "N", "O"], n))


def _walks_without_end(x, z, decay):
    """1ᵀ (I − λ A)⁻¹ 1 on the product graph: the pairs of nodes with one label."""

    def matrix(graph):
        edges, labels = graph
        A = np.zeros((len(labels), len(labels)))
        for i, j in edges:
            A[i, j] = A[j, i] = 1.0
        return A, np.array(labels)

    (A, a), (B, b) = matrix(x), matrix(z)
    same = (a[:, None] == b).ravel()
    both = np.kron(A, B)[np.ix_(same, same)]
    if not same.any():
        return 0.0
    one = np.ones(len(both))
    return float(one @ np.linalg.solve(np.eye(len(both)) - decay * both, one))


@pytest.mark.parametrize("share", [0.1, 0.9, 0.999])
def test_random_walks_without_end(share):
    rng = np.random.default_rng(4)
    graphs = [_graph(rng, n) for n in (1, 2, 3, 5, 6, 8)]
    degrees = [max((sum(i in e for e in edges) for i in range(len(labels))), default=0)
               for edges, labels in graphs]  # fmt: skip
    decay = share / max(degrees) ** 2  # close to where the series ends to converge
    expected = [[_walks_without_end(x, z, decay) for z in graphs] for x in graphs]
    k = RandomWalk(decay, "inf")
    np.testing.assert_allclose(k(graphs), expected, rtol=1e-10)
    np.testing.assert_allclose(k.diag(graphs), np.diag(expected), rtol=1e-10)


def test_random_walks_at_the_edge_of_convergence():
    """Two rings have every degree 2: their walks of n steps are 4ⁿ times the pairs of nodes."""
    ring = ([(i, (i + 1) % 5) for i in range(5)], ["C"] * 5)
    for share in (0.5, 0.99, 0.9999):
        value = RandomWalk(share / 4, "inf")([ring]).item()
        assert value == pytest.approx(25 / (1 - share), rel=1e-9)


def _smooth(image, blur, orders):
    """The image convolved with a Gaussian or its derivative in each direction, edges mirrored."""
    reach = int(4 * blur + 0.5)
    t = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (t / blur) ** 2)
    weights /= weights.sum()
    for axis, order in enumerate(orders):
        kernel = weights if order == 0 else -t / blur**2 * weights
        image = np.apply_along_axis(
            lambda line, kernel=kernel: np.convolve(
                np.pad(line, reach, mode="symmetric"), kernel, mode="valid"
            ),
            axis,
            image,
        )
    return image


def _tangents(image, blur):
    """How the image changes if it moves, turns, grows, is sheared or thickened."""
    height, width = image.shape
    down, right = -_smooth(image, blur, (1, 0)), -_smooth(image, blur, (0, 1))
    y, x = np.mgrid[:height, :width].astype(float)
    y, x = y - y.mean(), x - x.mean()
    velocities = [(0, 1), (1, 0), (-x, y), (y, x), (-y, x), (x, y)]
    moved = [v * down + u * right for v, u in velocities]
    return [*moved, right**2 + down**2]


def test_tangent_distance():
    rng = np.random.default_rng(1)
    images = rng.random((4, 9, 8))
    D = TangentDistance(9, 8, blur=0.8).tangent_distance(images)
    for i, x in enumerate(images):
        for j, z in enumerate(images):
            directions = [t.ravel() for image in (x, z) for t in _tangents(image, 0.8)]
            basis = np.array(directions).T
            gap = (x - z).ravel()
            steps = np.linalg.lstsq(basis, gap, rcond=1e-6)[0]
            expected = np.linalg.norm(gap - basis @ steps)
            assert np.ravel(D)[i * 4 + j] == pytest.approx(expected, rel=1e-3, abs=1e-6)
