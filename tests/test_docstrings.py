"""Public names say what they take, what they give, and show it in lines that run.

The rules are numpydoc's. They are read as this library writes: a summary or a description may begin
with a formula (`k(x, z) = …`, `λ ≥ 0`), which has no capital letter; the fields of a result may be
described under "Attributes"; and `cls` may be the name of an ordinary parameter.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpydoc")
pytest.importorskip("matplotlib")
pytest.importorskip("onnx")
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
reference = importlib.import_module("reference")
sys.path.pop(0)

RULES = {"PR01", "PR02", "PR06", "PR07", "PR08", "RT01", "SS02", "SS05", "EX01"}
#: Words that begin a formula; others that do have a sign in them, or are one letter.
FORMULAS = {"argmin", "argmax", "min", "max", "mean", "truth"}
PAGES = {name: reference.contents(name) for name in reference.MODULES}


def is_formula(text: str) -> bool:
    word = text.split()[0].rstrip(".,:;") if text.split() else ""
    return word in FORMULAS or len(word) == 1 or not re.fullmatch(r"[A-Za-z'-]*", word)


def faults(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """What the rules say against the docstring of a public name, such as "mercer.data.xor"."""
    doc = get_doc_object(value)
    if callable(value):  # else a module of the same name may be found
        name = f"{value.__module__}.{value.__qualname__}"
    for code, text in validate(name)["errors"]:
        if code in RULES and not allowed(doc, code, text):
            yield code, text


def allowed(doc: Any, code: str, text: str) -> bool:
    if code == "SS02":
        return is_formula(doc["Summary"][0])
    named = set(re.findall(r"""['"](\*{0,2}\w+)['"]""", text))
    if code == "PR08":
        told = {n: row.desc[0] for row in doc["Parameters"] for n in row.name.split(", ")}
        return all(is_formula(told[one]) for one in named)
    if code == "PR01":
        fields = {one for row in doc["Attributes"] for one in row.name.split(", ")}
        return named <= fields or named == {"*args", "**kwargs"}
    return code == "PR02" and named == {"cls"}


@pytest.mark.parametrize("module", PAGES)
def test_docstrings_keep_the_rules(module: str) -> None:
    path = "mercer" if module == "mercer" else f"mercer.{module}"
    told = {name: [*faults(f"{path}.{name}", value)] for name, value in PAGES[module].items()}
    assert not {name: found for name, found in told.items() if found}


@pytest.mark.parametrize("module", ["learners", "maps"])
def test_what_a_fit_leaves_is_described(module: str) -> None:
    classes = {name: value for name, value in PAGES[module].items() if hasattr(value, "fit")}
    assert classes
    assert not [name for name, one in classes.items() if not get_doc_object(one)["Attributes"]]


def test_a_formula_may_begin_a_sentence_and_a_small_word_may_not() -> None:
    assert all(map(is_formula, ("k(x, z) = 1", "λ ≥ 0", "k. One", "argmax over c", "exp(k)")))
    assert not any(map(is_formula, ("the mean", "scikit-learn's digits", "larger values", "")))
