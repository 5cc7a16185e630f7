"""Online kernel classification with random features."""

from onlinekit_plugins.random_features.experts import KernelExpertsClassifier
from onlinekit_plugins.random_features.fogd import FOGDClassifier
from onlinekit_plugins.random_features.merging import merge
from onlinekit_plugins.random_features.mpu_fogd import MPUFOGDClassifier

__all__ = ["FOGDClassifier", "KernelExpertsClassifier", "MPUFOGDClassifier", "merge"]
