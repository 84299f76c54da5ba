"""Places other than the host where data can be, each with a Gram and solvers of its own."""
