"""Certified bounds of a retrained linear model: does the change of the data matter?"""

from .decide import Decision, Rule, ValidationInterval
from .loo import loo_certificates
from .solve import solve
from .summary import FitSummary
from .tracker import Tracker

__all__ = ["Decision", "FitSummary", "Rule", "Tracker", "ValidationInterval", "loo_certificates", "solve"]
