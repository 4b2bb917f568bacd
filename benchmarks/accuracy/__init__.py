"""Accuracy beside the peers on every data set: ``python -m benchmarks.accuracy``."""
