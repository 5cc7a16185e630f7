"""Kernels whose multiply-adds may be fused and whose sums may be taken in parts."""

from __future__ import annotations

import functools

from onlinekit.jit import kernel

# a * b + c may round once instead of twice; no sum is reordered, NaN and infinity keep their meaning. It makes the
# polynomials of sincos 1.4 times as fast and no less exact.
fused = functools.partial(kernel, fastmath=("contract",))

# The same, and a sum may be taken in several partial sums: for functions that are one sum.
summed = functools.partial(kernel, fastmath=("contract", "reassoc"))
