"""Splines, bins, votes and searches as ONNX; what has no right form there is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

from tests import whole_pipelines as made  # noqa: E402

from mercer.onnx import NotExportable, export  # noqa: E402


def answers(model, rows: np.ndarray) -> dict[str, np.ndarray]:
    proto = export(model, dtype="float64")
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


@pytest.mark.parametrize("name", made.EXPORTED)
def test_the_graph_answers_as_the_model(name) -> None:
    model = made.EXPORTED[name]()
    found = answers(model, made.NEW)
    if "label" in found:
        np.testing.assert_array_equal(found["label"], model.predict(made.NEW))
    else:
        np.testing.assert_allclose(found["prediction"], model.predict(made.NEW), atol=1e-9)
    methods = {"probabilities": "predict_proba", "decision": "decision_function"}
    for output, method in methods.items():
        if output in found:
            expected = getattr(model, method)(made.NEW)
            np.testing.assert_allclose(found[output], expected, atol=1e-9)
    assert len(found) > 1 or name in ("votes", "a pipeline in a vote") or "prediction" in found


@pytest.mark.parametrize("name", made.REFUSED)
def test_what_is_refused_says_what_to_do(name) -> None:
    make, words = made.REFUSED[name]
    with pytest.raises(NotExportable, match=words):
        export(make())
