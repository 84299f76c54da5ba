"""2^t on a GPU, by its own unit for exponentials.

Triton has no words for which unit is meant, hence PTX; its interpreter, which has no PTX, uses
`tl.exp2`.
"""

from __future__ import annotations

#: The text of a Triton function `exp2_unit`: the unit for exponentials does all the work, and gives
#: zero below the range of normal numbers.
EXP2 = """
@triton.jit
def exp2_unit(t):
    return tl.inline_asm_elementwise(
        "{ ex2.approx.ftz.f32 $0, $1; }", "=&f,f", [t], dtype=tl.float32, is_pure=True, pack=1,
    )
"""
