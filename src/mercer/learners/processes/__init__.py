"""Gaussian processes: kernels whose parameters are learned by the evidence."""
