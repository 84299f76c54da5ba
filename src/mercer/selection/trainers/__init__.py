"""How a learner is tuned and scored on one fold."""
