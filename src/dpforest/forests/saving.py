"""Saving and loading: what of an estimator goes into a file, and how it comes back."""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import dpforest
from dpforest.exceptions import ModelFileError
from dpforest.forests.declared import Declared, fitted
from dpforest.forests.files import SavedModel, content_digest, read_model, write_model
from dpforest.forests.provenance import Provenance
from dpforest.forests.shown import ShownEstimator
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.reservation import ReservedLedger
from dpforest.privacy.accounts.spends import require_made
from dpforest.schema import Schema
from dpforest.tables.encode import Encoding

if TYPE_CHECKING:
    from dpforest.report import Report

ESTIMATORS: dict[str, type[SavedEstimator]] = {}
"""Every estimator that can be saved, by its name."""


class SavedEstimator(Declared, ShownEstimator):
    """An estimator that can be written to a file; a family adds its own facts and arrays."""

    schema_: Schema = fitted()
    ledger_: Ledger = fitted()
    encoding_: Encoding = fitted()
    n_features_in_: int = fitted()
    classes_: NDArray[Any] = fitted()
    _complete = False  # whether the latest fit came to its end

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ESTIMATORS[cls.__name__] = cls

    def __sklearn_is_fitted__(self) -> bool:
        return self._complete

    def save(self, path: str | Path, *, overwrite: bool = False, table: str | None = None) -> None:
        """Write the fitted model to a file: JSON and plain arrays, safe to read.

        A seed is not written, only that there was one: it is the key to the noise.

        Parameters
        ----------
        path : str or Path
            By custom ``name.dpforest``.
        overwrite : bool, default=False
            Replace a file that is there; FileExistsError otherwise.
        table : str, optional
            A name of the table, for readers of the file; it is public.
        """
        check_is_fitted(self)
        provenance = Provenance.now(self.schema_, self.ledger_.protection, table)
        model = SavedModel(type(self).__name__, provenance, self._facts(), self._arrays())
        digest = write_model(path, model, overwrite=overwrite)
        if isinstance(self.ledger_, ReservedLedger):
            self.ledger_.name_model(digest)

    def report(
        self,
        *,
        evaluation: Any = None,
        budget: Budget | str | PathLike[str] | None = None,
        file: str | Path | None = None,
        key: str | Path | None = None,
    ) -> Report:
        """Make one self-contained page for whoever must say yes or no to a release.

        It is made of released numbers and public facts, so it costs nothing.

        Parameters
        ----------
        evaluation : Evaluation or dict, optional
            What `dpforest.evaluate` gave, or its ``to_dict``.
        budget : Budget or path, optional
            The budget of the table; its history becomes part of the page.
        file : str or Path, optional
            The file that holds this model, for digests and the state of its signature.
        key : str or Path, optional
            The signer's public key; ModelFileError when the signature beside the file does not fit.

        Returns
        -------
        Report
            With ``html`` and ``save(path)``.

        Examples
        --------
        >>> from dpforest import PrivateForestClassifier, datasets
        >>> census = datasets.make_census(1_000, random_state=0)
        >>> forest = PrivateForestClassifier(schema=census.schema).fit(census.X, census.y)
        >>> page = forest.report()
        >>> "This model carries a privacy guarantee" in page.html
        True
        """
        from dpforest.forests.reporting import report_of

        return report_of(self, evaluation=evaluation, budget=budget, file=file, key=key)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` wrote; ModelFileError when the file cannot be trusted."""
        saved = read_model(path)
        kind = estimators().get(saved.estimator)
        if kind is None or not issubclass(kind, cls):
            raise ModelFileError(
                f"{path} holds a {saved.estimator}, not a {cls.__name__}: "
                "load it with that class, or with dpforest.load_model"
            )
        try:
            model = kind(**_params_from_json(saved.facts["params"]))
            model._restore(saved.facts, saved.arrays)
            saved.provenance.check(model.schema_, model.ledger_.protection)
            model._complete = True
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelFileError(
                f"{path} is damaged: its contents do not make a {saved.estimator} "
                f"({type(error).__name__})"
            ) from error
        return model

    def _digest(self) -> str:
        """The same for the fitted model, its files and whoever loaded them."""
        return content_digest(self._facts(), self._arrays())

    def _facts(self) -> dict[str, Any]:
        """Everything but arrays, as JSON."""
        return {
            "params": _params_to_json(self.get_params(deep=False)),
            "schema": self.schema_.to_dict(),
            "ledger": self.ledger_.to_dict(),
            "seeded": self.ledger_.reproducible_noise,
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(getattr(self, "feature_names_in_", [])),
            "cuts": [None if c is None else c.tolist() for c in self.encoding_.cuts],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the fitted model; a family adds its own."""
        return {}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what `_facts` and `_arrays` gave; a family takes back its own."""
        self.schema_ = Schema.from_dict(facts["schema"])
        self.ledger_ = Ledger.from_dict(facts["ledger"])
        require_made(self.ledger_.entries)
        if facts["seeded"] != self.ledger_.reproducible_noise:
            raise ValueError("the ledger and the file differ on whether there was a seed")
        if is_classifier(self):
            self.classes_ = np.array(self.schema_.classes)
        self.n_features_in_ = int(facts["n_features_in"])
        if facts["feature_names_in"]:
            self.feature_names_in_ = np.array(facts["feature_names_in"], dtype=object)
        cuts = [None if c is None else np.array(c, np.float64) for c in facts["cuts"]]
        self.encoding_ = Encoding(self.schema_, tuple(cuts))


def estimators() -> dict[str, type[SavedEstimator]]:
    """Every estimator of the library by its name, loaded if it was not."""
    for name in dpforest.__all__:
        if name[0].isupper() or name == "literature":
            getattr(dpforest, name)  # classes load when first named, and estimators register
    return ESTIMATORS


def load_model(path: str | Path) -> SavedEstimator:
    """Read a saved model of any kind.

    Parameters
    ----------
    path : str or Path
        A file that ``model.save`` wrote.

    Returns
    -------
    estimator
        Fitted, of the class it was saved from.
    """
    return SavedEstimator.load(path)


def _params_to_json(params: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters as JSON; the schema is whole, the key to the noise is left out."""
    kept = {n: v for n, v in params.items() if n != "budget"} | {"random_state": None}
    if isinstance(kept["schema"], Schema):
        kept["schema"] = kept["schema"].to_dict()
    if isinstance(kept.get("class_weight"), dict):  # JSON has no other keys than texts
        kept["class_weight"] = [[_plain(k), _plain(w)] for k, w in kept["class_weight"].items()]
    plain = {n: _plain(v) for n, v in kept.items()}
    return {name: "inf" if _is_infinite(value) else value for name, value in plain.items()}


def _params_from_json(params: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: math.inf if value == "inf" else value for name, value in params.items()
    }
    if found["schema"] is not None:
        found["schema"] = Schema.from_dict(found["schema"])
    if isinstance(found.get("class_weight"), list):
        found["class_weight"] = dict(found["class_weight"])
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)
