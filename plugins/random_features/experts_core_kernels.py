"""Five experts on one scaled row, two of them on one map of random features: the steps of each, and the vote.

See core_kernels for the scratch and the state of mpu-fogd, neighbours_kernels for near, memory, marks and kept. Beside
them: recursive (K, R) and inverse (R, R) of the least squares, R the number of features phi they use; linear (K, 2,
capacity) and intercept (K, 2) of passive-aggressive (MARGIN) and of logistic regression (ODDS); trust (5,), the running
shares of right answers. votes (7, classes), squares (2, R) and winners (5,) are scratch: what each expert says and room
for the mixture; phi and P phi; the choices.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit_plugins.random_features.core_kernels import (
    COS,
    FIXED,
    GAIN,
    GRADIENT,
    SCORES,
    SIN,
    axpy,
    correct,
    dot,
    look,
    project,
    turn,
)
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.neighbours_kernels import consult, remember
from onlinekit_plugins.random_features.rows_kernels import spread, squared
from onlinekit_plugins.random_features.scores_kernels import best, best_rival, into_probabilities
from onlinekit_plugins.random_features.sigma_kernels import follow

STEPS, SQUARES, LINE, LOGIT, NEIGHBOURS = 0, 1, 2, 3, 4  # the experts: rows of votes, trust and winners
EXPERTS = 5
SCALED, SHARES = 5, 6  # rows of votes for the mixture
MARGIN, ODDS = 0, 1  # the two rows of linear and intercept
KAPPA = 20.0  # how steeply votes follow the share of right answers
PATIENCE = 0.01  # weight of a sample in the running share of right answers
RIDGE = 0.1  # of the least squares, at the start
SHARPEN = 3.0
AGGRESSION = 1.0  # largest step of passive-aggressive
RATE = 0.02  # largest step of logistic regression; 1 / |x|^2 where that is less


@fused
def dot_entries(m, cells, a):
    """a . x; a (capacity,)."""
    total = 0.0
    for e in range(m):
        total += a[int(cells[2, e])] * cells[1, e]
    return total


@fused
def add_entries(m, cells, step, a):
    """a += step x; a (capacity,)."""
    for e in range(m):
        a[int(cells[2, e])] += step * cells[1, e]


@fused
def consider(
    m, d, cells, work, votes, squares, winners, near, weights, directions, phases, run, recursive, linear, intercept,
    memory, marks, kept, scale,
):  # fmt: skip
    """What the experts say of the row in `cells`, into votes[:5], and the class each would choose.

    Leaves the row dense in cells[0, :d].
    """
    n, half = phases.shape[0], squares.shape[1] // 2
    outputs = weights.shape[0]
    project(m, cells, run[GAIN], directions, phases, work)
    look(work, weights, n, scale)
    share = 1.0 / math.sqrt(half)
    for i in range(half):
        squares[0, i] = share * work[COS, i]
        squares[0, half + i] = share * work[SIN, i]
    for k in range(outputs):
        votes[STEPS, k] = work[SCORES, k]
        votes[SQUARES, k] = dot(recursive[k], squares[0])
        for e in range(2):
            votes[LINE + e, k] = intercept[k, e] + dot_entries(m, cells, linear[k, e])
    spread(m, cells, cells[0, :d])
    consult(cells[0, :d], near, memory, marks, kept, votes[NEIGHBOURS])
    for h in range(EXPERTS):
        winners[h] = best(votes[h], votes.shape[1] if h == NEIGHBOURS else outputs)


@fused
def vote(votes, trust, outputs, out):
    """out (classes,) = sum_h v_h p_h, v_h ~ exp(KAPPA trust_h), p_h the sigmoid or softmax of the scores of expert h.

    The scores of the least squares, which are near +-1 or +-1/2, are taken SHARPEN times, or twice that; the
    neighbours give probabilities themselves. The class of the largest out.
    """
    out[:] = 0.0
    most, total = -math.inf, 0.0
    for h in range(EXPERTS):
        most = max(most, trust[h])
    for h in range(EXPERTS):
        total += math.exp(KAPPA * (trust[h] - most))
    for h in range(EXPERTS):
        share = math.exp(KAPPA * (trust[h] - most)) / total
        if h == NEIGHBOURS:
            axpy(share, votes[h], out)
        else:
            sharp = 1.0 if h != SQUARES else SHARPEN if outputs == 1 else 2.0 * SHARPEN
            for k in range(outputs):
                votes[SCALED, k] = sharp * votes[h, k]
            into_probabilities(votes[SCALED], outputs, votes[SHARES])
            axpy(share, votes[SHARES], out)
    return best(out, out.shape[0])


@fused
def shrink(row, a, q, grow):
    """row = grow (row - a q); row, q (R,)."""
    for j in range(row.shape[0]):
        row[j] = grow * (row[j] - a * q[j])


@fused
def regress(y, w, votes, squares, recursive, inverse, forgetting):
    """Recursive least squares with forgetting on targets +-1, or +-1/2 with an output for each class.

    e_k = target_k - f_k, v = P phi, c = forgetting / w + phi . v, w_k += e_k v / c, P <- (P - v v' / c) / forgetting,
    without the division where the trace of P would grow beyond its start: what is not excited must not wind up.
    """
    size = inverse.shape[0]
    phi, v = squares[0], squares[1]
    for i in range(size):
        v[i] = dot(inverse[i], phi)
    c = forgetting / w + dot(phi, v)
    if not c > 0.0:
        return
    outputs = recursive.shape[0]
    for k in range(outputs):
        if outputs == 1:
            target = 1.0 if y == 1 else -1.0
        else:
            target = 0.5 if y == k else -0.5
        axpy((target - votes[SQUARES, k]) / c, v, recursive[k])
    root = 1.0 / math.sqrt(c)
    trace = 0.0
    for i in range(size):
        v[i] *= root
        trace += inverse[i, i] - v[i] * v[i]
    grow = 1.0 / forgetting
    if trace * grow > size / RIDGE:
        grow = 1.0
    for i in range(size):
        shrink(inverse[i], v[i], v, grow)


@fused
def press(m, cells, y, w, norm, votes, linear, intercept):
    """Passive-aggressive step: tau = w min(1, loss / |x|^2) on the hinge loss."""
    outputs = linear.shape[0]
    s, sign, k = -1, 1.0, y
    if outputs == 1:
        k = 0
        sign = 1.0 if y == 1 else -1.0
        loss = 1.0 - sign * votes[LINE, 0]
    else:
        s = best_rival(votes[LINE], y, outputs)
        loss = 1.0 - (votes[LINE, y] - votes[LINE, s])
        norm *= 2.0
    if loss > 0.0 and norm > 0.0:
        tau = sign * w * min(AGGRESSION, loss / norm)
        add_entries(m, cells, tau, linear[k, MARGIN])
        intercept[k, MARGIN] += tau
        if s >= 0:
            add_entries(m, cells, -tau, linear[s, MARGIN])
            intercept[s, MARGIN] -= tau


@fused
def descend(m, cells, y, w, norm, votes, linear, intercept):
    """Gradient step of logistic or softmax regression: w_k += w min(RATE, 1 / |x|^2) (y_k - p_k) x."""
    outputs = linear.shape[0]
    into_probabilities(votes[LOGIT], outputs, votes[SHARES])
    step = w * (RATE if norm * RATE <= 1.0 else 1.0 / norm)
    for k in range(outputs):
        of = 1 if outputs == 1 else k
        move = step * ((1.0 if y == of else 0.0) - votes[SHARES, of])
        add_entries(m, cells, move, linear[k, ODDS])
        intercept[k, ODDS] += move


@fused
def teach(
    m, d, cells, y, w, work, votes, squares, winners, weights, directions, phases, run, sample, recursive, inverse,
    linear, intercept, memory, marks, kept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
):  # fmt: skip
    """Let every expert learn the row in `cells`, of which `consider` has found what they say."""
    n = phases.shape[0]
    norm = squared(m, cells)
    h = correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
    if h != 0.0:
        turn(m, cells, h / run[GAIN], work[GRADIENT, :n], directions)
    if w > 0.0:
        for i in range(EXPERTS):
            trust[i] += PATIENCE * ((1.0 if winners[i] == y else 0.0) - trust[i])
        regress(y, w, votes, squares, recursive, inverse, forgetting)
        press(m, cells, y, w, norm, votes, linear, intercept)
        descend(m, cells, y, w, norm, votes, linear, intercept)
        remember(cells[0, :d], y, w, memory, marks, kept)
    if run[FIXED] == 0.0:
        follow(m, cells, norm, run, sample)
