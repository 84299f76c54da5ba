"""Reasons: which columns made an answer, by Shapley values that are exact where k factors."""

from __future__ import annotations

from mercer.reasons.explain import Reasons, explain_rows, importances

__all__ = ["Reasons", "explain_rows", "importances"]
