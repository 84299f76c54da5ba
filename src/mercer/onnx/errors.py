"""The error of everything that has no form in ONNX."""

from __future__ import annotations


class NotExportable(TypeError):
    """This model, kernel or step cannot be written as ONNX; the message says why and what can."""
