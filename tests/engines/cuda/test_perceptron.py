"""The perceptron on a device against that on the CPU: the same updates at the same visits."""

import pytest

BEGIN = """
import numpy as np, torch
from mercer.engines.cuda import gram
from mercer.engines.cuda.gram import CudaGram
from mercer.kernels import Linear, Polynomial
from mercer.engines.cuda.solvers import perceptron
from mercer.engines.cuda.solvers import perceptron_walk
from mercer.engines.cuda.solvers.perceptron import DevicePerceptron
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.rule import Rule
from mercer.gram.host import HostGram

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)

def both(kernel, X, labels, rule, orders, allowed=np.inf):
    a = DevicePerceptron(CudaGram(kernel, torch.tensor(X, device=DEVICE)), labels, rule)
    b = DualPerceptron(HostGram(kernel, X.astype(float)), labels, rule)
    for order in orders:
        a.walk(order, allowed)
        b.walk(order, allowed)
        if b.tally.updates >= allowed:
            break
    return a, b

def same(a, b):
    assert len(a.journal) == len(b.journal) > 0
    assert (a.journal.positions == b.journal.positions).all()
    assert (a.journal.times == b.journal.times).all()
    assert (a.journal.units == b.journal.units).all()
    assert (a.tally.visits, a.tally.updates) == (b.tally.visits, b.tally.updates)
    assert np.isclose(a.tally.loss, b.tally.loss)
    assert np.allclose(a.bias, b.bias)

"""

CASES = {
    "blocks": """
perceptron_walk.STRIP_ROWS = 16
X = rng.integers(-2, 3, size=(36, 3)).astype(np.float32)
orders = [rng.permutation(36), slice(0, 36)]
for outputs, ranked, other in ((1, False, True), (3, False, False), (3, True, True)):
    labels = rng.integers(0, max(2, outputs), size=36)
    for first in (True, False):
        rule = Rule(outputs, ranked, first, rate=0.5, bias=first == other)
        same(*both(Polynomial(2, 1.0), X, labels, rule, orders))
    a, b = both(Polynomial(2, 1.0), X, labels, Rule(outputs, ranked), orders, allowed=21)
    same(a, b)
    assert a.tally.updates == 21
    K, alpha = Polynomial(2, 1.0)(X.astype(float)), np.zeros((36, outputs))
    np.add.at(alpha, a.journal.positions, a.journal.units)
    assert np.allclose(a.scores, K @ alpha)
""",
    "ties up to rounding": """
whole = rng.integers(-2, 3, size=(40, 3)).astype(float)
for outputs, ranked in ((1, False), (3, False), (3, True)):
    labels = rng.integers(0, max(2, outputs), size=40)
    for first in (True, False):
        a = DevicePerceptron(
            CudaGram(Linear(), torch.tensor(0.1 * whole, device=DEVICE)), labels,
            Rule(outputs, ranked, first, rate=0.1),
        )
        b = DualPerceptron(HostGram(Linear(), whole), labels, Rule(outputs, ranked, first))
        for _ in range(2):
            a.walk(slice(0, 40))
            b.walk(slice(0, 40))
        assert (a.journal.positions == b.journal.positions).all()
        assert (a.journal.times == b.journal.times).all()
        assert (a.journal.units == b.journal.units).all()
""",
    "weights": """
X = rng.integers(-2, 3, size=(60, 3)).astype(np.float32)
for outputs, ranked in ((1, False), (3, False), (3, True)):
    labels, weights = rng.integers(0, max(2, outputs), size=60), rng.choice([0.5, 1.0, 3.0], 60)
    rule = Rule(outputs, ranked, rate=0.5, bias=True)
    gram = CudaGram(Polynomial(2, 1.0), torch.tensor(X, device=DEVICE))
    a = DevicePerceptron(gram, labels, rule, weights=weights)
    b = DualPerceptron(HostGram(Polynomial(2, 1.0), X.astype(float)), labels, rule, weights=weights)
    for order in (rng.permutation(60), slice(0, 60)):
        a.walk(order)
        b.walk(order)
    same(a, b)
""",
    "K of a span of rows at a time": """
perceptron_walk.STRIP_ROWS = 16
perceptron.K_SHARE = 1e-12
perceptron.PANEL = gram.PANEL = 256
X = rng.integers(-2, 3, size=(50, 3)).astype(np.float32)
for outputs, ranked in ((1, False), (3, True)):
    labels = rng.integers(0, max(2, outputs), size=50)
    orders = [rng.permutation(50), slice(0, 50)]
    a, b = both(Polynomial(2, 1.0), X, labels, Rule(outputs, ranked, bias=True), orders)
    assert len(a._all.K) == 0
    same(a, b)
    assert np.allclose(a.scores, b.scores)
    a, b = both(Polynomial(2, 1.0), X, labels, Rule(outputs, ranked), orders, allowed=21)
    assert a.tally.updates == 21
    same(a, b)
""",
    "more updates in an epoch than are taken at a time": """
perceptron.PANEL = 1
X = rng.integers(-2, 3, size=(700, 3)).astype(np.float32)
a, b = both(Linear(), X, rng.integers(0, 2, size=700), Rule(1, False), [slice(0, 700)])
assert len(a.journal) > 300
same(a, b)
""",
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_same_updates_at_the_same_visits(name, run_on_device):
    run_on_device(BEGIN + CASES[name] + '\nprint("checked")\n')
