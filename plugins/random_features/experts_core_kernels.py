"""Four experts on one scaled row, three of them on one map of random features: the steps of each, and the vote.

See core_kernels for the scratch and the state of mpu-fogd, neighbours_kernels for near, memory, marks and kept. Beside
them: recursive (K, R) and inverse (R, R) of the least-squares expert, R the number of features phi it uses; linear
(K, capacity) and intercept (K,) of the linear expert; trust (4,). votes (5, classes), squares (2, R) and winners (4,)
are scratch: scores of the first three experts, probabilities of the fourth, the mixture; phi and P phi; the choices.
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
from onlinekit_plugins.random_features.sigma_kernels import follow

STEPS, SQUARES, LINE, NEIGHBOURS, MIXTURE = 0, 1, 2, 3, 4  # rows of votes, in the order of trust and winners
EXPERTS = 4
KAPPA = 20.0  # how steeply votes follow the share of right answers
PATIENCE = 0.01  # weight of a sample in the running share of right answers
RIDGE = 0.1  # of the least squares, at the start
SHARPEN = 3.0
AGGRESSION = 1.0  # largest step of the linear expert


@fused
def best(scores, outputs):
    """The class with the largest of scores (classes,), the lowest at a tie; of one output, its sign."""
    if outputs == 1:
        return 1 if scores[0] > 0.0 else 0
    winner = 0
    for k in range(1, outputs):
        if scores[k] > scores[winner]:
            winner = k
    return winner


@fused
def consider(
    m, d, cells, work, votes, squares, winners, near, weights, directions, phases, run, recursive, linear, intercept,
    memory, marks, kept, scale,
):  # fmt: skip
    """What the experts say of the row in `cells`, into votes[:4], and the class each would choose.

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
        total = intercept[k]
        for e in range(m):
            total += linear[k, int(cells[2, e])] * cells[1, e]
        votes[LINE, k] = total
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
    most = trust[0]
    for h in range(1, EXPERTS):
        most = max(most, trust[h])
    total = 0.0
    for h in range(EXPERTS):
        total += math.exp(KAPPA * (trust[h] - most))
    for h in range(EXPERTS):
        share = math.exp(KAPPA * (trust[h] - most)) / total
        if h == NEIGHBOURS:
            axpy(share, votes[h], out)
        elif outputs == 1:
            f = votes[h, 0] * (SHARPEN if h == SQUARES else 1.0)
            p = 1.0 / (1.0 + math.exp(-min(max(f, -700.0), 700.0)))
            out[0] += share * (1.0 - p)
            out[1] += share * p
        else:
            sharp = 2.0 * SHARPEN if h == SQUARES else 1.0
            top = best(votes[h], outputs)
            norm = 0.0
            for k in range(outputs):
                votes[MIXTURE, k] = math.exp(sharp * (votes[h, k] - votes[h, top]))
                norm += votes[MIXTURE, k]
            axpy(share / norm, votes[MIXTURE], out)
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
    """Passive-aggressive step of the linear expert: tau = w min(1, loss / |x|^2) on the hinge loss."""
    outputs = linear.shape[0]
    s, sign, k = -1, 1.0, y
    if outputs == 1:
        k = 0
        sign = 1.0 if y == 1 else -1.0
        loss = 1.0 - sign * votes[LINE, 0]
    else:
        s = 1 if y == 0 else 0
        for r in range(outputs):
            if r != y and votes[LINE, r] > votes[LINE, s]:
                s = r
        loss = 1.0 - (votes[LINE, y] - votes[LINE, s])
        norm *= 2.0
    if loss > 0.0 and norm > 0.0:
        tau = sign * w * min(AGGRESSION, loss / norm)
        for e in range(m):
            linear[k, int(cells[2, e])] += tau * cells[1, e]
        intercept[k] += tau
        if s >= 0:
            for e in range(m):
                linear[s, int(cells[2, e])] -= tau * cells[1, e]
            intercept[s] -= tau


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
        remember(cells[0, :d], y, w, memory, marks, kept)
    if run[FIXED] == 0.0:
        follow(m, cells, norm, run, sample)
