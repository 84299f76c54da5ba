"""‖x‖² of every row is read by several parts of a fit, and computed once."""

import numpy as np
import pytest

from mercer.gram import row_values
from mercer.gram import rows as prepared
from mercer.gram.accuracy import errors_in_single
from mercer.kernels import as_kernel


@pytest.mark.parametrize("text", ["(0.01 * linear() + 1.0)**3", "linear()", "gaussian(3.0)"])
def test_norms_are_computed_once(text, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 70))
    seen, compute = [], prepared.squared_norms

    def counted(rows, center=None):
        seen.append(rows.shape)
        return compute(rows, center)

    for module in (prepared, row_values):
        monkeypatch.setattr(module, "squared_norms", counted)
    gram = as_kernel(text).gram(X)
    own = gram.diagonal()
    assert errors_in_single(gram) is not None
    assert len(seen) <= 1
    np.testing.assert_allclose(own, as_kernel(text)(X, X).diagonal())


def test_norms_of_chosen_rows_are_theirs():
    X = np.random.default_rng(1).normal(size=(40, 70))
    side = as_kernel("linear()**2").gram(X).operands()[0]
    (rows,) = side.matrices
    some = slice(5, 9)
    np.testing.assert_allclose(side.squared_norms(rows), (X**2).sum(axis=1))
    np.testing.assert_allclose(side.squared_norms(rows, some), (X[some] ** 2).sum(axis=1))
    np.testing.assert_allclose(side.take(some).squared_norms(rows), (X[some] ** 2).sum(axis=1))
