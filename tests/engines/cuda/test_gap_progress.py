"""Progress by the logarithm of the gap; this file needs no GPU."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.engines.cuda.solvers.gap_progress import GapProgress


def test_a_problem_reports_how_far_the_logarithm_of_its_gap_has_come():
    moves = []
    share = GapProgress(moves.append, 1e-3)
    for gap in (4.0, 5.0, 0.5, 0.6, 1e-2, 1e-4, -np.inf):
        share(gap)
        assert 0 <= sum(moves) < 1
    assert sum(moves) > 0.6
    share.finish()
    assert sum(moves) == pytest.approx(1.0)
