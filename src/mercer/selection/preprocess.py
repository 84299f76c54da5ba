"""From raw rows to what kernels take: scikit-learn steps, fitted without a look at the targets.

Because no step sees a target, all folds may share one fitted preprocessing (and so one kernel
matrix): a held-out row lends the others its mean and spread, never its answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from mercer._arrays import is_sparse
from mercer.data.columns import listed
from mercer.data.dataset import Dataset
from mercer.data.schema import DATES
from mercer.maps.email.features import EmailFeatures
from mercer.maps.table import CommonScale, TableColumns, TextColumn
from mercer.selection.numbering import HUGE, huge_numbers

#: Distinct values of a category that get a column of their own; the rest share one.
MOST_CATEGORIES = 100
#: One-hot columns beyond this many stay sparse.
SPARSE_WIDTH = 2_000
#: Columns that words of a text are counted in, and directions that are kept of them.
BUCKETS, TOPICS = 1 << 14, 50
#: Cross-validation needs at least so many rows, and a classification has at most so many classes.
FOLDED_ROWS, MOST_CLASSES = 4, 100


@dataclass(frozen=True)
class Preprocessing:
    """`steps` for a Pipeline, not yet fitted; `kind` of what comes out; what is to be said."""

    steps: tuple[tuple[str, Any], ...]
    kind: str
    notes: tuple[str, ...] = ()


def preprocessing(found: Dataset, left_out: Iterable[int] = ()) -> Preprocessing:
    """The steps for a kind of data, which must have targets that can be learned.

    `left_out` are columns of an array that the model is to do without.
    """
    check_targets(found)
    if found.kind != "vectors" or is_sparse(found.X):
        return _BY_KIND[found.kind](found)
    gone, notes = set(left_out), []
    huge = [j for j in range(found.X.shape[1]) if j not in gone and huge_numbers(found.X[:, j])]
    if huge:
        notes.append(f"{HUGE}: {listed([f'x{j}' for j in huge])}")
    kept = [j for j in range(found.X.shape[1]) if j not in gone.union(huge)]
    if len(kept) in (0, found.X.shape[1]):
        return _numbers(found)
    made = _numbers(replace(found, X=found.X[:, kept]))
    first = ("columns", ColumnTransformer([("kept", "passthrough", kept)]))
    return replace(made, steps=(first, *made.steps), notes=(*notes, *made.notes))


def check_targets(found: Dataset) -> Dataset:
    """The same data; raises where there is nothing to learn."""
    if found.y is None:
        raise ValueError("targets are needed: give y, the name of a column, or a data set's")
    n = len(found)
    if n < FOLDED_ROWS:
        raise ValueError(
            f"{n} rows are too few to hold some out; at least {FOLDED_ROWS} are needed"
        )
    if found.task == "regression":
        return found
    classes, sizes = np.unique(found.y, return_counts=True)
    hint = "is this a regression? (task='regression')"
    if sizes.max() < 2:
        raise ValueError(f"{len(classes)} classes of one row each: {hint}")
    if len(classes) > max(MOST_CLASSES, n // 3):
        raise ValueError(f"{len(classes)} classes in {n} rows are too many to learn; {hint}")
    return found


def _mail(found: Dataset) -> Preprocessing:
    steps = (("features", EmailFeatures(min_df=2)),)
    return Preprocessing(steps, "sparse", ("mail is read as words, hosts, dates, senders …",))


def _strings(found: Dataset) -> Preprocessing:
    # A table that has the column is read as well as a list of strings.
    column = found.schema.columns[0] if found.schema and found.schema.columns else None
    return Preprocessing((("text", TextColumn(column)),), "strings")


# --- numbers -------------------------------------------------------------------------------------


def _numbers(found: Dataset) -> Preprocessing:
    X = found.X
    if is_sparse(X):
        if not np.isfinite(X.data).all():
            raise ValueError("sparse rows hold NaN or infinite values")
        words = "sparse columns are divided by their maximum"
        return Preprocessing((("scale", MaxAbsScaler()),), "sparse", (words,))
    values = np.asarray(X, dtype=np.float64) if X.dtype.kind != "f" else X
    fill, notes = _filled(values)
    pixels = found.kind == "images" or (not fill and looks_like_pixels(values))
    scale, note = _scale(values, pixels, may_split=not fill)
    kind = "pixels" if pixels else "vectors"
    return Preprocessing((*fill, ("scale", scale)), kind, (*notes, note))


def _filled(values: np.ndarray) -> tuple[tuple[tuple[str, Any], ...], list[str]]:
    """The step that fills gaps, where there are any, and what it does."""
    if np.isinf(values).any():
        raise ValueError("X holds infinite values; replace them or take the logarithm first")
    gaps = np.isnan(values)
    if not gaps.any():
        if (values == values[0]).all():
            raise ValueError("every column of X is constant: nothing can be learned")
        return (), []
    empty = int(gaps.all(axis=0).sum())
    if empty == values.shape[1]:
        raise ValueError("every value of X is missing: nothing can be learned")
    notes = [
        f"{int(gaps.sum())} missing values in {int(gaps.any(axis=0).sum())} columns are filled "
        "in by the median and marked by a column"
    ]
    if empty:
        notes.append(f"{empty} columns hold nothing and count as 0")
    return (("fill", _median(True)),), notes


def _scale(values: np.ndarray, pixels: bool, may_split: bool) -> tuple[Any, str]:
    """How columns of numbers are scaled, in code and in words."""
    if pixels:
        return CommonScale(), "all columns are divided by one number, their common maximum"
    bits = _bits(values)
    if bits.all():
        return CommonScale(), "columns of zeros and ones stay as they are"
    words = "columns are shifted and scaled to mean 0 and spread 1"
    if not bits.any() or not may_split:
        return StandardScaler(), words
    # A rare bit scaled to spread 1 would outweigh everything else in its few rows.
    rest = ("numbers", StandardScaler(), np.flatnonzero(~bits).tolist())
    split = ColumnTransformer([rest, ("bits", CommonScale(), np.flatnonzero(bits).tolist())])
    return split, f"{words}, but for those of zeros and ones"


def _bits(values: np.ndarray) -> np.ndarray:
    """Which columns hold zeros and ones only."""
    return np.asarray(((values == 0) | (values == 1)).all(axis=0))


def _median(mark: bool) -> Any:
    return SimpleImputer(strategy="median", add_indicator=mark, keep_empty_features=True)


def looks_like_pixels(X: np.ndarray) -> bool:
    """Many columns ≥ 0 that mostly reach the same maximum: counts of ink, not measurements.

    >>> import numpy as np
    >>> looks_like_pixels(np.tile([[0.0], [9.0], [255.0]], (1, 16))), looks_like_pixels(np.eye(2))
    (True, False)
    """
    if X.shape[1] < 16 or X.min() < 0:
        return False
    tops = X.max(axis=0)
    whole = tops.max()
    # A table of 0s and 1s reaches the same maximum for another reason.
    return bool(whole > 0 and np.mean(tops > 0.8 * whole) > 0.5 and len(np.unique(X[:50])) > 2)


# --- tables --------------------------------------------------------------------------------------


def _table(found: Dataset) -> Preprocessing:
    types, plain = _types(found), found.X.dtypes
    huge = [c for c in found.X.columns if plain[c].kind in "iuf" and huge_numbers(found.X[c])]
    huge = huge if len(huge) < found.X.shape[1] else []
    columns = TableColumns(types | dict.fromkeys(huge, "left out"))
    clean = columns.fit_transform(found.X)
    numbers, words = [*columns.numbers_, *columns.dates_], columns.categories_
    values = clean[numbers].to_numpy(dtype=np.float64)
    missing = np.isnan(values).any(axis=0)
    notes = [f"{HUGE}: {listed(huge)}"] if huge else []
    gaps = [c for c, gap in zip(numbers, missing, strict=True) if gap]
    if gaps:
        notes.append(f"missing numbers are filled in by the median and marked: {listed(gaps)}")
    pixels = not words and not columns.texts_ and not missing.any() and looks_like_pixels(values)
    width = len(numbers)
    parts = _number_parts(values, missing, pixels)
    if words:
        # By index: `TableColumns` fixes the order, and names would be looked up one by one.
        parts.append(("categories", _one_hot(), list(range(width, width + len(words)))))
        notes.append(f"categories become one column per value: {listed(words)}")
        distinct = clean[words].nunique()
        rare = distinct.index[distinct > MOST_CATEGORIES]
        notes += [f"rare values of {c!r} share one column" for c in rare]
        width += int(distinct.clip(upper=MOST_CATEGORIES).sum())
    wide = width > SPARSE_WIDTH and bool(words)
    encoder = ColumnTransformer(parts, sparse_threshold=0.3 * wide)
    notes += _add_texts(encoder, columns.texts_, len(numbers) + len(words), width)
    kind = "sparse" if wide else ("pixels" if pixels else "vectors")
    return Preprocessing((("columns", columns), ("encode", encoder)), kind, tuple(notes))


def _add_texts(encoder: Any, texts: list[str], first: int, width: int) -> list[str]:
    """Topics of each text, from position `first` on; all of them weigh as much as all the `width`
    other columns, since their squares sum to 1 at most."""
    named = {f"text {c}": first + i for i, c in enumerate(texts)}
    encoder.transformers = [
        *encoder.transformers,
        *((name, _topics(), position) for name, position in named.items()),
    ]
    encoder.transformer_weights = dict.fromkeys(named, max(1, width) ** 0.5) or None
    return [f"text becomes {TOPICS} topics: {listed(texts)}"] * bool(texts)


def _types(found: Dataset) -> dict[str, str]:
    """What the columns of a table hold, as the first step will see them."""
    assert found.schema is not None
    known = dict(zip(found.schema.columns, found.schema.types, strict=True))
    if found.given:
        # Rows come as they are, perhaps as an array of all columns.
        return {c: known.get(c, "left out") for c in found.given}
    # Rows of a file come in the form of the schema, in which dates are numbers.
    return {c: "number" if kind in (*DATES, "comma") else kind for c, kind in known.items()}


def _number_parts(values: np.ndarray, missing: np.ndarray, pixels: bool) -> list[Any]:
    """Columns of numbers for a ColumnTransformer: those of zeros and ones apart from the others."""
    bits = _bits(values) & (not pixels)
    parts = []
    for name, chosen in (("numbers", ~bits), ("bits", bits)):
        if chosen.any():
            scale = CommonScale() if pixels or name == "bits" else StandardScaler()
            # Also where nothing is missing now: a later table may have gaps.
            fill = _median(bool(missing[chosen].any()))
            steps = Pipeline([("fill", fill), ("scale", scale)])
            parts.append((name, steps, np.flatnonzero(chosen).tolist()))
    return parts


def _topics() -> Any:
    """Words and pairs of them, counted in few columns, then the directions of most of them."""
    words = HashingVectorizer(
        n_features=BUCKETS, alternate_sign=False, ngram_range=(1, 2), norm=None, dtype=np.float64
    )
    weighted = TfidfTransformer(sublinear_tf=True)
    return Pipeline(
        [("words", words), ("weights", weighted), ("topics", TruncatedSVD(TOPICS, random_state=0))]
    )


def _one_hot() -> Any:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, dtype=np.float64
    )


_BY_KIND = {
    "table": _table,
    "mail": _mail,
    "strings": _strings,
    "vectors": _numbers,
    "images": _numbers,
}
