"""The papers' data with public schemas, and a synthetic census that needs no download."""

from dpforest.datasets.census import make_census
from dpforest.datasets.loading import Dataset, load, names

__all__ = ["Dataset", "load", "make_census", "names"]
