"""
A naive reader of digits
========================

Loops, joints, angles and ink, found on the skeleton of each drawing.
"""

import matplotlib.pyplot as plt

from mercer import data, plot
from mercer.maps import GlyphFeatures

glyphs, digits = data.glyphs()
sheet = plt.subplots(2, 5, figsize=(11, 5.4), layout="constrained")[1].ravel()
for ax, image in zip(sheet, glyphs, strict=True):
    plot.glyph(image, ax=ax)
    ax.get_legend().remove()
    ax.set_title(ax.get_title().replace(", angles", "\nangles"), fontsize="x-small")
features = GlyphFeatures((40, 40)).fit(glyphs)
print("digit", *features.get_feature_names_out())
for digit, numbers in zip(digits, features.transform(glyphs), strict=True):
    print(f"{digit:5}", *(f"{v:7.2g}" for v in numbers))
plt.show()
