"""Drift-aware Bayesian logistic regression."""

from onlinekit_plugins.bayes_logistic.classifier import BayesianLogisticRegression

__all__ = ["BayesianLogisticRegression"]
