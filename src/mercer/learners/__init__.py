"""Learners: scikit-learn estimators over `mercer.solvers`; each one loads on first use.

`catalog.py` names the supervised ones for users and commands. One family per file or folder:
`ridges`, `processes`, `svms`, `perceptrons`, `logistic`; by closeness `neighbors`, `smoothers`,
`local`, `centroids`; with intervals `intervals`; on images `templates`; without targets
`structure`. `_base.py` is what all of them share.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
