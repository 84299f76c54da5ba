"""Tables as they come out of files, made ready for scikit-learn's transformers.

A table at prediction is seldom the table of the training: its columns stand in another order, a
category is new, a number is missing or reads as text. `TableColumns` remembers what the columns
were and brings any later table into that form; `TextColumn` and `CommonScale` are the even simpler
first steps for one column of text and for pixels.
"""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

#: What stands for a missing category; it is a category of its own.
MISSING = "(missing)"


class TableColumns(TransformerMixin, BaseEstimator):
    """A DataFrame with exactly the columns of `fit`, numbers as float64, all else as text.

    Dates become seconds since 1970, missing numbers NaN, missing categories ``"(missing)"``;
    columns that were constant (or empty) in `fit` are left out, and so are those it does not know.

    Attributes
    ----------
    numbers_, categories_, dates_, dropped_ : list of str
        Which column is what.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30, None], "town": ["Ulm", None], "one": [1, 1]})
    >>> columns = TableColumns().fit(table)
    >>> columns.numbers_, columns.categories_, columns.dropped_
    (['age'], ['town'], ['one'])
    >>> columns.transform(pd.DataFrame({"town": ["Bonn"], "age": ["41"]})).to_dict("list")
    {'age': [41.0], 'town': ['Bonn']}
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which columns there are and what they hold."""
        frame = as_frame(X)
        names = [str(c) for c in frame.columns]
        doubled = [c for c, times in Counter(names).items() if times > 1]
        if doubled:
            raise ValueError(f"columns with the same name: {', '.join(map(repr, doubled[:5]))}")
        self.numbers_: list[str] = []
        self.categories_: list[str] = []
        self.dates_: list[str] = []
        self.dropped_: list[str] = []
        plain = np.array([kind.kind in "biuf" for kind in frame.dtypes], dtype=bool)
        varied = np.zeros(len(names), dtype=bool)
        varied[plain] = _varied(frame.iloc[:, np.flatnonzero(plain)])
        for place, name in enumerate(names):
            if plain[place]:
                (self.numbers_ if varied[place] else self.dropped_).append(name)
                continue
            column = frame.iloc[:, place]
            if column.nunique(dropna=False) <= 1:
                self.dropped_.append(name)
            elif is_date(column):
                self.dates_.append(name)
            else:
                self.categories_.append(name)
        if not (self.numbers_ or self.categories_ or self.dates_):
            raise ValueError("every column is constant: nothing can be learnt")
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: Any) -> Any:
        """The same columns in the same order, whatever the order in X."""
        import pandas as pd

        check_is_fitted(self)
        frame = as_frame(X, list(self.feature_names_in_))
        frame = frame.rename(columns=str)
        known = set(frame.columns)
        wanted = [*self.numbers_, *self.dates_, *self.categories_]
        missing = [c for c in wanted if c not in known]
        if missing:
            near = difflib.get_close_matches(missing[0], list(frame.columns), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"the table has no column {', '.join(map(repr, missing[:5]))}, which the model "
                f"was fitted with.{hint}"
            )
        parts = []
        if self.numbers_:
            block = frame[self.numbers_]
            if all(kind.kind in "biuf" for kind in block.dtypes):
                values = _floats(block)
                values[~np.isfinite(values)] = np.nan
            else:
                values = np.column_stack([_numbers(block[c]) for c in self.numbers_])
            parts.append(pd.DataFrame(values, index=frame.index, columns=self.numbers_))
        others = {c: _numbers(frame[c]) for c in self.dates_}
        others |= {c: _texts(frame[c]) for c in self.categories_}
        if others:
            parts.append(pd.DataFrame(others, index=frame.index))
        return pd.concat(parts, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        return np.array([*self.numbers_, *self.dates_, *self.categories_], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class TextColumn(TransformerMixin, BaseEstimator):
    """The one column of text of a table as a list of strings; lists go through as they are.

    >>> import pandas as pd
    >>> TextColumn("sms").fit_transform(pd.DataFrame({"sms": ["hi", None], "n": [1, 2]}))
    ['hi', '']
    """

    def __init__(self, column: str | None = None) -> None:
        self.column = column

    def fit(self, X: Any, y: Any = None) -> Self:
        self.column_ = self.column
        return self

    def transform(self, X: Any) -> list[Any]:
        check_is_fitted(self)
        if hasattr(X, "iloc") and X.ndim == 2:
            names = [str(c) for c in X.columns]
            if self.column_ is not None and self.column_ not in names:
                near = difflib.get_close_matches(self.column_, names, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"the table has no column {self.column_!r}.{hint}")
            X = X.iloc[:, names.index(self.column_) if self.column_ is not None else 0]
        if hasattr(X, "iloc"):
            X = X.astype(object).where(X.notna(), None)
        # Missing text is empty text; messages and bytes are read by others.
        return ["" if x is None else str(x) if isinstance(x, (int, float)) else x for x in X]


class CommonScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """x / max |x| with one maximum for all columns: for pixels, whose zeros and ratios matter.

    >>> CommonScale().fit_transform([[0.0, 8.0], [4.0, 16.0]])
    array([[0.  , 0.5 ],
           [0.25, 1.  ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        largest = float(abs(X).max())
        self.scale_ = largest if largest > 0 else 1.0
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        return X / X.dtype.type(self.scale_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# --- what a column holds -----------------------------------------------------------------------


def as_frame(X: Any, names: list[str] | None = None) -> Any:
    """A DataFrame as it is; rows of an array under the names of the columns, if they fit."""
    import pandas as pd

    if hasattr(X, "iloc"):
        return X if X.ndim == 2 else X.to_frame()
    frame = pd.DataFrame(X)
    if names is not None:
        if frame.shape[1] != len(names):
            raise ValueError(f"X has {frame.shape[1]} columns, expected {len(names)}: {names[:8]}")
        frame.columns = names
    return frame.infer_objects()


def is_date(column: Any) -> bool:
    """Whether a column holds points in time, as such or as text like 2024-05-31."""
    if column.dtype.kind == "M" or hasattr(column.dtype, "tz"):
        return True
    if column.dtype.kind in "biufc":
        return False
    import pandas as pd

    sample = column.dropna().astype(str).head(50)
    if not len(sample) or not sample.str.match(r"^\d{4}-\d{1,2}-\d{1,2}").all():
        return False
    return bool(pd.to_datetime(sample, errors="coerce").notna().all())


def _floats(block: Any) -> np.ndarray:
    """A copy of columns of numbers as float64."""
    return np.array(block.to_numpy(dtype=np.float64, na_value=np.nan))


def _varied(block: Any) -> np.ndarray:
    """Which of these columns of numbers take more than one value; a gap counts as one."""
    values = _floats(block)
    gaps = np.isnan(values)
    low = np.where(gaps, np.inf, values).min(axis=0)
    high = np.where(gaps, -np.inf, values).max(axis=0)
    return np.asarray((low < high) | (gaps.any(axis=0) & ~gaps.all(axis=0)))


def _numbers(column: Any) -> np.ndarray:
    """As float64; text that reads as a date becomes seconds, other text is missing."""
    import pandas as pd

    if column.dtype.kind == "M" or hasattr(column.dtype, "tz"):
        values = _since_1970(column)
    elif column.dtype.kind in "biuf":
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        column = column.astype(object)
        values = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
        text = np.array([isinstance(v, str) for v in column], dtype=bool) & np.isnan(values)
        if text.any():
            values = values.copy()
            values[text] = _since_1970(column[text])
    return np.where(np.isfinite(values), values, np.nan)


def _since_1970(column: Any) -> np.ndarray:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no common format: each is read by itself
        when = pd.to_datetime(column, errors="coerce", utc=True)
    return np.asarray((when - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), dtype=np.float64)


def _texts(column: Any) -> np.ndarray:
    made = np.empty(len(column), dtype=object)
    gone = column.isna().to_numpy()
    made[:] = [MISSING if g else str(v) for v, g in zip(column, gone, strict=True)]
    return made


__all__ = ["MISSING", "CommonScale", "TableColumns", "TextColumn"]
