"""Answers with intervals that cover: conformal prediction around any model, and quantiles."""
