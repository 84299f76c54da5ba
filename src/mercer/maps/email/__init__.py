"""Features of e-mail messages."""
