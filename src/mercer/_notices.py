"""What the library says beside its answers: warnings of its own classes, and the log ``mercer``.

A warning points at the line of the user's program that caused it, however deep in the library,
in scikit-learn or in a worker it arose. The log is silent until a program configures `logging`.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

#: Folders of code that is not the user's: ours, and of packages that call functions for others.
_LIBRARIES = ("sklearn", "joblib", "scipy", "numpy", "dask", "distributed")
_OURS = str(Path(__file__).parent) + os.sep
#: Files of the standard library that call functions for others.
_CALLERS = ("contextlib.py", "functools.py", "threading.py", "concurrent")


class MercerWarning(UserWarning):
    """Whatever the library warns of; the classes below say what kind of thing it is.

    Examples
    --------
    >>> import warnings
    >>> import mercer
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mercer.MercerWarning)
    ...     try:
    ...         _ = mercer.KernelRidge(mercer.Sigmoid(1.0, -1.0)).fit([[0.0], [1.0]], [0, 1])
    ...     except mercer.KernelWarning:
    ...         print("not a kernel")
    not a kernel
    """


class KernelWarning(MercerWarning):
    """The kernel does not suit the learner or the data: refuted, or far too wide or narrow.

    Examples
    --------
    >>> import mercer
    >>> issubclass(mercer.KernelWarning, mercer.MercerWarning)
    True
    """


class DataWarning(MercerWarning):
    """The rows are not what the model was made for, or some of them have no good answer.

    Examples
    --------
    >>> import warnings
    >>> import mercer
    >>> model = mercer.NadarayaWatsonRegressor(bandwidth=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     _ = model.predict([[1e6]])
    >>> told[0].category is mercer.DataWarning
    True
    """


class NumericalWarning(MercerWarning):
    """Rounding, or an iteration that ended early, has cost digits of the answer.

    Those about iterations are scikit-learn's ConvergenceWarning, too, and those about systems of
    equations SciPy's LinAlgWarning.

    Examples
    --------
    >>> import mercer
    >>> issubclass(mercer.NumericalWarning, mercer.MercerWarning)
    True
    """


class MachineWarning(MercerWarning):
    """Memory, cache, compiler, device or cluster: the answer is right, and takes longer.

    Examples
    --------
    >>> import warnings
    >>> import mercer
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mercer.MachineWarning)
    ...     _ = mercer.KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0])
    """


def warn(message: str, category: type[Warning] = MercerWarning) -> None:
    """Warn of something at the line of the user's program that led here."""
    from traceback import extract_stack

    frames = reversed(extract_stack())  # this function is the first one, and a warning's level 1
    level = next((i for i, frame in enumerate(frames, 1) if _is_users(frame.filename)), 2)
    warnings.warn(message, category, stacklevel=level)


def _is_users(file: str) -> bool:
    if file.startswith(_OURS):
        return False
    parts = Path(file).parts
    return not any(name in parts for name in (*_LIBRARIES, *_CALLERS))


def log(message: str, *values: object) -> None:
    """Write to the log ``mercer`` what was chosen, and why."""
    from logging import getLogger  # `import mercer` does without

    getLogger("mercer").info(message, *values)
