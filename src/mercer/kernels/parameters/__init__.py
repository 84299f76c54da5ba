"""The parameters of kernels: what they may be, how they are read and changed, what data chooses."""

from mercer.kernels.parameters.values import Parameters, Part, grammar_name, is_number, literal
from mercer.kernels.parameters.widths import GAMMA, SIZE, WORDS, Meaning, Spread, Width, as_width

__all__ = [
    "GAMMA",
    "SIZE",
    "WORDS",
    "Meaning",
    "Parameters",
    "Part",
    "Spread",
    "Width",
    "as_width",
    "grammar_name",
    "is_number",
    "literal",
]
