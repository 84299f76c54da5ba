"""2^t on two units of the processor at once.

A GPU has one slow unit for exponentials and many fast ones for multiplications; where a pair of
rows costs little else, everything waits for the slow one. So of every four exponents (of eight
beside wide products) all but one go there, and the last is computed by multiplications: t = n + f
with n whole and |f| ≤ ½, a polynomial for 2^f (relative error 8e-8), and n added to the bits of its
exponent. On an H200 this takes a Gaussian product in three columns from 285 to 265 ms for 10¹²
pairs. Triton has no words for which unit is meant, hence PTX; its interpreter, which has no PTX,
uses `tl.exp2`.
"""

from __future__ import annotations

import struct

#: 2^f on [-½, ½], the least largest relative error.
POLYNOMIAL = (
    1.0000000716546, 0.6931469670621, 0.2402211972409,
    0.0555071327786, 0.0096755413245, 0.0013276470586,
)  # fmt: skip
#: Adding it rounds a small float32 to a whole number, which then stands in its lowest bits.
ROUND = 12582912.0
#: Below this, 2^t leaves the range of normal numbers; the unit for exponentials gives zero there.
LOWEST = -126.0


def _bits(value: float) -> str:
    return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


def _last(bounded: bool, share: int) -> str:
    """The statements that compute the last of `share` powers of two by multiplications."""
    *rest, last = POLYNOMIAL
    t = f"${2 * share - 1}"
    lines = [
        f"mov.f32 t, {t}" if bounded else f"max.f32 t, {t}, {_bits(LOWEST)}",
        f"add.rn.f32 r, t, {_bits(ROUND)}",
        f"add.rn.f32 n, r, {_bits(-ROUND)}",
        "sub.rn.f32 f, t, n",
        f"fma.rn.f32 p, f, {_bits(last)}, {_bits(rest.pop())}",
        *(f"fma.rn.f32 p, p, f, {_bits(c)}" for c in reversed(rest)),
        "mov.b32 b, r",
        "mov.b32 q, p",
        "mad.lo.s32 q, b, 8388608, q",
        f"mov.b32 ${share - 1}, q",
    ]
    return "; ".join(lines) + ";"


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


def source(bounded: bool, share: int = 4) -> str:
    """The text of a Triton function `exp2_mixed`: one of `share` exponents by multiplications.

    `bounded`: no exponent is below the lowest. With a share of 1 the unit for exponentials does all
    the work, and gives zero below the range of normal numbers.
    """
    unit = range(share - 1 if share > 1 else 1)
    lines = [f"ex2.approx.ftz.f32 ${i}, ${i + share};" for i in unit]
    if share > 1:
        registers = ".reg .f32 t, r, n, f, p; .reg .b32 b, q;"
        lines = [registers, _last(bounded, share), *lines]
    assembly = "{ " + " ".join(lines) + " }"
    constraints = ",".join(["=&f"] * share + ["f"] * share)
    return f'''
@triton.jit
def exp2_mixed(t):
    return tl.inline_asm_elementwise(
        "{assembly}",
        "{constraints}", [t], dtype=tl.float32, is_pure=True, pack={share},
    )
'''
