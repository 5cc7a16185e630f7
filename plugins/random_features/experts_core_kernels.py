"""Three experts on one map of random features: the steps of each, and the vote. See core_kernels for the scratch.

Beside the state of mpu-fogd: recursive (K, R) and inverse (R, R) of the least-squares expert, R the number
of features phi it uses; linear (K, capacity) and intercept (K,) of the linear expert; trust (3,). votes (4, classes),
squares (2, R) and winners (3,) are scratch: scores of the three and their mixture, phi and P phi, the choices.
"""

from __future__ import annotations

import math

import numpy as np

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
from onlinekit_plugins.random_features.rows_kernels import squared
from onlinekit_plugins.random_features.sigma_kernels import follow

KAPPA = 20.0  # how steeply votes follow the share of right answers
PATIENCE = 0.01  # weight of a sample in the running share of right answers
FORGETTING = 0.999  # of the least squares, a sample
RIDGE = 0.1  # of the least squares, at the start
SHARPEN = 3.0
AGGRESSION = 1.0  # largest step of the linear expert


@fused
def best(scores: np.ndarray, outputs: int) -> int:
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
    m: int,
    cells: np.ndarray,
    work: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    recursive: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    scale: float,
) -> None:
    """The scores of the three experts for the row in `cells`, into votes[:3], and the class each would choose."""
    n, half = phases.shape[0], squares.shape[1] // 2
    outputs = weights.shape[0]
    project(m, cells, run[GAIN], directions, phases, work)
    look(work, weights, n, scale)
    share = 1.0 / math.sqrt(half)
    for i in range(half):
        squares[0, i] = share * work[COS, i]
        squares[0, half + i] = share * work[SIN, i]
    for k in range(outputs):
        votes[0, k] = work[SCORES, k]
        votes[1, k] = dot(recursive[k], squares[0])
        total = intercept[k]
        for e in range(m):
            total += linear[k, int(cells[2, e])] * cells[1, e]
        votes[2, k] = total
    for h in range(3):
        winners[h] = best(votes[h], outputs)


@fused
def vote(votes: np.ndarray, trust: np.ndarray, outputs: int, out: np.ndarray) -> int:
    """out (classes,) = sum_h v_h p_h, v_h ~ exp(KAPPA trust_h), p_h the sigmoid or softmax of the scores of expert h.

    The scores of the least squares, which are near +-1 or +-1/2, are taken SHARPEN times, or twice that. The class of
    the largest out.
    """
    out[:] = 0.0
    most = max(trust[0], max(trust[1], trust[2]))
    total = 0.0
    for h in range(3):
        total += math.exp(KAPPA * (trust[h] - most))
    for h in range(3):
        share = math.exp(KAPPA * (trust[h] - most)) / total
        if outputs == 1:
            f = votes[h, 0] * (SHARPEN if h == 1 else 1.0)
            p = 1.0 / (1.0 + math.exp(-min(max(f, -700.0), 700.0)))
            out[0] += share * (1.0 - p)
            out[1] += share * p
        else:
            sharp = 2.0 * SHARPEN if h == 1 else 1.0
            top = best(votes[h], outputs)
            norm = 0.0
            for k in range(outputs):
                votes[3, k] = math.exp(sharp * (votes[h, k] - votes[h, top]))
                norm += votes[3, k]
            for k in range(outputs):
                out[k] += share * votes[3, k] / norm
    return best(out, out.shape[0])


@fused
def shrink(row: np.ndarray, a: float, q: np.ndarray, grow: float) -> None:
    """row = grow (row - a q); row, q (R,)."""
    for j in range(row.shape[0]):
        row[j] = grow * (row[j] - a * q[j])


@fused
def regress(
    y: int,
    w: float,
    votes: np.ndarray,
    squares: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    forgetting: float,
) -> None:
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
        axpy((target - votes[1, k]) / c, v, recursive[k])
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
def press(
    m: int,
    cells: np.ndarray,
    y: int,
    w: float,
    norm: float,
    votes: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
) -> None:
    """Passive-aggressive step of the linear expert: tau = w min(1, loss / |x|^2) on the hinge loss."""
    outputs = linear.shape[0]
    s, sign, k = -1, 1.0, y
    if outputs == 1:
        k = 0
        sign = 1.0 if y == 1 else -1.0
        loss = 1.0 - sign * votes[2, 0]
    else:
        s = 1 if y == 0 else 0
        for r in range(outputs):
            if r != y and votes[2, r] > votes[2, s]:
                s = r
        loss = 1.0 - (votes[2, y] - votes[2, s])
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
    m: int,
    cells: np.ndarray,
    y: int,
    w: float,
    work: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> None:
    """Let every expert learn the row in `cells`, whose scores `consider` has found."""
    n = phases.shape[0]
    norm = squared(m, cells)
    h = correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
    if h != 0.0:
        turn(m, cells, h / run[GAIN], work[GRADIENT, :n], directions)
    if w > 0.0:
        for i in range(3):
            trust[i] += PATIENCE * ((1.0 if winners[i] == y else 0.0) - trust[i])
        regress(y, w, votes, squares, recursive, inverse, forgetting)
        press(m, cells, y, w, norm, votes, linear, intercept)
    if run[FIXED] == 0.0:
        follow(m, cells, norm, run, sample)
