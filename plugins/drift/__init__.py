"""River's drift detectors, and a clock, as monitors."""
