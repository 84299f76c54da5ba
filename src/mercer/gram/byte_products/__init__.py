"""Products of rows that are whole multiples of one step (pixels, counts, indicators), as bytes.

Gain: a Gaussian Gram of 8192² pairs of 784 pixels takes 0.44 (float32) and 0.28 (float64) of the
time that BLAS takes for the bare product, and is exact (`bench/pixels_gram.py`, on two cores with
AVX-512 VNNI). It pays from 5·10⁹ multiply-adds on; without the instruction, or with
``MERCER_BYTE_PRODUCTS=0`` in the environment, BLAS multiplies.

`grid` finds the step, `rows` holds rows as bytes, `product` multiplies them by the microkernel that
`vnni` writes as LLVM instructions. The planner asks `rows.on_grid` once per Gram.
"""
