"""Text so written that a terminal or a page shows it: what comes from outside, and mathematics."""
