"""A report on a comparison: one HTML file with all its pictures, and no network."""

from __future__ import annotations

from mercer.report.page import errors_file, render, write

__all__ = ["errors_file", "render", "write"]
