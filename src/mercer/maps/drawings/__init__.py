"""Features of drawn characters."""
