"""Certified bounds of a retrained linear model: does the change of the data matter?"""

from .decide import Decision, Rule, ValidationInterval
from .kernel_sphere import KernelTracker
from .loo import loo_certificates
from .monitor_ellipsoid import EllipsoidTest
from .monitor_model import LinearModel
from .monitor_newton import NewtonTest
from .monitor_segment import SegmentTest
from .monitor_sphere import SphereTest
from .solve import solve
from .summary import FitSummary
from .tracker import Tracker

__all__ = [
    "Decision",
    "EllipsoidTest",
    "FitSummary",
    "KernelTracker",
    "LinearModel",
    "NewtonTest",
    "Rule",
    "SegmentTest",
    "SphereTest",
    "Tracker",
    "ValidationInterval",
    "loo_certificates",
    "solve",
]
