"""One small data set, fitted models, and what onnxruntime makes of their export."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)


def run(model, X, dtype, columns=None):
    """The outputs of the exported model, by name."""
    import mercer.onnx

    proto = mercer.onnx.export(model, dtype=dtype)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    if columns is None:
        feed = {"X": np.asarray(X).astype(dtype)}
    else:
        feed = columns
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


@pytest.fixture(scope="session")
def in_onnx():
    return run


@pytest.fixture(scope="session")
def sample():
    """Rows ≥ 0 (some kernels need that) that float32 holds exactly; one column of categories."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0.1, 1.4, (60, 3)).astype(np.float32).astype(np.float64)
    X[:, 2] = rng.integers(0, 3, 60)
    t = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    three = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))
    return {
        "X": X[:36],
        "new": np.concatenate([X[30:36], X[36:]]),
        "t": t[:36],
        "two": np.array(["no", "yes"])[(t[:36] > np.median(t[:36])).astype(int)],
        "three": three[:36],
    }
