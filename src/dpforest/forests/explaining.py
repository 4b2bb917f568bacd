"""What a fitted model says of itself, from what it released: importances, effects, pictures."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.forests.saving import SavedEstimator
from dpforest.report.explained import Explained
from dpforest.report.importances import Importances, importances_of


class ExplainedEstimator(SavedEstimator):
    """An estimator that explains itself; a family says what its trees and bins are."""

    @property
    def feature_importances_(self) -> Values:
        """How far the released scores move with each feature, less the noise; free.

        0 where that cannot be told from noise. They add up to 1 minus the share of the noise.
        """
        return self.importances().value.copy()  # one's own, to do with as one likes

    def importances(self) -> Importances:
        """The importance of every feature, with an interval; see `dpforest.report.Importances`."""
        check_is_fitted(self)
        return importances_of(self._explained())

    def plot_importance(self, ax: Any = None) -> Any:
        """Draw the importance of every feature; see `dpforest.report.plot_importance`."""
        from dpforest.report import plot_importance

        return plot_importance(self, ax)

    def _explained(self) -> Explained:
        """The trees, what their leaves add, and how records spread over bins: all released."""
        raise NotImplementedError
