"""Support vectors: one quadratic program, solved by decomposition."""
