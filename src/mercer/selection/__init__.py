"""Choosing: which kernel with which learner, at which scale, for data at hand.

In the order in which `comparison` uses them: `preprocess` makes rows ready, `folds` holds some out,
`racing` runs candidates against each other by means of `trainers` and `metrics`, `board` shows what
came out. `contest` is a board for people. `kernel_search` grows kernels from building blocks;
`parameters` learns theirs by descent.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
