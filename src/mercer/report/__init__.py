"""A report on a comparison: one HTML file with all its pictures, and no network."""

from __future__ import annotations

from mercer.report.page import render, write

__all__ = ["render", "write"]
