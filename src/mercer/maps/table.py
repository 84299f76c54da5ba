"""Tables as they come out of files, made ready for scikit-learn's transformers.

A table at prediction is seldom the table of the training: its columns stand in another order, a
category is new, a number is missing or reads as text. `TableColumns` applies the types that were
found in the training and brings any later table into that form; `TextColumn` and `CommonScale` are
the even simpler first steps for one column of text and for pixels.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._bases import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from mercer._suggest import suggest
from mercer.data.columns import as_floats, find_types
from mercer.data.making import as_frame as data_frame
from mercer.data.making import is_frame
from mercer.data.schema import convert, refuse_doubled
from mercer.kernels.estimators import estimator

#: What stands for a missing category; it is a category of its own.
MISSING = "(missing)"
#: How columns of a type are dealt with; those of other types are left out.
_GROUPS = {
    "number": "number",
    "comma": "number",
    "truth": "number",
    "date": "date",
    "day.month": "date",
    "month/day": "date",
    "category": "category",
    "text": "text",
}


#: Types of columns whose values are written in a way of their own.
_WRITTEN = ("comma", "day.month", "month/day")


@estimator
class TableColumns(TransformerMixin, BaseEstimator):
    """A DataFrame with exactly the columns of `fit`, numbers as float64, all else as text.

    Dates become seconds since 1970, missing numbers NaN, missing categories ``"(missing)"``;
    columns that are constant (or empty) are left out, and so are those that `fit` did not see.

    Parameters
    ----------
    types : dict of column to type, or None
        What the columns hold, one of `mercer.data.schema.TYPES`, as the schema of a
        `mercer.data.Dataset` has it; columns of any other type are left out. None lets `fit` find
        out by the same rules.

    Attributes
    ----------
    numbers_, categories_, dates_, texts_, dropped_ : list of str
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

    types: Mapping[str, str] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which columns there are and what they hold."""
        types = self.types
        if types is None:
            frame = as_frame(X).rename(columns=str)
            refuse_doubled(list(frame.columns), "the table")
            types = find_types(frame)
        groups: dict[str, list[str]] = {k: [] for k in ("number", "date", "category", "text", "")}
        for name, kind in types.items():
            groups[_GROUPS.get(kind, "")].append(name)
        self.numbers_, self.dates_, self.categories_, self.texts_, self.dropped_ = groups.values()
        #: Columns that must be read in a way of their own, and which.
        self.written_: dict[str, str] = {c: kind for c, kind in types.items() if kind in _WRITTEN}
        if len(self.dropped_) == len(types):
            raise ValueError("every column is constant: nothing can be learned")
        self.feature_names_in_: np.ndarray = np.array(list(types), dtype=object)
        self.n_features_in_: int = len(types)
        return self

    def transform(self, X: Any) -> Any:
        """The columns that `fit` saw, in their order, whatever the order in X."""
        import pandas as pd

        check_is_fitted(self)
        frame = as_frame(X, list(self.feature_names_in_))
        frame = frame.rename(columns=str)
        written = getattr(self, "written_", {})  # models of 0.1 have none
        read = {c: convert(frame[c], kind) for c, kind in written.items() if c in frame.columns}
        frame = frame.assign(**read) if read else frame
        present = set(frame.columns)
        wanted = self.get_feature_names_out().tolist()
        missing = [c for c in wanted if c not in present]
        if missing:
            shown = ", ".join(map(repr, missing[:5]))
            raise ValueError(
                f"the table has no column {shown}, which the model was fitted with."
                f"{suggest(missing[0], frame.columns)}"
            )
        parts = []
        if self.numbers_:
            block = frame[self.numbers_]
            if all(kind.kind in "biuf" for kind in block.dtypes):
                values = as_floats(block)
                values[~np.isfinite(values)] = np.nan
            else:
                values = np.column_stack([_numbers(block[c]) for c in self.numbers_])
            parts.append(pd.DataFrame(values, index=frame.index, columns=self.numbers_))
        others = {c: _numbers(frame[c]) for c in self.dates_}
        others |= {c: _texts(frame[c]) for c in wanted if c not in (*self.numbers_, *self.dates_)}
        if others:
            parts.append(pd.DataFrame(others, index=frame.index))
        return pd.concat(parts, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        texts = getattr(self, "texts_", [])  # models of 0.2 have none
        return np.array([*self.numbers_, *self.dates_, *self.categories_, *texts], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


@estimator
class TextColumn(TransformerMixin, BaseEstimator):
    """The one column of text of a table as a list of strings; lists go through as they are.

    >>> import pandas as pd
    >>> TextColumn("sms").fit_transform(pd.DataFrame({"sms": ["hi", None], "n": [1, 2]}))
    ['hi', '']
    """

    column: str | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        self.column_: str | None = self.column
        return self

    def transform(self, X: Any) -> list[Any]:
        check_is_fitted(self)
        if is_frame(X) and getattr(X, "ndim", 2) == 2:
            X = as_frame(X)
            names = [str(c) for c in X.columns]
            if self.column_ is not None and self.column_ not in names:
                hint = suggest(self.column_, names)
                raise ValueError(f"the table has no column {self.column_!r}.{hint}")
            X = X.iloc[:, names.index(self.column_) if self.column_ is not None else 0]
        if hasattr(X, "iloc"):
            X = X.astype(object).where(X.notna(), None)
        # Missing text is empty text; messages and bytes are read by others.
        return ["" if x is None else str(x) if isinstance(x, (int, float)) else x for x in X]


class CommonScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """x / max |x| with one maximum for all columns: for pixels, whose zeros and ratios matter.

    Images, an array of three dimensions, become rows.

    >>> CommonScale().fit_transform([[0.0, 8.0], [4.0, 16.0]])
    array([[0.  , 0.5 ],
           [0.25, 1.  ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        X = self._rows(X, reset=True)
        largest = float(abs(X).max())
        self.scale_: float = largest if largest > 0 else 1.0
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return X / X.dtype.type(self.scale_)

    def _rows(self, X: Any, reset: bool) -> Any:
        if getattr(X, "ndim", 2) == 3:
            X = X.reshape(len(X), -1)
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        return tags


# --- what a column holds -----------------------------------------------------------------------


def as_frame(X: Any, names: list[str] | None = None) -> Any:
    """A table as a DataFrame; rows of an array under the names of the columns, if they fit."""
    import pandas as pd

    if is_frame(X):
        return data_frame(X)
    frame = pd.DataFrame(X)
    if names is not None:
        if frame.shape[1] != len(names):
            raise ValueError(f"X has {frame.shape[1]} columns, expected {len(names)}: {names[:8]}")
        frame.columns = names
    return frame.infer_objects()


def _numbers(column: Any) -> np.ndarray:
    """Values as float64: times as seconds, truths as 0 and 1; other text is missing."""
    import pandas as pd

    if column.dtype.kind == "M" or hasattr(column.dtype, "tz"):
        values = _since_1970(column)
    elif column.dtype.kind == "m":
        values = np.asarray(column.dt.total_seconds())
    elif column.dtype.kind in "biuf":
        values = as_floats(column)
    else:
        column = column.astype(object)
        values = np.array(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
        text = np.array([isinstance(v, str) for v in column], dtype=bool) & np.isnan(values)
        if text.any():
            words = column[text]
            truths = words.str.strip().str.lower().map({"true": 1.0, "false": 0.0})
            values[text] = np.where(truths.isna(), _since_1970(words), truths)
    return np.where(np.isfinite(values), values, np.nan)


def _since_1970(column: Any) -> np.ndarray:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no common format: each is read by itself
        when = pd.to_datetime(column, errors="coerce", utc=True)
    return np.asarray((when - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), dtype=np.float64)


def _texts(column: Any) -> np.ndarray:
    texts = np.empty(len(column), dtype=object)
    gone = column.isna().to_numpy()
    texts[:] = [MISSING if g else str(v) for v, g in zip(column, gone, strict=True)]
    return texts
