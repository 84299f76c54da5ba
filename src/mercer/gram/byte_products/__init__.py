"""Products of rows that are whole multiples of one step, as bytes."""
