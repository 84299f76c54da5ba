"""The classes that estimators derive from: scikit-learn's.

scikit-learn has no types, and mypy lets a class that derives from an unknown one take any argument.
So it is told of them by a file of its own; other type checkers read scikit-learn.
"""

MYPY = False  # mypy takes this name as true
if MYPY:
    from mercer._sklearn import *  # noqa: F403
else:
    from sklearn.base import *  # noqa: F403

    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn below 1.9 has none
        CallbackSupportMixin, with_callbacks = object, None
