"""Smooth losses of f = Ka + b, minimized by Newton's method or by gradients."""
