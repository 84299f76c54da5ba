"""Deformations of images."""
