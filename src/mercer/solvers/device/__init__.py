"""Solvers whose work stays on a GPU: the same problems, with PyTorch's algebra and Triton's loops.

A solver that only multiplies by K needs nothing from here: its products already run on the device.
"""
