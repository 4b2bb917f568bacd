"""What is public of a table: declared, never read from data in silence."""

from dpforest.schema.categories import Category
from dpforest.schema.declared import Schema, Task
from dpforest.schema.features import CategoricalFeature, Feature, NumericFeature, Target

__all__ = [
    "CategoricalFeature",
    "Category",
    "Feature",
    "NumericFeature",
    "Schema",
    "Target",
    "Task",
]
