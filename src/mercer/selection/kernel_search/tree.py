"""The path of a kernel search: what was tried, from what it grew, and why it was kept or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._escape.terminal import as_lines, printable


@dataclass(frozen=True)
class SearchNode:
    """One candidate of the search; `parent` is the index of the node that it grew from.

    Parameters
    ----------
    expression : str
        The candidate, as `mercer.parse` reads it.
    score : float
        By the criterion; more is better.
    parent : int or None
        Index of the node that it grew from.
    accepted : bool
        Whether the search went on from it.
    why : str
        What was changed.

    Examples
    --------
    >>> from mercer.selection import SearchNode
    >>> SearchNode("linear()", 0.5, None, True, "a block").expression
    'linear()'
    """

    expression: str
    score: float
    parent: int | None
    accepted: bool
    why: str


@dataclass(frozen=True)
class SearchTree:
    """All candidates in the order they were tried; `best` is the index of the one that was kept.

    Parameters
    ----------
    nodes : tuple of SearchNode
        In the order in which they were tried.
    best : int
        Index of the one that was kept.
    criterion : str
        What judged them.

    Examples
    --------
    >>> from mercer.selection import SearchNode, SearchTree
    >>> tree = SearchTree((SearchNode("linear()", 0.5, None, True, "a block"),), 0, "loo")
    >>> tree.nodes[tree.best].expression
    'linear()'
    """

    nodes: tuple[SearchNode, ...]
    best: int
    criterion: str

    @property
    def path(self) -> tuple[SearchNode, ...]:
        """From the first kernel kept to the last."""
        index: int | None = self.best
        found = []
        while index is not None:
            found.append(self.nodes[index])
            index = self.nodes[index].parent
        return tuple(reversed(found))

    def to_dict(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "best": self.best,
            "nodes": [vars(node) for node in self.nodes],
        }

    def __rich__(self, most: int = 3) -> Any:
        """The tree: of what was turned down, the best `most` below each node."""
        from rich.text import Text
        from rich.tree import Tree

        root = Tree(Text(f"kernel search by {self.criterion}"))
        self._grow(root, None, most)
        return root

    def _grow(self, branch: Any, parent: int | None, most: int) -> None:
        from rich.text import Text

        mine = [i for i, node in enumerate(self.nodes) if node.parent == parent]
        mine.sort(key=lambda i: (-self.nodes[i].accepted, -self.nodes[i].score, i))
        shown = 0
        for i in mine:
            node = self.nodes[i]
            shown += not node.accepted
            if not node.accepted and shown > most:
                continue
            mark = "✓" if node.accepted else "·"
            text = Text(f"{mark} {node.expression}  {node.score:.4g}  ({node.why})")
            text.stylize("bold" if node.accepted else "dim")
            child = branch.add(text)
            self._grow(child, i, most)
        if shown > most:
            branch.add(Text(f"· and {shown - most} more", style="dim"))

    @printable
    def __str__(self) -> str:
        return as_lines(self.__rich__())
