"""The house has floors: a module imports from below, never from above, not even inside a function.

It also keeps to what other packages offer: no name with a leading underscore crosses a package.
"""

import ast
import functools
from pathlib import Path

import mercer

SOURCE = Path(mercer.__file__).parent
#: Floors from top to bottom; packages of one floor do not import each other.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"lab"},
    {"report"},
    {"plot", "onnx", "testing", "extend"},
    {"theory", "stats", "reasons", "live"},
    {"selection"},
    {"store"},
    {"learners"},
    {"engines"},
    {"solvers"},
    {"expansion", "maps", "proof"},
    {"gram"},
    {"kernels"},
    {"formula", "data"},
    # Every file of the package itself that begins with an underscore.
    {"_helpers"},
    {"tuning"},
]
FLOOR = {name: len(LAYERS) - i for i, names in enumerate(LAYERS) for name in names}
#: The only files that call upwards, when they are asked to: a kernel makes its Gram, its proof and
#: its feature map; a learner saves itself.
FACADES = {
    "kernels/_facade.py": {"gram", "proof", "maps"},
    "learners/saving.py": {"store"},
}


def files():
    return sorted(SOURCE.rglob("*.py"))


def package_of(dotted):
    """The package of mercer that a dotted name is in; None for the root and for other libraries."""
    parts = dotted.split(".")
    if parts[0] != "mercer" or len(parts) == 1 or parts[1] == "__init__":
        return None
    return "_helpers" if parts[1].startswith("_") and parts[1] != "__main__" else parts[1]


def home(path):
    """The package that a file is in."""
    return package_of(".".join(["mercer", *path.relative_to(SOURCE).with_suffix("").parts]))


@functools.cache
def nodes(path):
    """The imports of a file and its private attributes; it is read once for all tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = (n for n in ast.walk(tree) if getattr(n, "attr", "").startswith("_"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)] + [*private]


def imports(path):
    """Every import of mercer in a file, wherever it stands: (line, module, name or None)."""
    here = ["mercer", *path.relative_to(SOURCE).parts[:-1]]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = [] if not node.level else here[: len(here) - node.level + 1]
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, module, alias.name


def targets(module, name):
    """The package that an import reaches; `from mercer import X` reaches the package X."""
    if module == "mercer" and name is not None:
        if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists():
            return package_of(f"mercer.{name}")
        return None if name.startswith("__") else "the root"
    return package_of(module)


def upward(path):
    """The imports of a file that no floor allows."""
    own = home(path)
    if own is None:
        return
    allowed = FACADES.get(path.relative_to(SOURCE).as_posix(), set())
    for line, module, name in imports(path):
        other = targets(module, name)
        if other is None or other == own or other in allowed:
            continue
        where = f"{path.relative_to(SOURCE)}:{line} imports {module}" + (f".{name}" if name else "")
        if other == "the root":
            # The root loads names from every floor on first use: only the command may use it.
            if FLOOR[own] < FLOOR["report"]:
                yield f"{where}: name the module that it comes from"
        elif FLOOR[other] >= FLOOR[own]:
            yield where


#: Imports of modules inside `gram` by packages that make no K of their own; it only goes down.
INSIDE_GRAM = 23


def test_few_packages_reach_inside_gram():
    inside = [
        f"{path.relative_to(SOURCE)}:{line} {module}"
        for path in files()
        if home(path) not in ("gram", "engines")
        for line, module in {(line, module) for line, module, _ in imports(path)}
        if module.startswith("mercer.gram.")
    ]
    assert len(inside) <= INSIDE_GRAM, inside


def test_every_package_has_a_floor():
    assert {home(path) for path in files()} - {None} <= set(FLOOR)


def test_no_module_imports_from_above():
    found = [sentence for path in files() for sentence in upward(path)]
    assert not found, "\n".join(found)


def test_the_two_facades_are_needed():
    for file, above in FACADES.items():
        reached = {targets(module, name) for _, module, name in imports(SOURCE / file)}
        assert above <= reached, f"{file} does not import {above - reached}"


def test_an_import_from_above_would_be_seen(tmp_path, monkeypatch):
    (tmp_path / "gram").mkdir()
    file = tmp_path / "gram" / "lazy.py"
    file.write_text("def f():\n    from mercer.learners.svms import KernelSVC\n")
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert list(upward(file)) == ["gram/lazy.py:2 imports mercer.learners.svms.KernelSVC"]


def test_no_private_name_is_imported_across_packages():
    found = []
    for path in files():
        for line, module, name in imports(path):
            other = targets(module, name)
            if other is None or other == home(path):
                continue
            parts = [part for part in module.split(".")[2:] if part.startswith("_")]
            private = name is not None and name.startswith("_") and not name.startswith("__")
            if parts or (private and module != "mercer"):
                found.append(f"{path.relative_to(SOURCE)}:{line} imports {module}.{name}")
    assert not found, "\n".join(found)


def test_no_private_attribute_of_a_gram_is_used_outside_its_package():
    """`gram._x`, `columns._points` and the like: what a solver may use is in gram/base.py."""
    found = []
    for path in files():
        if home(path) in (None, "gram", "engines"):
            continue
        for node in nodes(path):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            if node.attr.startswith("__") or node.attr in ("_asdict", "_replace"):
                continue
            owner = ast.unparse(node.value)
            if owner.split(".")[-1] in ("gram", "columns", "panels", "K", "G"):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} uses {owner}.{node.attr}")
    assert not found, "\n".join(found)
