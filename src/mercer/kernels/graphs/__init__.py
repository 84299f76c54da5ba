"""Kernels on labeled graphs: molecules, parse trees, networks.

`WeisfeilerLehman` and `ShortestPath` turn each graph once into sparse counts, and a block is a
matrix product; `RandomWalk` runs a compiled program for every pair. See `reading` for what a
graph may look like.
"""

from __future__ import annotations

from mercer.kernels.graphs.counting import ShortestPath, WeisfeilerLehman
from mercer.kernels.graphs.walks import RandomWalk

__all__ = ["RandomWalk", "ShortestPath", "WeisfeilerLehman"]
