"""Local averages and local polynomials weighted by k."""
