"""A learner for onlinekit."""

from template_learner.classifier import TemplateLearner

__all__ = ["TemplateLearner"]

ONLINEKIT_API = 1
