"""Kernels that learn their metric: recursive feature machines."""
