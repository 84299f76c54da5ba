"""Which rows are held out when, and which are drawn when there are too many."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

Split = tuple[np.ndarray, np.ndarray]


def draw_order(y: np.ndarray, classification: bool, seed: int) -> np.ndarray:
    """A shuffled order of the rows whose every beginning has the shares of classes of the whole.

    >>> y = np.array([0, 0, 0, 0, 1, 1])
    >>> sorted(y[draw_order(y, True, 0)[:3]].tolist())
    [0, 0, 1]
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(y))
    if not classification:
        return order
    when = np.empty(len(y))
    for label in np.unique(y):
        mine = order[y[order] == label]
        # The i-th of m stands where a share i/m of the whole has been drawn.
        when[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return order[np.argsort(when[order], kind="stable")]


def splits_of(
    cv: Any,
    X: Any,
    y: np.ndarray,
    classification: bool,
    repeats: int,
    seed: int,
    extra: int = 0,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
) -> tuple[list[list[Split]], str, tuple[str, ...]]:
    """One list of (train, test) per repeat, what to call them, and what had to be changed.

    `extra` repeats are made beyond those asked for, for time that is left over. Rows of the same
    number in `groups` are held out together; with `times`, those held out lie after the others.
    """
    if hasattr(cv, "split") and not isinstance(cv, str):
        splits = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros(len(y)), y)]
        return [splits], f"{type(cv).__name__} ({len(splits)} folds)", ()
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ValueError(f"cv is a number of folds, at least 2, or a splitter; got {cv!r}")
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)) or repeats < 1:
        raise ValueError(f"repeats is a whole number ≥ 1, got {repeats!r}")
    if times is not None:
        return [_forward(times, int(cv))], f"{cv} steps forward in time", ()
    k, notes = _folds_for(y, int(cv)) if classification else (int(min(cv, len(y))), ())
    made = []
    for repeat in range(repeats + extra):
        folds, groups = _splitter(k, classification, groups, seed + repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said above, in our own words
            made.append(list(folds.split(np.zeros(len(y)), y, groups)))
    name = f"{k}-fold cross-validation" + (f", {repeats} times" if repeats > 1 else "")
    return made, name, notes


def _forward(times: np.ndarray, cv: int) -> list[Split]:
    """Parts by time: each but the first is held out once, all earlier ones are fitted on."""
    from sklearn.model_selection import TimeSeriesSplit

    order = np.argsort(times, kind="stable")
    k = min(cv, len(times) - 1)
    return [(order[a], order[b]) for a, b in TimeSeriesSplit(k).split(order)]


def _splitter(
    k: int, classification: bool, groups: np.ndarray | None, seed: int
) -> tuple[Any, np.ndarray | None]:
    """A shuffled k-fold, and the groups it keeps together, where there are enough of them."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    if groups is None or len(np.unique(groups)) < k:
        return (StratifiedKFold if classification else KFold)(
            k, shuffle=True, random_state=seed
        ), None
    kind = StratifiedGroupKFold if classification else GroupKFold
    return kind(k, shuffle=True, random_state=seed), groups


def _folds_for(y: np.ndarray, cv: int) -> tuple[int, tuple[str, ...]]:
    """How many folds the classes allow, and what is to be said about that."""
    k = min(cv, len(y))
    sizes = np.unique(y, return_counts=True)[1]
    if sizes.max() < k:
        k = max(2, int(sizes.max()))
        return k, (f"{k} folds, because no class has {cv} rows",)
    few = int((sizes < k).sum())
    if not few:
        return k, ()
    words = "classes have fewer rows than there are folds, and are missing from some of them"
    return k, (f"{few} of {len(sizes)} {words}",)


def inner_split(
    y: np.ndarray,
    classified: bool,
    seed: int,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
) -> Split:
    """Three quarters of training rows to fit on, and a quarter to choose parameters by.

    As in the folds themselves, rows of a group stay together, and with `times` the last ones judge.

    >>> fit, judge = inner_split(np.arange(8.0), False, 0, groups=np.arange(8) // 2)
    >>> len(judge), set(fit // 2) & set(judge // 2)
    (2, set())
    >>> inner_split(np.arange(4.0), False, 0, times=np.array([3, 9, 1, 2]))
    (array([0, 2, 3]), array([1]))
    """
    random, n = np.random.default_rng(seed), len(y)
    held = np.zeros(n, dtype=bool)
    if times is not None:
        held[np.argsort(times, kind="stable")[n - max(1, n // 4) :]] = True
    elif groups is not None and len(np.unique(groups)) >= 4:
        _, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        turn = random.permutation(len(sizes))
        held = np.isin(index, turn[: np.searchsorted(np.cumsum(sizes[turn]), n / 4) + 1])
    else:
        order = random.permutation(n)
        # Every fourth along the sorted targets: both parts see the same distribution.
        order = order[np.argsort(y[order], kind="stable")]
        held[order[random.integers(4) :: 4]] = True
    if held.all() or (classified and len(np.unique(y[~held])) < 2):
        held[:] = False
        held[np.argmax(y)] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def within(split: Split, rows: np.ndarray, n: int) -> Split:
    """A split cut down to some of the rows, as indices among those."""
    index = np.full(n, -1)
    index[rows] = np.arange(len(rows))
    train, test = index[split[0]], index[split[1]]
    return np.sort(train[train >= 0]), np.sort(test[test >= 0])
