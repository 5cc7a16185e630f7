"""Certified bounds of a retrained linear model: does the change of the data matter?"""

from .solve import solve
from .summary import FitSummary
from .tracker import Tracker

__all__ = ["FitSummary", "Tracker", "solve"]
