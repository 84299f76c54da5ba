"""A kernel that is named twice, or found by the search as well, is judged once."""

from mercer import data
from mercer.selection import compare


def test_a_kernel_named_twice_races_once():
    X, y = data.moons(60)
    once = compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], cv=3, holdout=None)
    twice = compare(
        X, y, kernels=["gaussian(1)", "gaussian(sigma=1)"], learners=["ridge"], cv=3, holdout=None
    )
    assert [r.name for r in twice.rows] == [r.name for r in once.rows]
    assert twice.best_row.scores == once.best_row.scores
    assert len(twice.oof.rows) == 60
    assert not twice.best_row.stopped
