"""Exact learners that insert and delete: ODM, L2-SVM, kernel ridge and squared-insensitive regression on one engine."""
