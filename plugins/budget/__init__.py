"""Online learners of a fixed size: kernel expansions over few points, and pairs of linear units."""

from onlinekit_plugins.budget.avm import AVMClassifier
from onlinekit_plugins.budget.pamo import PAMOClassifier

__all__ = ["AVMClassifier", "PAMOClassifier"]
