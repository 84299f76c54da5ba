"""What stands around a kernel machine is saved with it: vectorizers, splines, votes, searches."""

from __future__ import annotations

import numpy as np
import pytest
from tests import whole_pipelines as made

import mercer

CASES = made.EXPORTED | {name: make for name, (make, _) in made.REFUSED.items()}


@pytest.mark.parametrize("name", CASES)
def test_it_answers_the_same_after_a_round_trip(name, tmp_path) -> None:
    model = CASES[name]()
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    rows = made.WORDS if "words" in str(model) or "Vectorizer" in str(model) else made.NEW
    asked = [m for m in ("predict", "predict_proba", "decision_function") if hasattr(model, m)]
    assert "predict" in asked
    for method in asked:
        np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows))


def test_of_a_search_the_best_model_is_kept(tmp_path) -> None:
    search = made.EXPORTED["a search"]()
    mercer.save(search, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert type(again) is mercer.KernelSVC
    assert search.best_params_["C"] == again.C
