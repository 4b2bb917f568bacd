"""How an estimator is shown: a short line of text, and a page fragment with the guarantee."""

from __future__ import annotations

import html
import logging
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if

from dpforest.schema import Schema

LOGGER = logging.getLogger("dpforest")


class FoldedSchema:
    """Stands for a schema where an estimator is shown; a schema by itself is shown in full."""

    def __init__(self, schema: Schema) -> None:
        target = "" if schema.target is None else f", target {schema.target.name!r}"
        features = "feature" if schema.n_features == 1 else "features"
        self._shown = f"Schema({schema.n_features} {features}{target})"

    def __repr__(self) -> str:
        return self._shown


class ShownEstimator(BaseEstimator):
    """scikit-learn's base, with the schema folded and the guarantee told.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets
    >>> census = datasets.make_census(100, random_state=0)
    >>> PrivateForestClassifier(epsilon=0.5, schema=census.schema)
    PrivateForestClassifier(epsilon=0.5, schema=Schema(10 features, target 'income'))
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return str(BaseEstimator.__repr__(_folded(self), N_CHAR_MAX))

    @available_if(lambda _: get_config()["display"] == "diagram")  # type: ignore[untyped-decorator]
    def _repr_html_(self) -> str:
        diagram = estimator_html_repr(self)
        return f"{diagram}<p><strong>Privacy:</strong> {html.escape(self._promise())}</p>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What notebooks show."""
        bundle = {"text/plain": repr(self)}
        if hasattr(self, "_repr_html_"):
            bundle["text/html"] = self._repr_html_()
        return bundle

    def _promise(self) -> str:
        """What the ledger promises of what was released so far."""
        ledger = getattr(self, "ledger_", None)
        if ledger is None:
            return f"not trained, so nothing is spent; epsilon = {self.epsilon:g} is asked for"
        promise: str = ledger.explain().partition("\n")[0]
        return promise

    def _tell(self) -> None:
        """Log what a fit or a batch has released, and print the ledger where that is asked for.

        A ledger holds released and public facts alone. Trials of a search are not told: how many
        there are is secret.
        """
        if getattr(self, "_cap", None) is not None:
            return
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info("%s: %s", type(self).__name__, self._promise())
            LOGGER.debug("%s", self.ledger_.explain())
        if getattr(self, "verbose", False):
            print(self.ledger_.explain())


def _folded(estimator: ShownEstimator) -> ShownEstimator:
    """The estimator with stand-ins for its schema, and for that of an estimator in it."""
    params = estimator.get_params(deep=False)
    short = {
        name: FoldedSchema(value) if isinstance(value, Schema) else _folded(value)
        for name, value in params.items()
        if isinstance(value, Schema | ShownEstimator)
    }
    return type(estimator)(**params | short) if short else estimator
