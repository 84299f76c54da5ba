"""Learners: scikit-learn estimators over `mercer.solvers`; each one loads on first use.

`catalog.py` names the supervised ones for users and commands. One family per file or folder:
`ridges`, `processes`, `svms`, `perceptrons`, `logistic`; by closeness `neighbors`, `smoothers`,
`local`, `centroids`; with intervals `intervals`; on images `templates`; without targets
`structure`. `_base.py` is what all of them share.
"""

from __future__ import annotations

from mercer._lazy import by_name, in_stub

_WHERE = in_stub(__name__)
__all__ = sorted(_WHERE)
__getattr__ = by_name(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
