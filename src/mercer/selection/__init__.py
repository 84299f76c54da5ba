"""Choosing: bandwidths and what else is chosen from data."""

from __future__ import annotations
