"""MNIST in five numbers: loops, joints of three and four lines, angles, ink."""

from __future__ import annotations

import numpy as np
from _harness import Row, below, claim, data_file, main, no_data, skipped, timed
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.maps import GlyphFeatures

TRAIN, TEST = 10_000, 5_000


def measure() -> list[Row]:
    name, target = "MNIST by five glyph features, 10000 / 5000, error", below(50.0, "%")
    path = data_file("mnist.npz")
    if path is None:
        return [skipped(name, target, no_data("mnist.npz"))]
    with np.load(path) as d:
        X, y = d["X_train"][:TRAIN].astype(np.float32), d["y_train"][:TRAIN]
        Z, t = d["X_test"][:TEST].astype(np.float32), d["y_test"][:TEST]
    features = GlyphFeatures((28, 28)).fit(X)
    features.transform(X[:2])  # compile
    seconds = timed(lambda: features.transform(Z))
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(30))
    predicted = model.fit(features.transform(X), y).predict(features.transform(Z))
    error = 100.0 * float(np.mean(predicted != t))
    best = [int(c) for c in range(10) if np.mean(predicted[t == c] == c) > 0.5]
    note = f"more than half right of the classes {best}"
    pace = claim("one MNIST image", seconds / TEST, None, below(1e-3, "s"), f"{TEST} images")
    return [claim(name, error, None, target, note), pace]


if __name__ == "__main__":
    main(measure)
