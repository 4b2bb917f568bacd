"""The systems of the literature by name: what they are, whether their privacy holds, and a forest.

`names` lists them, `describe` tells of one, `make` gives an unfitted scikit-learn estimator.
Recipes are data, in ``recipes/``; what is broken in print is in ``printed/``.
"""

from dpforest.literature.making import describe, make, names
from dpforest.literature.recipes import Description, Figure, Paper, Parts

__all__ = ["Description", "Figure", "Paper", "Parts", "describe", "make", "names"]
