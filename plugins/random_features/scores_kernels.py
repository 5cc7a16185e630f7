"""From scores to choices and probabilities. K outputs: one for two classes, whose score is that of the second."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit.jit import kernel


@kernel
def best(scores, K):
    """The class with the largest of scores (at least K,), the lowest at a tie; of one output, by its sign."""
    if K == 1:
        return 1 if scores[0] > 0.0 else 0
    winner = 0
    for k in range(1, K):
        if scores[k] > scores[winner]:
            winner = k
    return winner


@kernel
def best_rival(scores, y, K):
    """argmax over r != y, r < K of scores_r, the lowest index at a tie."""
    rival = 1 if y == 0 else 0
    for r in range(K):
        if r != y and scores[r] > scores[rival]:
            rival = r
    return rival


@kernel
def hinge(scores, y, K):
    """(loss, k, rival, sign): loss = 1 - (f_y - f_rival), of one output 1 - sign f_0, with sign = -1 or +1 for y.

    Output k is to move by sign, output rival, the best of the others, the other way; rival -1 when there is none.
    """
    if K == 1:
        sign = 1.0 if y == 1 else -1.0
        return 1.0 - sign * scores[0], 0, -1, sign
    rival = best_rival(scores, y, K)
    return 1.0 - (scores[y] - scores[rival]), y, rival, 1.0


@kernel
def into_probabilities(scores, K, out):
    """out = (1 - s, s), s = sigmoid(scores_0), when K = 1, else the softmax of scores (K,); the winner's index.

    No exponent is positive, so nothing overflows.
    """
    winner = best(scores, K)
    if K == 1:
        f = float(scores[0])
        small = math.exp(-abs(f))
        out[1] = (1.0 if f > 0.0 else small) / (1.0 + small)
        out[0] = (small if f > 0.0 else 1.0) / (1.0 + small)
        return winner
    total = 0.0
    for k in range(K):
        out[k] = math.exp(float(scores[k]) - float(scores[winner]))
        total += out[k]
    for k in range(K):
        out[k] /= total
    return winner
