"""A metric of the rows that is learned: recursive feature machines."""
