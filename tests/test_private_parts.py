"""What the library takes of others: public and documented names, but for a few files listed here.

Found in the text of every file under src:

- names with a leading underscore that are imported from another package, or asked of an object by
  a name that none of our own classes and modules defines; the same names in strings;
- `ctypes`, and packages whose contents their makers call internal (`INTERNAL`);
- what looks into, or changes, a function or a module from outside (`INSIDES`, `sys.modules[...] =`,
  an attribute of another's module that is assigned to);
- methods of ours that override a private method of scikit-learn's base classes.
"""

import ast
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent

#: The only files that may use private parts of others, and why; five at most. Each has a plain
#: fallback, and a test that takes the private part away, which is named here.
ALLOWED = {
    "learners/rivals/trees.py": "the trees of histogram gradient boosting have no public name; "
    "where they cannot be read, the model of scikit-learn is asked "
    "(selection/test_rivals.py::test_trees_that_cannot_be_read_are_asked)",
    "_machine/numba_cache.py": "Numba's cache cannot be given a folder that is checked before it "
    "is read; without its classes every process compiles "
    "(test_lanes.py::test_every_learner_fits_without_it)",
    "_machine/lanes/llvm.py": "vectors in registers are instructions of LLVM; without llvmlite's "
    "types lanes/plain.py has the same words (test_lanes.py::test_every_learner_fits_without_it)",
    "store/names.py": "files name private classes of scikit-learn, which are not imported: classes "
    "of store/stand_ins.py take their place (store/test_names.py::"
    "test_private_classes_of_scikit_learn_are_not_needed_to_read_a_model)",
}

#: What looks like a private part, and is documented.
NOT_PRIVATE = {
    ("_machine/resources.py", "imports ctypes"): "functions that Windows and macOS document",
    ("_machine/compiling.py", "imports numba.core.event"): "a documented part of Numba",
    ("cli/app.py", "replaces warnings.showwarning"): "the module says that it may be replaced",
    ("gram/cpu/compiled.py", "makes sys.modules[name]"): "a whole module, under its own name",
}

#: Packages of others that may change from one version to the next, or are copies of a third one's.
INTERNAL = (
    "ctypes", "llvmlite", "numba.core", "numba.cpython", "numba.np", "numba.targets",
    "numpy.core", "opcode", "sklearn.externals", "triton.compiler", "triton.runtime.cache",
)  # fmt: skip
#: Attributes that show the inside of a function, a frame or a compiled module.
INSIDES = {
    "__code__", "__closure__", "__globals__", "__pyx_capi__", "co_code", "co_names", "f_back",
    "f_code", "f_globals", "f_lasti", "f_locals", "pythonapi",
}  # fmt: skip
#: Public in spite of their underscore: of named tuples, of ctypes, of notebooks, of callbacks.
DOCUMENTED = {
    "_asdict", "_fields", "_fields_", "_init_callback_context", "_make", "_replace", "_repr_html_",
}  # fmt: skip
#: A private name of another package in a string, as "sklearn.compose._column_transformer:A".
IN_STRINGS = re.compile(
    r"(?:numpy|scipy|sklearn|numba|triton|torch|dask)[\w.]*[.:]_[a-z]\w*.*", re.I
)


@cache
def trees():
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED | {"_"}


def own_names(tree):
    """Every private name that a file binds: functions, classes, modules, attributes, fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if getattr(node.value, "id", "") in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


@cache
def ours():
    modules = {Path(name).stem for name in trees()} | {"_machine", "_escape"}
    return modules | {name for tree in trees().values() for name in own_names(tree)}


def imported(node):
    """The dotted names that an import binds, without those of mercer."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        names = []
    return [name for name in names if name.split(".")[0] not in ("mercer", "__future__")]


def foreign_modules(tree):
    """The names under which a file knows the modules of others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and imported(node):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and imported(node):
            lower = (alias for alias in node.names if alias.name.islower())
            yield from (alias.asname or alias.name for alias in lower)


def in_import(node, own):
    for name in imported(node):
        parts = name.split(".")
        if any(map(is_private, parts)) or any(f"{name}.".startswith(f"{i}.") for i in INTERNAL):
            yield f"imports {name}"


def in_attribute(node, own):
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name in INSIDES or (is_private(name) and name not in own):
        yield f"asks for {ast.unparse(node)}"


def in_string(node, own):
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str) and IN_STRINGS.fullmatch(value):
        yield f"names {value}"
    called = getattr(getattr(node, "func", None), "id", "")
    if called in ("getattr", "hasattr", "setattr"):
        name = getattr(node.args[1], "value", None)
        if isinstance(name, str) and is_private(name) and name not in own:
            yield f"asks for {name}"


def assigned(node, modules):
    targets = node.targets if isinstance(node, ast.Assign) else []
    for target in targets:
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == "sys.modules":
            yield f"makes {ast.unparse(target)}"
        elif isinstance(target, ast.Attribute) and ast.unparse(target.value) in modules:
            yield f"replaces {ast.unparse(target)}"


def overridden(node):
    """Private methods of scikit-learn's base classes that a class of ours has, too."""
    if isinstance(node, ast.ClassDef):
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name in of_scikit_learn():
                yield f"overrides {one.name}"


@cache
def of_scikit_learn():
    from sklearn import base

    return {name for cls in vars(base).values() if isinstance(cls, type) for name in dir(cls)
            if is_private(name)}  # fmt: skip


def found(tree, own):
    """(line, what) for every private part of others in a file."""
    modules = set(foreign_modules(tree))
    for node in ast.walk(tree):
        said = [*in_import(node, own), *in_attribute(node, own), *in_string(node, own)]
        said += [*assigned(node, modules), *overridden(node)]
        yield from ((node.lineno, what) for what in said)


@cache
def all_found():
    return {name: list(found(tree, ours())) for name, tree in trees().items()}


def offenders():
    """What is found in each file that has any."""
    each = {
        name: [(line, what) for line, what in said if (name, what) not in NOT_PRIVATE]
        for name, said in all_found().items()
    }
    return {name: said for name, said in each.items() if said}


def test_private_parts_of_others_are_in_few_files():
    unlisted = [
        f"{name}:{line} {what}"
        for name, said in offenders().items()
        if name not in ALLOWED
        for line, what in said
    ]
    assert not unlisted, "\n".join(unlisted)
    assert len(ALLOWED) <= 5


def test_every_file_that_is_listed_needs_to_be():
    assert not [name for name in ALLOWED if name not in offenders()]
    said = {(name, what) for name, each in all_found().items() for _, what in each}
    assert not [pair for pair in NOT_PRIVATE if pair not in said], "no longer there"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("from sklearn.utils.validation import _check_y", "_check_y"),
        ("import scipy.linalg._fblas", "_fblas"),
        ("import ctypes", "ctypes"),
        ("from numba.core import caching", "numba.core"),
        ("import llvmlite.ir", "llvmlite"),
        ("from sklearn.externals import array_api_compat", "externals"),
        ("import sys\nsys._getframe(1)", "sys._getframe"),
        ("import os\nos._exit(0)", "os._exit"),
        ("executor._max_workers", "_max_workers"),
        ("getattr(executor, '_max_workers', 4)", "_max_workers"),
        ("find('sklearn.calibration._SigmoidCalibration')", "_SigmoidCalibration"),
        ("function.__globals__['f'] = g", "__globals__"),
        ("frame.f_code.co_code", "co_code"),
        ("cython_blas.__pyx_capi__['dsyrk']", "__pyx_capi__"),
        ("sys.modules['scipy.stats'] = empty", "sys.modules"),
        ("from triton.runtime import cache\ncache.triton_key = key", "triton.runtime.cache"),
        ("import numba\nnumba.njit = ours", "replaces numba.njit"),
        ("class A:\n    def _get_param_names(cls): ...", "_get_param_names"),
    ],
)
def test_a_private_part_would_be_seen(text, what):
    assert any(what in said for _, said in found(ast.parse(text), ours()))


def test_public_and_own_names_pass():
    text = """
        import numpy as np
        from mercer._lazy import record
        from sklearn.utils.validation import validate_data
        self._machine, pair._replace(a=1), np.linalg.svd(X), module.__name__
    """
    assert not list(found(ast.parse(textwrap.dedent(text)), ours()))
