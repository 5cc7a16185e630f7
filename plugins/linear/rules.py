"""The rules of the family: how far the weights of each class are pulled along the row, given its scores.

Two classes have one score f and sign y = -1 or +1; more have scores (K,), and s is the best rival of the class y. w is
the sample weight, norm |x|^2. c is the pull: w_k += lr c_k x, b_k += intercept_lr c_k.

    LOGISTIC  c = w ([k = y] - p_k), p the sigmoid or softmax
    HINGE     c = +-w where the margin is 1 or less
    PA_I      c = +-w min(C, loss / norm)
    PA_II     c = +-w loss / (norm + 1/2C), norm doubled with more than two classes
"""

import math

from onlinekit.jit import kernel
from onlinekit_plugins.linear.products import sigmoid

LOGISTIC, HINGE, PA_I, PA_II = 0, 1, 2, 3


@kernel
def strength(margin, norm, rule, C):
    """The size of c for the rules on the hinge loss, before the sample weight; 0 for a NaN margin."""
    if rule == HINGE:
        return 1.0 if margin <= 1.0 else 0.0
    loss = 1.0 - margin
    if not loss > 0.0:
        return 0.0
    if rule == PA_II:
        return loss / (norm + 0.5 / C)
    return min(C, loss / norm) if norm > 0.0 else 0.0


@kernel
def pull(f, y, w, norm, rule, C):
    """c of two classes."""
    if rule == LOGISTIC:
        return w * (y - sigmoid(f))
    sign = 1.0 if y == 1 else -1.0
    return w * sign * strength(sign * f, norm, rule, C)


@kernel
def pulls(scores, y, w, norm, rule, C):
    """scores (K,) <- c (K,); the best rival is the lowest of equals."""
    classes = scores.shape[0]
    if rule == LOGISTIC:
        softmax(scores)
        for k in range(classes):
            scores[k] = w * ((1.0 if k == y else 0.0) - scores[k])
        return
    s = 1 if y == 0 else 0
    for r in range(classes):
        if r != y and scores[r] > scores[s]:
            s = r
    c = w * strength(scores[y] - scores[s], 2.0 * norm, rule, C)
    scores[:] = 0.0
    scores[y] = c
    scores[s] = -c


@kernel
def softmax(scores):
    """scores (K,) <- exp(scores_k) / sum of them; the index of the largest, the lowest of equals."""
    best = 0
    for k in range(1, scores.shape[0]):
        if scores[k] > scores[best]:
            best = k
    top, total = scores[best], 0.0
    for k in range(scores.shape[0]):
        scores[k] = math.exp(scores[k] - top)
        total += scores[k]
    for k in range(scores.shape[0]):
        scores[k] /= total
    return best


@kernel
def shrink(weights, share):
    """weights -= share * weights."""
    if share != 0.0:
        weights *= 1.0 - share
