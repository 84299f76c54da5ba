"""From a formula to a plan: which statistics are needed, how accurately, in which tiles."""
