"""The parameters of kernels: what they may be, how they are read and changed, what data chooses."""

from mercer.kernels.parameters.values import (
    WHOLE_POWER,
    Parameters,
    Part,
    grammar_name,
    is_number,
    literal,
)
from mercer.kernels.parameters.widths import GAMMA, SIZE, WORDS, Meaning, Spread, Width, as_width

__all__ = [
    "GAMMA", "SIZE", "WHOLE_POWER", "WORDS", "Meaning", "Parameters", "Part", "Spread", "Width",
    "as_width", "grammar_name", "is_number", "literal",
]  # fmt: skip
