"""log p(y) of Gaussian processes and its derivatives: exact, bounded by centers, or by Laplace."""
