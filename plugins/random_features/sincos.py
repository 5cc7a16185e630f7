"""Sine and cosine of whole arrays as polynomials: loops without calls or branches, which the compiler vectorises."""

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


@fused
def cosines(z, c):
    """c_i = cos z_i; z and c (D,) of one type, float64 or float32.

    z = k pi + r with |r| <= pi/2, cos z = (-1)^k cos r, cos r by its Taylor polynomial. The largest error for
    |z| <= 1e5 is 1e-15 in float64 and 3e-7 in float32; beyond that values stay within [-1, 1] and lose digits
    as the reduction does. An infinite or NaN z gives a bounded value too, so nothing can poison a sum.
    """
    t = z.dtype.type
    one, half, inverse, two = t(1.0), t(0.5), t(1.0 / np.pi), t(2.0)
    if z.itemsize == 4:
        p1, p2, p3, big = t(_PI32[0]), t(_PI32[1]), t(_PI32[2]), t(_ROUND32)
        for i in range(z.shape[0]):
            k = (z[i] * inverse + big) - big
            odd = k - ((k * half + big) - big) * two
            sign = -one if abs(odd) > half else one
            r = ((z[i] - k * p1) - k * p2) - k * p3
            r = r if abs(r) < two else two
            q = r * r
            value = t(-2.7557319e-07) + q * t(2.0876757e-09)
            value = t(2.4801587e-05) + q * value
            value = t(-1.3888889e-03) + q * value
            value = t(4.1666667e-02) + q * value
            c[i] = sign * (one + q * (t(-0.5) + q * value))
    else:
        p1, p2, p3, big = t(_PI64[0]), t(_PI64[1]), t(_PI64[2]), t(_ROUND64)
        for i in range(z.shape[0]):
            k = (z[i] * inverse + big) - big
            odd = k - ((k * half + big) - big) * two
            sign = -one if abs(odd) > half else one
            r = ((z[i] - k * p1) - k * p2) - k * p3
            r = r if abs(r) < two else two
            q = r * r
            value = t(-1.5619206968586225e-16) + q * t(4.110317623312165e-19)
            value = t(4.779477332387385e-14) + q * value
            value = t(-1.1470745597729725e-11) + q * value
            value = t(2.08767569878681e-09) + q * value
            value = t(-2.755731922398589e-07) + q * value
            value = t(2.48015873015873e-05) + q * value
            value = t(-0.001388888888888889) + q * value
            value = t(0.041666666666666664) + q * value
            c[i] = sign * (one + q * (t(-0.5) + q * value))


@fused
def sincos(z, s, c):
    """s_i = sin z_i, c_i = cos z_i; z, s and c (D,) of one type. Same reduction, errors and bounds as `cosines`."""
    t = z.dtype.type
    one, half, inverse, two = t(1.0), t(0.5), t(1.0 / np.pi), t(2.0)
    if z.itemsize == 4:
        p1, p2, p3, big = t(_PI32[0]), t(_PI32[1]), t(_PI32[2]), t(_ROUND32)
        for i in range(z.shape[0]):
            k = (z[i] * inverse + big) - big
            odd = k - ((k * half + big) - big) * two
            sign = -one if abs(odd) > half else one
            r = ((z[i] - k * p1) - k * p2) - k * p3
            r = r if abs(r) < two else two
            q = r * r
            value = t(-2.7557319e-07) + q * t(2.0876757e-09)
            value = t(2.4801587e-05) + q * value
            value = t(-1.3888889e-03) + q * value
            value = t(4.1666667e-02) + q * value
            c[i] = sign * (one + q * (t(-0.5) + q * value))
            value = t(2.7557319e-06) + q * t(-2.5052108e-08)
            value = t(-1.9841270e-04) + q * value
            value = t(8.3333333e-03) + q * value
            value = t(-1.6666667e-01) + q * value
            s[i] = sign * (r + r * (q * value))
    else:
        p1, p2, p3, big = t(_PI64[0]), t(_PI64[1]), t(_PI64[2]), t(_ROUND64)
        for i in range(z.shape[0]):
            k = (z[i] * inverse + big) - big
            odd = k - ((k * half + big) - big) * two
            sign = -one if abs(odd) > half else one
            r = ((z[i] - k * p1) - k * p2) - k * p3
            r = r if abs(r) < two else two
            q = r * r
            value = t(-1.5619206968586225e-16) + q * t(4.110317623312165e-19)
            value = t(4.779477332387385e-14) + q * value
            value = t(-1.1470745597729725e-11) + q * value
            value = t(2.08767569878681e-09) + q * value
            value = t(-2.755731922398589e-07) + q * value
            value = t(2.48015873015873e-05) + q * value
            value = t(-0.001388888888888889) + q * value
            value = t(0.041666666666666664) + q * value
            c[i] = sign * (one + q * (t(-0.5) + q * value))
            value = t(-8.22063524662433e-18) + q * t(1.9572941063391263e-20)
            value = t(2.8114572543455206e-15) + q * value
            value = t(-7.647163731819816e-13) + q * value
            value = t(1.6059043836821613e-10) + q * value
            value = t(-2.505210838544172e-08) + q * value
            value = t(2.7557319223985893e-06) + q * value
            value = t(-0.0001984126984126984) + q * value
            value = t(0.008333333333333333) + q * value
            value = t(-0.16666666666666666) + q * value
            s[i] = sign * (r + r * (q * value))
