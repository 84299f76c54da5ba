"""Learners whose fit or answers are sums over pieces of a kind of their own."""
