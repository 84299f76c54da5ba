"""Gordon and Smola, "Perceptron and Kernels": features made by hand. Quadrics, a naive reader of
digits, mail, spirals, strokes; and the shotgun: many random features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import KernelSVC, Perceptron, data, plot
from mercer.maps import EmailFeatures, GlyphFeatures, PolarMap, PolynomialMap, RandomFourierMap


def pictures() -> Iterator[tuple[str, Any]]:
    row = panels(3)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 2))
    quadrics = {
        "circle": X[:, 0] ** 2 + X[:, 1] ** 2 - 2,
        "hyperbola": X[:, 0] * X[:, 1] - 0.3,
        "parabola": X[:, 1] - X[:, 0] ** 2 + 0.5,
    }
    for ax, (name, score) in zip(row, quadrics.items(), strict=True):
        keep = np.abs(score) > 0.15
        y = np.sign(score[keep])
        model = Perceptron(PolynomialMap(2, offset=1), epochs=2000, shuffle=False).fit(X[keep], y)
        plot.decision_regions(model, X[keep], y, ax=ax).set_title(name)
    yield "quadrics", row
    glyphs, digits = data.glyphs()
    sheet = panels(10, 2.0, 2.5, columns=5)
    for ax, image in zip(sheet, glyphs, strict=True):
        plot.glyph(image, ax=ax)
        ax.get_legend().remove()
        ax.set_title(ax.get_title().replace(", angles", "\nangles"), fontsize="x-small")
    yield "glyphs", sheet
    features = GlyphFeatures((40, 40)).fit(glyphs)
    print("digit", *features.get_feature_names_out())
    for digit, numbers in zip(digits, features.transform(glyphs), strict=True):
        print(f"{digit:5}", *(f"{v:7.2g}" for v in numbers))
    messages, kinds = data.mail(80)
    phi = EmailFeatures(("words",)).fit(messages[:60])
    filter_ = KernelSVC("linear()").fit(phi.transform(messages[:60]), kinds[:60])
    right = filter_.score(phi.transform(messages[60:]), kinds[60:])
    print(f"spam or ham: {right:.0%} of new messages right")
    yield "deciding_words", plot.deciding_words(filter_, phi, messages[61])
    spirals = data.spirals(160)
    # Two turns: the angle runs by ω = 2π·2 per unit of radius.
    yield "spirals", plot.before_and_after(*spirals, PolarMap(winding=4 * np.pi, unrolled=True))
    row = panels(6, 1.6, 1.8)
    for ax, name in zip(row, dict.fromkeys(data.strokes(6)[1]), strict=True):
        plot.strokes(data.stroke_paths(str(name)), ax=ax)
    yield "strokes", row
    shotgun = RandomFourierMap("gaussian(0.25)", 300, random_state=0)
    model = Perceptron(shotgun, epochs=100, random_state=0).fit(*spirals)
    ax = plot.decision_regions(model, *spirals)
    ax.set_title("300 random features, some of them good")
    yield "shotgun", ax


if __name__ == "__main__":
    save(pictures())
