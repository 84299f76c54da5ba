#!/usr/bin/env python3
"""constants.py [--list] [--check]: numeric constants of modules, per package, against a ceiling.

A constant counts if a module assigns, outside of functions and classes, a number to a name in
capitals: a literal, arithmetic of literals, or a call of ``float`` or ``int`` on one. A tuple of
names counts once per name, and a name that is given a tuple or a table of numbers counts once.
Numbers that follow from others (``range``, ``np.finfo``, a name) do not count: nobody chose them.
Nor do those annotated ``Final``, which a definition or the code itself fixes: the limit below which
all whole numbers are different floats, the bytes that an entry of an algorithm's arrays takes.

Three kinds are no thresholds and are left out:

- packages that choose nothing about how K is computed or solved for (`APART`): their constants are
  sizes of pictures and texts, limits of file formats and protocols, tables of mathematics;
- positions in arrays and codes, which are whole numbers from 0 on, unpacked from ``range``;
- in `engines/cuda`, shapes of tiles, which are tables of measured cases and count once per table.

`--list` prints every constant; `--check` fails above either ceiling, which are only ever lowered:
of all constants, and of names that have two values in different modules.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "mercer"
#: Packages, and texts of boards and bars, whose constants are no thresholds of the engine.
APART = {
    "cli", "data", "formula", "kernels", "lab", "onnx", "plot", "proof", "report", "store",
    "testing", "theory", "_escape", "live", "_progress.py", "_suggest.py",
    "selection/board",
}  # fmt: skip
#: Constants at most, and names with two values at most; the aim is 250 and none.
CEILING, TWO_VALUES = 395, 0


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of literal numbers alone."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(map(is_number, node.elts))
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(map(is_number, node.values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("float", "int") and all(map(is_number, node.args))
    return False


def constants_of(text: str) -> Iterator[tuple[str, str]]:
    """Names in capitals that a module gives numbers to, and the numbers as they are written."""
    for statement in ast.parse(text).body:
        pairs: list[tuple[ast.expr, ast.expr]]
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            if ast.unparse(statement.annotation) == "Final":
                continue
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, ast.Assign):
            pairs = [(target, statement.value) for target in statement.targets]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                each = list(zip(target.elts, value.elts, strict=True))
            else:
                each = [(target, value)]
            for name, number in each:
                if isinstance(name, ast.Name) and name.id.isupper() and is_number(number):
                    yield name.id, ast.unparse(number)


def package_of(path: Path) -> str:
    """The package of mercer that a file belongs to."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "(the package itself)"


def counted() -> list[tuple[str, str, str]]:
    """File, name and value of every constant that counts."""
    return [
        (str(path.relative_to(SOURCE)), name, value)
        for path in sorted(SOURCE.rglob("*.py"))
        if not any(path.is_relative_to(SOURCE / part) for part in APART)
        for name, value in constants_of(path.read_text())
    ]


def twice(constants: list[tuple[str, str, str]]) -> dict[str, set[str]]:
    """Names that have two values."""
    values: dict[str, set[str]] = {}
    for _, name, value in constants:
        values.setdefault(name, set()).add(value)
    return {name: each for name, each in values.items() if len(each) > 1}


def main(arguments: list[str]) -> int:
    """Print the counts; 1 where they are above a ceiling."""
    constants = counted()
    if "--list" in arguments:
        for path, name, value in constants:
            print(f"{path}: {name} = {value}")
    for package, count in Counter(package_of(SOURCE / p) for p, _, _ in constants).most_common():
        print(f"{count:6d}  {package}")
    print(f"{len(constants):6d}  numeric constants; {len(twice(constants))} names have two values")
    above = len(constants) > CEILING or len(twice(constants)) > TWO_VALUES
    if "--check" in arguments and above:
        print(f"more than {CEILING}, or {TWO_VALUES} names: delete a threshold, or name it anew")
    return int("--check" in arguments and above)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
