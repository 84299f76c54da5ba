"""Messages in, named sparse features out."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY
from email.message import Message
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mercer._bases import BaseEstimator, TransformerMixin
from mercer._parameters import Count, Maybe, OneOf, Several, check_parameters
from mercer._progress import progress
from mercer.kernels.estimators import estimator, parameter
from mercer.maps.email.groups import GROUPS
from mercer.maps.email.reading import Limits, Mail, read_mail

#: Groups read from the text of a message, and groups read from its header fields.
BODY_GROUPS = ("words", "pairs", "links")
HEADER_GROUPS = tuple(name for name in GROUPS if name not in BODY_GROUPS)

# Different features of one group of one message: far above honest mail, and a bound on memory.
_MOST = 100_000


@estimator
class EmailFeatures(TransformerMixin, BaseEstimator):
    """φ(m) = (weight of each word, pair of words, host, number, … in the message m), sparse.

    The columns are named ``group=feature``:

    ==========  ===============================================================================
    `words`     words of the text, HTML tags (``words=<font>``)
    `pairs`     two words in a row
    `links`     hosts linked to, their domains, numeric ones, their number
    `subject`   words and pairs of the subject
    `date`      hour, weekday and time zone of the sender's clock; readable, unreadable or none
    `path`      hosts the message came through (Received), their number, and its addressee
    `ip`        their IP numbers and networks
    `sender`    addresses and domains that claim to send it; whether they agree
    `encoding`  MIME types, character sets, transfer encodings, endings of attached files, faults
    `headers`   which fields there are; the program that wrote the message
    ==========  ===============================================================================

    The columns are learned from the messages of `fit` (a vocabulary and not a hash, so that each
    has a name and none share one); what is new in `transform` is left out. With ``norm="group"``
    a dot product of two rows is a sum of cosines, one a group: a sum of normalized linear kernels.

    Nothing in a message raises, and nothing in it is run, opened or fetched. Attachments are not
    decoded. What is too long or nested too deep is left out; features ``encoding=fault:…`` say
    so, and so does `read`.

    Parameters
    ----------
    groups : sequence of str
        The groups to make, by default all.
    min_df : int, default 1
        Keep features that at least `min_df` messages of `fit` have.
    max_features : int or None
        Keep at most `max_features` in all, those that most messages have.
    weighting : {"log", "count", "binary"}
        1 + log(n), n or 1 for a feature that a message has n times.
    norm : {"group", "row", None}
        Scale the features of each group of a row, or the row, to length 1.
    max_text : int, default 200000
        Characters of text read from a message.
    max_header : int, default 4000
        Characters read of one header field; 64 times as many of all fields together.
    max_parts, max_depth : int, default 100 and 20
        Parts looked at, and how deep they are nested.

    Attributes
    ----------
    vocabulary_ : dict
        From names to columns.

    Examples
    --------
    >>> from mercer.maps import EmailFeatures
    >>> mail = ["From: a@shop.example\\nSubject: Sale\\n\\nBuy now at http://shop.example/x",
    ...         b"From: Ann <ann@uni.example>\\nDate: Tue, 3 Jan 2012 14:17:47 -0800\\n\\nSee you"]
    >>> phi = EmailFeatures(groups=("words", "date", "links"), norm=None).fit(mail)
    >>> [str(name) for name in phi.get_feature_names_out() if name.startswith("date")]
    ['date=hour:14', 'date=none', 'date=readable', 'date=weekday:Tue', 'date=zone:-0800']
    >>> phi.transform(["Date: Tue\\n\\nsee you now"]).sum()
    np.float64(4.0)
    """

    groups: Iterable[str] = parameter(Several(OneOf(*GROUPS)), default=tuple(GROUPS))
    _: KW_ONLY
    min_df: int = parameter(Count(), default=1)
    max_features: int | None = parameter(Maybe(Count()), default=None)
    weighting: str = parameter(OneOf("log", "count", "binary"), default="log")
    norm: str | None = parameter(Maybe(OneOf("group", "row")), default="group")
    max_text: int = parameter(Count(), default=200_000)
    max_header: int = parameter(Count(), default=4_000)
    max_parts: int = parameter(Count(), default=100)
    max_depth: int = parameter(Count(0), default=20)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the names of the columns. `y` is ignored."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> sparse.csr_matrix:
        """`fit` and `transform`, reading each message once."""
        rows, columns = self._learn(X)
        return self._weigh(rows.select(columns, len(self.vocabulary_)))

    def transform(self, X: Any) -> sparse.csr_matrix:
        """One row per message."""
        check_is_fitted(self)
        messages = _messages(X)
        rows = _Rows(self.vocabulary_, grow=False)
        self._read_all(messages, rows)
        return self._weigh(rows.select(np.arange(len(self.vocabulary_)), len(self.vocabulary_)))

    def read(self, message: bytes | str | Message) -> Mail:
        """Read one message: `fields`, `text`, `html`, `kinds`, `faults`."""
        check_parameters(self, self._parameters)
        return read_mail(_messages([message])[0], self._limits())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns; `input_features` is ignored."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    # --- inside -----------------------------------------------------------------------------

    def _learn(self, X: Any) -> tuple[_Rows, NDArray[np.int64]]:
        """Read all messages, keep the names that deserve it; the new column of each old one."""
        check_parameters(self, self._parameters)
        names = self._groups()
        rows = _Rows({}, grow=True)
        self._read_all(_messages(X), rows)
        features = list(rows.vocabulary)
        messages_with = np.bincount(rows.columns(), minlength=len(features))
        keep = np.flatnonzero(messages_with >= self.min_df)
        # Alphabetical within a group, so that the order of the messages does not matter.
        rank = {name: position for position, name in enumerate(names)}
        order = sorted(keep, key=lambda i: (rank[features[i].partition("=")[0]], features[i]))
        if self.max_features is not None:
            best = sorted(order, key=lambda i: -messages_with[i])[: self.max_features]
            order = sorted(best, key=lambda i: (rank[features[i].partition("=")[0]], features[i]))
        if not order:
            raise ValueError(
                f"no feature is left of {len(features)} in {rows.n} message(s): "
                f"lower min_df ({self.min_df}) or take more groups ({', '.join(names)})"
            )
        self.vocabulary_: dict[str, int] = {features[i]: column for column, i in enumerate(order)}
        moved = np.full(len(features), -1)
        moved[order] = np.arange(len(order))
        return rows, moved

    def _groups(self) -> tuple[str, ...]:
        chosen = set(self.groups)
        return tuple(name for name in GROUPS if name in chosen)

    def _limits(self) -> Limits:
        return Limits(self.max_text, self.max_parts, self.max_depth, self.max_header)

    def _read_all(self, messages: list[Any], rows: _Rows) -> None:
        limits = self._limits()
        names = sorted(self._groups(), key="encoding".__eq__)  # last: it counts all faults
        with progress("reading mail", len(messages)) as bar:
            for message in messages:
                mail = read_mail(message, limits)
                rows.add({name: _features(name, mail) for name in names})
                bar.advance()

    def _weigh(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        if self.weighting == "binary":
            X.data[:] = 1.0
        elif self.weighting == "log":
            X.data = 1.0 + np.log(X.data)
        if self.norm is None or not X.nnz:
            return X
        of_row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        block = of_row
        if self.norm == "group":
            rank = {name: position for position, name in enumerate(GROUPS)}
            of_column = np.array([rank[name.partition("=")[0]] for name in self.vocabulary_])
            block = of_row * len(GROUPS) + of_column[X.indices]
        X.data /= np.sqrt(np.bincount(block, X.data**2))[block]
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class _Rows:
    """Rows of counts, one after the other, in flat arrays."""

    def __init__(self, vocabulary: dict[str, int], *, grow: bool) -> None:
        self.vocabulary, self.grow = vocabulary, grow
        self._columns, self._counts, self._ends = array("q"), array("d"), array("q", [0])

    @property
    def n(self) -> int:
        return len(self._ends) - 1

    def columns(self) -> NDArray[np.int64]:
        return np.array(self._columns, dtype=np.int64)

    def add(self, groups: dict[str, Counter[str]]) -> None:
        vocabulary = self.vocabulary
        for group, counts in groups.items():
            for feature, times in counts.items():
                name = f"{group}={feature}"
                new = len(vocabulary)
                column = vocabulary.setdefault(name, new) if self.grow else vocabulary.get(name)
                if column is not None:
                    self._columns.append(column)
                    self._counts.append(times)
        self._ends.append(len(self._columns))

    def select(self, moved: NDArray[np.int64], width: int) -> sparse.csr_matrix:
        """The matrix with column j at moved[j]; −1 drops it."""
        columns = moved[self.columns()] if len(self._columns) else self.columns()
        kept = columns >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[np.array(self._ends)]
        X = sparse.csr_matrix(
            (np.array(self._counts)[kept], columns[kept].astype(np.int32), ends.astype(np.int32)),
            shape=(self.n, width),
        )
        X.sort_indices()
        return X


def _features(name: str, mail: Mail) -> Counter[str]:
    """The features of one group with their counts; a group that fails has those found so far."""
    counts: Counter[str] = Counter()
    try:
        for feature in GROUPS[name](mail):
            counts[feature] += 1
            if len(counts) >= _MOST:
                mail.note("many features")
                break
    except MemoryError:
        raise
    except Exception as error:  # one message must not end the work on all others
        mail.note(f"{name} {type(error).__name__}")
    return counts


def _messages(X: Any) -> list[Any]:
    """The messages, or an error that names the row that is none."""
    if isinstance(X, (str, bytes, bytearray, Message)):
        raise TypeError("expected a sequence of messages, got a single one: put it into a list")
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:  # one column of a table
        X = np.asarray(X).ravel()
    elif getattr(X, "ndim", 1) != 1:
        raise ValueError(f"expected one message per row, got an array of shape {X.shape}")
    messages = [bytes(m) if isinstance(m, bytearray | memoryview) else m for m in X]
    if not messages:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    for row, message in enumerate(messages):
        if not isinstance(message, (str, bytes, Message)):
            raise TypeError(
                f"row {row} is no message but {type(message).__name__}: "
                "give bytes, str or email.message.Message"
            )
    return messages
