"""Local methods: what is said at x is made of the examples near x, weighted by w = k(x/h, z/h).

weights        tiles of w, safe against underflow, on the host or on a device
near_tiles     which tiles are within reach of k; the others are not computed
line           sums of Gaussians of one column by Chebyshev interpolation
means          weighted means (Nadaraya and Watson) and exact leave-one-out
polynomial     what a local fit is made of: monomials of z − x, or given features
least_squares  weighted least squares for many queries at once
bandwidth      h by leave-one-out, or by a rule of thumb
loops          compiled: moments of a tile, Chebyshev series
"""
