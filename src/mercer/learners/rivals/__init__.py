"""Learners without a kernel to compare with, in a form that a model file can hold."""
