"""Learners whose fit or answers are sums over chunks of a kind of their own."""
