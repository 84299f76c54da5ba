"""Write the pages of the reference, one per module, into the copy of docs/ that Sphinx reads.

Which names there are is asked of the modules, so that no public name can be left out.
"""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import mercer
from mercer.kernels import Kernel
from mercer.kernels.catalog import KERNELS

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: Modules in the order in which a reader meets them, and what each is for.
MODULES = {
    "mercer": "settings and other tools",
    "kernels": "kernels",
    "learners": "scikit-learn estimators on any kernel",
    "maps": "feature maps",
    "proof": "whether k is a kernel, and why",
    "gram": "matrices that are computed when asked",
    "selection": "which kernel, which learner",
    "reasons": "which columns made an answer",
    "stats": "tests by kernels",
    "theory": "bounds, separators and derivations",
    "data": "data sets and files",
    "plot": "pictures and films",
    "store": "model files",
    "onnx": "models for any runtime",
    "report": "the page that compare writes",
    "testing": "the contract that kernels, engines and solvers keep",
}
#: What scikit-learn documents, and what belongs to every kernel.
INHERITED = {"get_params", "set_params", "get_metadata_routing", "set_fit_request"}


def public(module: ModuleType) -> dict[str, Any]:
    """The classes and functions that a module offers, by name."""
    names = getattr(module, "__all__", None) or dir(module)
    found = {name: getattr(module, name) for name in sorted(names) if name[:1] != "_"}
    if module is mercer.kernels:
        found = {"Kernel": Kernel, **found, **KERNELS}
    return {
        name: value
        for name, value in found.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.split(".")[0] == "mercer"
    }


def contents(name: str) -> dict[str, Any]:
    """What the page of a module lists; that of `mercer` itself, what no other page has."""
    if name != "mercer":
        return public(getattr(mercer, name))
    elsewhere = [value for other in MODULES if other != name for value in contents(other).values()]
    return {one: value for one, value in public(mercer).items() if value not in elsewhere}


def methods(cls: type) -> list[str]:
    """Methods with a docstring that a class of ours has, and a kernel those of its own."""
    found: dict[str, Any] = {}
    for parent in cls.__mro__:
        if parent.__module__.split(".")[0] == "mercer" and (parent is cls or parent is not Kernel):
            found |= {name: value for name, value in vars(parent).items() if name not in found}
    return sorted(
        name
        for name, value in found.items()
        if name[:1] != "_"
        and name not in INHERITED
        and inspect.isfunction(value)
        and value.__module__.split(".")[0] == "mercer"
        and value.__doc__
    )


@functools.cache
def _prose() -> dict[str, tuple[str, str]]:
    """Path of a page → its title and text: chapters first, then the guide, then the rest."""
    paths = [
        *sorted((DOCS / "learn").glob("lecture_*.md")),
        *sorted((DOCS / "guide").glob("*.md")),
        *sorted((DOCS / "coming_from").glob("*.md")),
        *sorted(DOCS.glob("*.md")),
    ]
    texts = {f"/{path.relative_to(DOCS).with_suffix('').as_posix()}": path for path in paths}
    read = {name: path.read_text(encoding="utf-8") for name, path in texts.items()}
    titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in read.items()}
    return {name: (titles[name].replace("`", ""), text) for name, text in read.items()}


def explained(name: str, most: int = 4) -> list[str]:
    """Links to the pages that use a name as code, the chapters first."""
    word = re.compile(rf"\b{name}\(|[.`]{name}\b" if name.islower() else rf"\b{name}\b")
    return [
        f":doc:`{title} <{path}>`" for path, (title, text) in _prose().items() if word.search(text)
    ][:most]


def page(name: str) -> str:
    """One module in reStructuredText."""
    path = "mercer" if name == "mercer" else f"mercer.{name}"
    title = f"{path}: {MODULES[name]}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {path}", ""]
    for one, value in contents(name).items():
        lines += [one, "-" * len(one), ""]
        if found := explained(one):
            lines += ["*In use:* " + ", ".join(found), ""]
        if inspect.isclass(value):
            lines += [f".. autoclass:: {path}.{one}"]
            lines += [f"   :members: {', '.join(methods(value))}"] if methods(value) else []
        else:
            lines += [f".. autofunction:: {path}.{one}"]
        lines += [""]
    return "\n".join(lines)


def said(value: Any) -> str:
    """The first line of a docstring, as plain text."""
    line = (inspect.getdoc(value) or "").partition("\n")[0]
    return re.sub(r"(?<=\w)_(?!\w)|[|*](?!\*)", r"\\\g<0>", line.replace("`", ""))


def index() -> str:
    """One line per name, by module."""
    lines = ["Reference", "=========", "", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {name}" for name in MODULES]
    for name, words in MODULES.items():
        path = "mercer" if name == "mercer" else f"mercer.{name}"
        title = f"{path}: {words}"
        lines += ["", title, "-" * len(title), ""]
        for one, value in contents(name).items():
            kind = "class" if inspect.isclass(value) else "func"
            lines.append(f"- :py:{kind}:`{one} <{path}.{one}>`: {said(value)}")
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """All pages, and the list of all names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        (folder / f"{name}.rst").write_text(page(name), encoding="utf-8")
    (folder / "index.rst").write_text(index(), encoding="utf-8")
