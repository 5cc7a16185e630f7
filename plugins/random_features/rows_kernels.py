"""A row on its way in: scaled, clipped, gathered as entries in `cells` (see core_kernels), noted in the statistics."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

from onlinekit.scaling import scaled, scaled_sparse, watch, watch_sparse
from onlinekit_plugins.random_features.fma import fused

CLIP = 5.0  # standardised values are held within +-CLIP ...
CLIP_FROM = 26.0  # ... after so many samples: until then none that is learned can be further out, sqrt(n - 1) at most
LIMIT = 1e15  # all values are held within +-LIMIT, so that no sum or product overflows, in float32 either


@fused
def clipped(value, limit):
    """The value within +-limit; 0 for a NaN, which statistics of overflowing features can give."""
    if abs(value) <= limit:
        return value
    if value > 0.0:
        return limit
    return -limit if value < 0.0 else 0.0


@fused
def gather(x, cells, stats, sample):
    """Scale the row x (d,), clip it if it is standardised, keep what is not zero; the number m of entries.

    A feature that was 0 in every row learned, sample[j, 0] = 0, counts as 0: as if it were not known yet.
    """
    m = 0
    if stats[4, 2] == 0.0:
        limit = CLIP if stats[4, 0] > CLIP_FROM else LIMIT
        for j in range(x.shape[0]):
            value = clipped(scaled(x, stats, j), limit)
            if value != 0.0:
                cells[1, m] = value
                cells[2, m] = j
                m += 1
    else:
        for j in range(x.shape[0]):
            if x[j] != 0.0 and sample[j, 0] != 0.0:
                cells[1, m] = clipped(x[j], LIMIT)
                cells[2, m] = j
                m += 1
    return m


@fused
def gather_sparse(index, value, cells, stats, sample):
    """gather for a row given by its entries, index (m,) and value (m,): scaled without centring."""
    m = 0
    for e in range(index.shape[0]):
        j = index[e]
        if stats[4, 2] == 0.0:
            v = clipped(scaled_sparse(j, value[e], stats), CLIP if stats[4, 0] > CLIP_FROM else LIMIT)
        else:
            v = clipped(value[e], LIMIT) if sample[j, 0] != 0.0 else 0.0
        if v != 0.0:
            cells[1, m] = v
            cells[2, m] = j
            m += 1
    return m


@fused
def note(x, stats, sample):
    """Take the row x (d,) into the running mean and deviation; whether `gather` may now give other values."""
    if stats[4, 2] == 0.0:
        watch(x, stats)
        return True
    fresh = False
    for j in range(x.shape[0]):
        if x[j] != 0.0 and sample[j, 0] == 0.0:
            sample[j, 0] = 1.0
            fresh = True
    return fresh


@fused
def note_sparse(index, value, stats, sample):
    """note for a row given by its entries, index (m,) and value (m,)."""
    if stats[4, 2] == 0.0:
        watch_sparse(index, value, stats)
        return True
    fresh = False
    for e in range(index.shape[0]):
        if value[e] != 0.0 and sample[index[e], 0] == 0.0:
            sample[index[e], 0] = 1.0
            fresh = True
    return fresh


@fused
def spread(m, cells, row):
    """row (d,) from the m entries in cells."""
    row[:] = 0.0
    for e in range(m):
        row[int(cells[2, e])] = cells[1, e]


@fused
def squared(m, cells):
    """|x|^2 of the scaled row."""
    total = 0.0
    for e in range(m):
        total += cells[1, e] * cells[1, e]
    return total
