"""Expressions as texts that a person edits: where an error stands, and where the numbers are."""
