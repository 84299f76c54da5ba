"""Text from outside, so written that a terminal or a page shows it and does not obey it."""
