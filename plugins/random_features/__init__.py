"""Online kernel classification with random features."""
