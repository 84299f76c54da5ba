"""Groups of examples.

lloyd.py     k-means in feature space, all starts at once
fisher.py    directions that separate given classes
"""
