"""Data: the one way in for files, tables, arrays and lists, and sets that are made.

In the order in which data flow: `formats` picks a reader (`tables`, `arrays`, `texts`), `making`
looks at examples and takes targets out (`Dataset.of`), `columns` finds types, `targets` the task;
`dataset` and `schema` hold the result. `rows` and `row_files` read new rows for a model by its
schema. `toys` and `names` are data sets by name.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
