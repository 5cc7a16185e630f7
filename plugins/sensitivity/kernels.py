"""Rank-1 changes of a Cholesky factor, and digests of rows (pure nopython functions)."""

import math

import numpy as np

from onlinekit.jit import kernel

_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_OFFSET = np.uint64(0x5851F42D4C957F2D)
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@kernel
def update_factor(R, x):
    """R'R <- R'R + x x' by Givens rotations; R (d, d) upper, x (d,) is overwritten."""
    d = len(x)
    for k in range(d):
        if x[k] == 0.0:
            continue
        r = math.hypot(R[k, k], x[k])
        c, s = R[k, k] / r, x[k] / r
        for j in range(k, d):
            old = R[k, j]
            R[k, j] = c * old + s * x[j]
            x[j] = c * x[j] - s * old


@kernel
def downdate_factor(R, x, p, c, s):
    """R'R <- R'R - x x' (LINPACK dchdd); p, c, s (d,) are scratch. False, R unchanged, when 1 - |R^-T x|^2 < 1e-6."""
    d = len(x)
    rest = 1.0
    for k in range(d):
        p[k] = x[k]
    for k in range(d):
        p[k] /= R[k, k]
        rest -= p[k] * p[k]
        if p[k] != 0.0:
            for j in range(k + 1, d):
                p[j] -= R[k, j] * p[k]
    if not rest >= 1e-6:
        return False
    alpha = math.sqrt(rest)
    for k in range(d - 1, -1, -1):
        r = math.hypot(alpha, p[k])
        c[k], s[k] = alpha / r, p[k] / r
        alpha = r
    for j in range(d):
        p[j] = 0.0
    for k in range(d - 1, -1, -1):
        if s[k] == 0.0:
            continue
        for j in range(k, d):
            old = R[k, j]
            R[k, j] = c[k] * old - s[k] * p[j]
            p[j] = c[k] * p[j] + s[k] * old
    return True


@kernel
def change_factor(R, rows, add):
    """Add or take x x' for each row x of rows (m, d), overwritten, from R'R; the number of rows done."""
    d = rows.shape[1]
    p, c, s = np.empty(d), np.empty(d), np.empty(d)
    for i in range(rows.shape[0]):
        if add:
            update_factor(R, rows[i])
        elif not downdate_factor(R, rows[i], p, c, s):
            return i
    return rows.shape[0]


@kernel
def hash_value(bits, odd):
    """A hash of one value in the column whose random odd multiplier is given."""
    h = (bits ^ (bits >> _S31)) * odd
    h = (h ^ (h >> _S27)) * _B
    return h ^ (h >> _S30)


@kernel
def digest_dense(bits, odd, flip, out):
    """Out (n, 2) = sums over non-zero j of two hashes of (j, bits[i, j]); bits (n, d) and odd (d,) uint64.

    flip (n,) holds the bit to turn over in each non-zero value: the sign bit for rows of the other label.
    """
    for i in range(bits.shape[0]):
        first, second = _ZERO, _ZERO
        for j in range(bits.shape[1]):
            # A shifted sign bit is no part of a zero's value: -0.0 counts as 0.0.
            if bits[i, j] << _ONE != _ZERO:
                h = hash_value(bits[i, j] ^ flip[i], odd[j])
                first += h
                second += (h << _S32) | (h >> _S32)
        out[i, 0], out[i, 1] = first, second
    return 0


@kernel
def digest_sparse(indptr, indices, bits, odd, flip, out):
    """The digests of CSR rows, unsigned indices: equal to digest_dense of the same rows; odd (d,) by column."""
    for i in range(len(indptr) - 1):
        first, second = _ZERO, _ZERO
        for k in range(indptr[i], indptr[i + 1]):
            h = hash_value(bits[k] ^ flip[i], odd[indices[k]])
            h = h if bits[k] << _ONE != _ZERO else _ZERO
            first += h
            second += (h << _S32) | (h >> _S32)
        out[i, 0], out[i, 1] = first, second
    return 0


@kernel
def sum_mixed(table, out):
    """Out (2,) = sums over the rows of table (n, 2) uint64 of its mixed values (the finaliser of splitmix64)."""
    for i in range(table.shape[0]):
        for j in range(2):
            x = table[i, j] + _OFFSET
            x = (x ^ (x >> _S30)) * _A
            x = (x ^ (x >> _S27)) * _B
            out[j] += x ^ (x >> _S31)
    return 0


@kernel
def quadratic_rows(indptr, indices, data, A, out):
    """Out (n,) = x_i' A x_i for CSR rows, A (d, d) symmetric: O(non-zeros of the row squared)."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            part = 0.5 * data[k] * A[indices[k], indices[k]]
            for m in range(indptr[i], k):
                part += data[m] * A[indices[k], indices[m]]
            total += data[k] * part
        out[i] = 2.0 * total
    return 0


@kernel
def add_outer(indptr, indices, data, weights, A):
    """A (d, d) += sum_i weights_i x_i x_i' for CSR rows, unsigned indices: O(non-zeros of a row squared)."""
    for i in range(len(indptr) - 1):
        w = weights[i]
        if w != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                j, p = indices[k], w * data[k]
                A[j, j] += p * data[k]
                for m in range(indptr[i], k):
                    q = p * data[m]
                    A[j, indices[m]] += q
                    A[indices[m], j] += q
    return 0


@kernel
def is_canonical(indptr, indices, d):
    """Whether the indices of every CSR row increase from 0 on and stay below d, and the rows follow one another."""
    falls, starts, most, least, end = 0, 0, 0, 0, len(indices)
    if indptr[0] != 0 or indptr[-1] != end:
        return False
    for k in range(end):
        most, least = max(most, indices[k]), min(least, indices[k])
    for k in range(1, end):
        falls += indices[k] <= indices[k - 1]
    before = 0
    for i in range(1, len(indptr)):
        k = indptr[i]
        if k < before or k > end:
            return False
        # Where the indices fall, a row begins; rows without an entry begin where the next one does.
        if 0 < before < k:
            starts += indices[before] <= indices[before - 1]
        before = k
    return falls == starts and least >= 0 and (most < d or end == 0)


@kernel
def signed_values(indptr, indices, data, labels, d, out):
    """Out (non-zeros,) = labels_i data_k; whether labels are -1 or 1, data finite and the CSR rows canonical."""
    wrong, total = 0, 0.0
    if indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    for i in range(len(indptr) - 1):
        y, before = labels[i], -1
        wrong += y != 1.0 and y != -1.0
        if indptr[i + 1] < indptr[i] or indptr[i + 1] > len(indices):
            return False
        for k in range(indptr[i], indptr[i + 1]):
            wrong += indices[k] <= before
            before = indices[k]
            total += data[k] - data[k]
            out[k] = y * data[k]
        wrong += before >= d
    return wrong == 0 and total == 0.0


@kernel
def add_few(rows, weights, A):
    """A (d, d) += sum_i weights_i x_i x_i' for a few rows (m, d)."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            p = weights[i] * rows[i, j]
            if p != 0.0:
                for k in range(rows.shape[1]):
                    A[j, k] += p * rows[i, k]
    return 0


@kernel
def gather_rows(place, indptr, index, value, out_index, out_value):
    """CSR rows, indptr (n + 1,), out of stored ones: row i has place[i] = (start, length) in index and value."""
    for i in range(place.shape[0]):
        a, b = place[i, 0], indptr[i]
        for k in range(place[i, 1]):
            out_index[b + k], out_value[b + k] = index[a + k], value[a + k]
    return 0


@kernel
def whiten_rows(indptr, indices, data, scale, W, out):
    """Rows of out = scale_i x_i W for the CSR rows with scale_i != 0, one behind the other; W (d, d) upper."""
    d, to = W.shape[0], 0
    for i in range(len(indptr) - 1):
        if scale[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                j, p = np.int64(indices[k]), scale[i] * data[k]
                # Views from j on: the loop then counts from 0 and runs in vectors.
                row, add = out[to, j:], W[j, j:]
                for c in range(d - j):
                    row[c] += p * add[c]
            to += 1
    return to


@kernel
def split_rows(indptr, indices, data, apart, front, behind, index, value):
    """CSR rows parted: those not ``apart`` fill index and value from the start on, the others behind them.

    ``front`` and ``behind`` get the two indptr, the second from 0; the non-zeros of the first are returned.
    """
    n, nnz = len(indptr) - 1, 0
    for i in range(n):
        if not apart[i]:
            nnz += indptr[i + 1] - indptr[i]
    a, b, at, to = 0, nnz, 0, 0
    front[0], behind[0] = 0, 0
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            place = b if apart[i] else a
            index[place], value[place] = indices[k], data[k]
            if apart[i]:
                b += 1
            else:
                a += 1
        if apart[i]:
            to += 1
            behind[to] = b - nnz
        else:
            at += 1
            front[at] = a
    return nnz
