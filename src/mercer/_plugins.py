"""Installed packages that add engines, kernels, learners or formats: found by their entry points.

An entry point of the group ``mercer.kernels`` (or ``engines``, ``learners``, ``formats``) names a
module that registers what it has when it is imported. Nothing is imported before a name is asked
for that this library does not have.
"""

from __future__ import annotations

from mercer._notices import MachineWarning, warn

GROUPS = ("engines", "kernels", "learners", "formats")
_begun: set[str] = set()


def load_plugins(*groups: str) -> None:
    """Import, once, what installed packages announce in these groups; warn of what cannot be."""
    from importlib.metadata import entry_points

    for group in (g for g in groups if g not in _begun):
        _begun.add(group)
        for entry in entry_points(group=f"mercer.{group}"):
            try:
                entry.load()
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                warn(f"the plug-in {entry.value!r} cannot be imported ({said})", MachineWarning)
