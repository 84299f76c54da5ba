"""What the rules prove: every valid leaf, every composite of them, and nothing else."""

import random
import subprocess
import sys

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.proof import Proof, prove
from mercer.proof.prover import from_claim, objection


def test_every_valid_leaf_is_proved_with_its_limits(valid):
    leaf, domain, max_dims, n_features = valid
    proof = prove(leaf, n_features=n_features)
    assert isinstance(proof, Proof)
    assert proof
    assert (proof.kernel, proof.domain, proof.max_dims) == (leaf, domain, max_dims)
    assert proof.rule


def test_no_indefinite_kernel_is_proved(indefinite):
    _, k, n_features, _ = indefinite
    assert not isinstance(prove(k, n_features=n_features, seconds=0.0), Proof)


def _shift(X):
    return np.asarray(X) + 1.0


def _weight(X):
    return np.asarray(X).sum(axis=1) - 0.5


def _tree(rng, leaves, depth):
    """A random valid expression: every building block keeps a kernel a kernel."""
    if depth == 0:
        return rng.choice(leaves)

    def part():
        return _tree(rng, leaves, depth - 1)

    blocks = [
        lambda: part() + part(),
        lambda: part() * part(),
        lambda: rng.uniform(0, 3) * part(),
        lambda: part() ** rng.randint(1, 3),
        lambda: part() + rng.uniform(0, 2),
        lambda: part().polynomial([rng.uniform(0, 1) for _ in range(rng.randint(1, 4))]),
        lambda: part().exp(),
        lambda: part().normalized(),
        lambda: part().warp(_shift),
        lambda: part().reweight(_weight),
        lambda: part().on([1, 0]),
    ]
    return rng.choice(blocks)()


def test_200_random_valid_trees_are_proved(valid_leaves):
    rng = random.Random(7)
    # φ may map to any number of columns, so leaves with a limit are for trees without a warp
    leaves = [k for k in valid_leaves if k.claim(None).max_dims is None]
    leaves = [k for k in leaves if not isinstance(k.get_params().get("sigma"), np.ndarray)]
    X = np.random.default_rng(0).uniform(0, 1, (12, 2))
    seen, checked = set(), 0
    for _ in range(200):
        k = _tree(rng, leaves, rng.randint(1, 3))
        proof = prove(k, n_features=2)
        assert isinstance(proof, Proof), f"{k!r}\n{proof}"
        seen.add(type(k).__name__)
        K = k(X)
        if np.isfinite(K).all():  # exp(exp(…)) may overflow
            checked += 1
            assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max(), repr(k)
    assert len(seen) >= 9
    assert checked > 150


def test_one_bad_leaf_spoils_a_tree(valid_leaves):
    bad = [mk.Sigmoid(1, -1), mk.Epanechnikov(), mk.SquaredDistance(), -mk.Gaussian()]
    rng = random.Random(3)
    leaves = [mk.Gaussian(), mk.Linear(), mk.Polynomial(2, offset=1.0)]
    for _ in range(30):
        k = _tree(rng, leaves, 2) + rng.choice(bad)
        assert not isinstance(prove(k, n_features=2, seconds=0.0), Proof), repr(k)


def test_the_limit_in_dimensions():
    k = mk.Laplacian(norm="inf")
    assert prove(k, n_features=2)
    assert prove(k).max_dims == 2
    assert not prove(k, n_features=3)
    assert prove(k + mk.Gaussian()).max_dims == 2
    assert prove(k * mk.Wendland(1)).max_dims == 2
    # two columns of many stay within the limit; φ could leave it
    assert prove(k.on([0, 4]), n_features=5)
    assert not isinstance(prove(k.on([0, 1, 4]), n_features=5, seconds=0.0), Proof)
    assert not isinstance(prove(k.warp(_shift), n_features=2, seconds=0.0), Proof)


def test_a_claim_is_held_to_its_own_limit():
    claim = mk.Claim(True, "a rule", mk.Gaussian(), max_dims=2)
    assert from_claim(claim, 2).max_dims == 2
    assert from_claim(claim, None)
    assert from_claim(claim, 3) is None
    assert "at most 2 dimensions, not in 3" in objection(claim, 3)


def test_the_domain_is_carried_upwards():
    proof = prove(mk.Gaussian() * mk.Intersection() + 1.0)
    assert proof.domain == "x ≥ 0"
    assert [part.domain for part in proof.parts] == ["x ≥ 0", ""]


def test_data_gives_the_number_of_columns():
    k = mk.Laplacian(norm="inf")
    assert prove(k, data=np.zeros((2, 2)))
    assert not prove(k, data=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="3 columns"):
        prove(k, data=np.zeros((2, 3)), n_features=2)


def test_what_can_be_asked_about():
    assert prove("gaussian(sigma=2) + 3")
    assert mk.Gaussian().prove()
    assert prove(mk.Gaussian)
    with pytest.raises(TypeError, match="class"):
        prove(dict)
    with pytest.raises(TypeError):
        prove(3)
    for bad, error in ((0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="n_features"):
            prove(mk.Gaussian(), n_features=bad)


def test_a_proof_prints_as_a_tree():
    text = str(prove(mk.Gaussian() * mk.Linear() + mk.Laplacian(norm="inf")))
    lines = text.splitlines()
    assert lines[0] == "✓ a kernel in at most 2 dimensions"
    assert len(lines) == 6
    assert lines[1].startswith("└─ Gaussian() * Linear() + Laplacian")
    assert lines[2].startswith("   ├─ Gaussian() * Linear()")
    assert lines[3].startswith("   │  ├─ Gaussian()")
    assert lines[5].endswith("[in at most 2 dimensions]")
    assert "dimensions" not in lines[1]  # said where it arises, not on the way up


def test_proofs_need_numpy_only():
    code = "import sys, mercer; mercer.prove('gaussian()'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"scipy", "mpmath", "sklearn"} & set(loaded.stdout.split())


def test_a_function_that_gives_one_number_for_all_rows_is_no_weight():
    """`np.sum` over a whole table: a proof calls f, and says what it gave."""
    assert prove(mk.Gaussian(2.0).reweight(lambda Z: Z.sum(axis=1)))
    found = prove(mk.Gaussian(2.0).reweight(np.sum), n_features=2)
    assert not found
    assert "1 numbers for 3 rows" in str(found)
    assert prove(mk.Gaussian(2.0).reweight(lambda Z: Z[:, 9]))  # of wider tables
