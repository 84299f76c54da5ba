"""The engine of the host: BLAS products and compiled loops that fill one tile of K."""
