"""The search for a kernel expression."""
