"""Sine and cosine of whole arrays as polynomials: loops without calls or branches, which the compiler vectorises.

z = k pi + r with |r| <= pi/2, so cos z = (-1)^k cos r and sin z = (-1)^k sin r, each by its Taylor polynomial. The
largest error for |z| <= 1e5 is 1e-15 in float64 and 3e-7 in float32; beyond that values stay within [-2, 2] and lose
digits as the reduction does. An infinite or NaN z gives a bounded value too, so nothing can poison a sum.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import numpy as np

from onlinekit_plugins.random_features.fma import fused

# pi in three parts of 33 bits (float64) and of 8, 9 and 24 bits (float32): k times the first two is exact for
# every k that can occur up to |z| = 1e5, so the reduction loses nothing (Cody and Waite).
_PI64 = (3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21)
_PI32 = (3.140625, 0.0009670257568359375, 6.278329573009626e-07)
# Adding and subtracting 1.5 * 2^52 (2^23) rounds to the nearest integer.
_ROUND64 = 6755399441055744.0
_ROUND32 = 12582912.0


@fused(inline=True)
def remainder(z, p1, p2, p3, big, half, two, inverse):
    """(r, (-1)^k) of a number z; r = 2 where the reduction fails."""
    k = (z * inverse + big) - big
    odd = k - ((k * half + big) - big) * two
    r = ((z - k * p1) - k * p2) - k * p3
    one = half + half
    return (r if abs(r) < two else two), (-one if abs(odd) > half else one)


@fused(inline=True)
def cosine32(q, t):
    """cos r of q = r^2; t is float32."""
    value = t(-2.7557319e-07) + q * t(2.0876757e-09)
    value = t(2.4801587e-05) + q * value
    value = t(-1.3888889e-03) + q * value
    value = t(4.1666667e-02) + q * value
    return t(1.0) + q * (t(-0.5) + q * value)


@fused(inline=True)
def sine32(r, q, t):
    """sin r, q = r^2; t is float32."""
    value = t(2.7557319e-06) + q * t(-2.5052108e-08)
    value = t(-1.9841270e-04) + q * value
    value = t(8.3333333e-03) + q * value
    value = t(-1.6666667e-01) + q * value
    return r + r * (q * value)


@fused(inline=True)
def cosine64(q):
    """cos r of q = r^2."""
    value = -1.5619206968586225e-16 + q * 4.110317623312165e-19
    value = 4.779477332387385e-14 + q * value
    value = -1.1470745597729725e-11 + q * value
    value = 2.08767569878681e-09 + q * value
    value = -2.755731922398589e-07 + q * value
    value = 2.48015873015873e-05 + q * value
    value = -0.001388888888888889 + q * value
    value = 0.041666666666666664 + q * value
    return 1.0 + q * (-0.5 + q * value)


@fused(inline=True)
def sine64(r, q):
    """sin r, q = r^2."""
    value = -8.22063524662433e-18 + q * 1.9572941063391263e-20
    value = 2.8114572543455206e-15 + q * value
    value = -7.647163731819816e-13 + q * value
    value = 1.6059043836821613e-10 + q * value
    value = -2.505210838544172e-08 + q * value
    value = 2.7557319223985893e-06 + q * value
    value = -0.0001984126984126984 + q * value
    value = 0.008333333333333333 + q * value
    value = -0.16666666666666666 + q * value
    return r + r * (q * value)


@fused
def cosines(z, c):
    """c_i = cos z_i; z and c (D,) of one type, float64 or float32."""
    t = z.dtype.type
    half, two, inverse = t(0.5), t(2.0), t(1.0 / np.pi)
    if z.itemsize == 4:
        p1, p2, p3, big = t(_PI32[0]), t(_PI32[1]), t(_PI32[2]), t(_ROUND32)
        for i in range(z.shape[0]):
            r, sign = remainder(z[i], p1, p2, p3, big, half, two, inverse)
            c[i] = sign * cosine32(r * r, t)
    else:
        p1, p2, p3, big = t(_PI64[0]), t(_PI64[1]), t(_PI64[2]), t(_ROUND64)
        for i in range(z.shape[0]):
            r, sign = remainder(z[i], p1, p2, p3, big, half, two, inverse)
            c[i] = sign * cosine64(r * r)


@fused
def sincos(z, s, c):
    """s_i = sin z_i, c_i = cos z_i; z, s and c (D,) of one type, float64 or float32."""
    t = z.dtype.type
    half, two, inverse = t(0.5), t(2.0), t(1.0 / np.pi)
    if z.itemsize == 4:
        p1, p2, p3, big = t(_PI32[0]), t(_PI32[1]), t(_PI32[2]), t(_ROUND32)
        for i in range(z.shape[0]):
            r, sign = remainder(z[i], p1, p2, p3, big, half, two, inverse)
            c[i] = sign * cosine32(r * r, t)
            s[i] = sign * sine32(r, r * r, t)
    else:
        p1, p2, p3, big = t(_PI64[0]), t(_PI64[1]), t(_PI64[2]), t(_ROUND64)
        for i in range(z.shape[0]):
            r, sign = remainder(z[i], p1, p2, p3, big, half, two, inverse)
            c[i] = sign * cosine64(r * r)
            s[i] = sign * sine64(r, r * r)
