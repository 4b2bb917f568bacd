"""All systems of the literature on the same splits: ``python -m benchmarks.literature``."""
