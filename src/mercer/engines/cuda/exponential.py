"""2^t on a GPU: by its own unit for exponentials, and for halves by products, too.

Triton has no words for which unit is meant, hence PTX; its interpreter, which has no PTX, uses
`tl.exp2`.
"""

from __future__ import annotations

import struct

#: The text of a Triton function `exp2_unit`: the unit for exponentials does all the work, and gives
#: zero below the range of normal numbers.
EXP2 = """
@triton.jit
def exp2_unit(t):
    return tl.inline_asm_elementwise(
        "{ ex2.approx.ftz.f32 $0, $1; }", "=&f,f", [t], dtype=tl.float32, is_pure=True, pack=1,
    )
"""

#: 2^f on [-½, ½] by half-precision numbers, relative error 2e-4 and their own rounding.
HALF_POLYNOMIAL = (1.0, 0.69314718, 0.24022651, 0.0558)
#: Adding it rounds a half to a whole number n, and leaves n + 15, the exponent of 2^n, in its
#: lowest bits; below n = −15 there is nothing but zero.
HALF_ROUND, HALF_LOWEST = 1551.0, -15.0


def _pair(value: float) -> str:
    """Two equal halves in one register."""
    (bits,) = struct.unpack("<H", struct.pack("<e", value))
    return f"0x{bits:04X}{bits:04X}"


def halves_source() -> str:
    """The text of a Triton function `exp2_halves`: 2^t for halves, every second pair by products.

    Both units work on pairs of halves. It is for "fast" precision: an error of 1e-3 at most.
    """
    *rest, last = HALF_POLYNOMIAL
    lines = [
        "ex2.approx.f16x2 $0, $2",
        f"mov.b32 c, {_pair(HALF_LOWEST)}; max.f16x2 t, $3, c",
        f"mov.b32 m, {_pair(HALF_ROUND)}; add.rn.f16x2 r, t, m",
        "sub.rn.f16x2 n, r, m; sub.rn.f16x2 f, t, n",
        f"mov.b32 p, {_pair(last)}",
        *(f"mov.b32 c, {_pair(c)}; fma.rn.f16x2 p, p, f, c" for c in reversed(rest)),
        "shl.b32 r, r, 10; and.b32 r, r, 0x7C007C00",
        "mul.rn.f16x2 $1, p, r",
    ]
    assembly = "{ .reg .b32 c, m, t, r, n, f, p; " + "; ".join(lines) + "; }"
    return f'''
@triton.jit
def exp2_halves(t):
    return tl.inline_asm_elementwise(
        "{assembly}", "=&r,=&r,r,r", [t], dtype=tl.float16, is_pure=True, pack=4,
    )
'''


#: The same where there is no PTX.
PLAIN_HALVES = """
@triton.jit
def exp2_halves(t):
    return tl.exp2(t.to(tl.float32)).to(tl.float16)
"""
