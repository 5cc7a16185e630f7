"""Exact learners that insert and delete: ODM, L2-SVM, kernel ridge and squared-insensitive regression on one engine."""

from onlinekit_plugins.id_odm.classifier import ODMClassifier
from onlinekit_plugins.id_odm.krr import KernelRidgeRegressor
from onlinekit_plugins.id_odm.l2svm import L2SVMClassifier
from onlinekit_plugins.id_odm.sq_svr import SquaredSVRegressor

__all__ = ["KernelRidgeRegressor", "L2SVMClassifier", "ODMClassifier", "SquaredSVRegressor"]
