"""Linear online learners: logistic regression, hinge-loss gradient descent, passive-aggressive."""

from onlinekit_plugins.linear.logistic import LogisticRegression
from onlinekit_plugins.linear.ogd import OGDClassifier
from onlinekit_plugins.linear.pa import PAClassifier

__all__ = ["LogisticRegression", "OGDClassifier", "PAClassifier"]
