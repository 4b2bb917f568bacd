"""Choose between settings of a private model, for a price."""

from dpforest.search.searching import PrivateSearchCV

__all__ = ["PrivateSearchCV"]
