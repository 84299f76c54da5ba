"""The nearest examples in feature space."""
