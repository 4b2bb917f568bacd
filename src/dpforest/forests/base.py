"""What all estimators share: parameters, the way in, the ledger, saving and loading."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

import dpforest
from dpforest.exceptions import ModelFileError, NoGuaranteeWarning
from dpforest.forests.files import SavedModel, read_model, write_model
from dpforest.forests.parameters import check_choice, check_count, check_delta, check_epsilon
from dpforest.forests.provenance import Provenance
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Pure, exact, spends_of
from dpforest.privacy.counts import count
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.opening import open_table
from dpforest.schema import Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame

Neighbors = Literal["add_remove", "replace_one"]
COUNT_SHARE = Fraction(2, 100)  # of epsilon, for the noisy number of records that "auto" needs
SCIKIT_LEARN_FACTS = ("n_features_in_", "feature_names_in_")

ESTIMATORS: dict[str, type[PrivateEstimator]] = {}
"""Every estimator that can be saved, by its name."""


@dataclass(frozen=True)
class Streams:
    """The two random streams of a fit: public structure and secret noise."""

    structure: np.random.Generator
    noise: Draws

    @classmethod
    def of(cls, random_state: Any, skip: int = 0) -> Streams:
        """Both from the operating system, or both from ``random_state`` when it is given.

        A fit that goes on from another skips what that one drew, so that no noise comes twice.
        """
        if random_state is None:
            return cls(np.random.default_rng(), Draws())
        seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=2 + 2 * skip)[-2:]
        return cls(np.random.default_rng(int(seeds[0])), Draws(int(seeds[1])))


class PrivateEstimator(BaseEstimator):
    """Base of all estimators; a family adds its own parameters, ``fit`` and ``predict``.

    The parameters below are attributes that the constructors of the families set: ``epsilon``,
    ``schema``, ``neighbors``, ``max_records_per_group``, ``random_state``, ``n_jobs`` and, where
    Gaussian noise is on offer, ``delta``.
    """

    epsilon: float
    schema: Schema | dict[str, Any] | None
    n_hint: int | None
    neighbors: Neighbors
    max_records_per_group: int | None
    random_state: Any
    n_jobs: int | None
    verbose: bool
    schema_: Schema
    ledger_: Ledger
    _complete: bool = False  # whether the latest fit came to its end
    _draws: Draws | None = None  # an auditor's, in the place of the secret ones

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ESTIMATORS[cls.__name__] = cls

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _check_shared_parameters(self, groups: Any) -> None:
        check_epsilon(self.epsilon)
        check_delta(getattr(self, "delta", 0.0))
        check_choice("neighbors", self.neighbors, ("add_remove", "replace_one"))
        if self.n_jobs is not None and self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0: use a number of threads, or None for all cores")
        if (groups is None) != (self.max_records_per_group is None):
            raise ValueError(
                "groups and max_records_per_group go together: pass fit(X, y, groups=...) and "
                "declare how many records of one person may count, or neither"
            )
        if self.max_records_per_group is not None:
            check_count("max_records_per_group", self.max_records_per_group)
        if self.n_hint is not None:
            check_count("n_hint", self.n_hint)

    def _open(
        self, X: Any, y: Any, groups: Any, streams: Streams, *, continued: bool = False
    ) -> Desk:
        """Check everything there is to check and open the table; nothing is spent yet.

        A continued ledger keeps what earlier fits spent, and has as much again to spend.
        """
        frame = Frame(X)
        if continued:
            self._refuse_another_schema(X, y)
        validate_data(self, X, skip_check_array=True)
        y = self._check_y(y)
        schema = self.schema_ if continued else self._resolve_schema(X, y)
        # A schema for the other task is refused before the target is read.
        _ = schema.classes if is_classifier(self) else schema.target_bounds
        ledger = self._open_ledger(
            schema, groups is not None, streams.noise.reproducible, continued
        )
        desk = open_table(
            frame,
            y,
            schema,
            ledger=ledger,
            draws=self._draws or streams.noise,
            groups=groups,
            n_jobs=self.n_jobs,
        )
        if not continued:
            self._forget()
        self.schema_, self.ledger_ = schema, ledger
        return desk

    def _forget(self) -> None:
        """Drop an earlier fit: its trees must not stand under the ledger of the next one."""
        self._complete = False
        for name in [n for n in vars(self) if n.endswith("_") and n not in SCIKIT_LEARN_FACTS]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return self._complete

    def _refuse_another_schema(self, X: Any, y: Any) -> None:
        # Without a declared schema, the one that was read at first stays in use.
        if self.schema is not None and self._resolve_schema(X, y) != self.schema_:
            raise ValueError(
                "the model was fitted with another schema: continue it with the same one, or fit a "
                "new one"
            )

    def _protection(self, by_group: bool) -> Protection:
        unit: Literal["group", "record"] = "group" if by_group else "record"
        return Protection(self.neighbors, unit, self.max_records_per_group or 1)

    def _open_ledger(
        self, schema: Schema, by_group: bool, reproducible: bool, continued: bool
    ) -> Ledger:
        """The ledger of this fit; what fits of this object spent in vain stays in it."""
        earlier: Ledger | None = getattr(self, "ledger_", None)
        return open_ledger(
            schema,
            check_epsilon(self.epsilon),
            check_delta(getattr(self, "delta", 0.0)),
            self._protection(by_group),
            reproducible,
            before=earlier if continued or earlier is None else earlier.failures(),
        )

    def _check_y(self, y: Any) -> Any:
        """What scikit-learn's users expect of y; the rest is checked against the schema."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if getattr(y, "ndim", 1) == 2:
            if y.shape[1] != 1:
                raise ValueError("y should be a 1d array: pass one column, the target")
            y = column_or_1d(y, warn=True)
        if self.schema is None and is_classifier(self):
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        return y

    def _resolve_schema(self, X: Any, y: Any) -> Schema:
        if self.schema is None:
            task: Literal["classification", "regression"] = (
                "classification" if is_classifier(self) else "regression"
            )
            return Schema.from_frame(X, y, task=task)
        if isinstance(self.schema, Schema):
            return self.schema
        if isinstance(self.schema, dict):
            return Schema.from_dict(self.schema)
        raise TypeError(
            f"schema must be a Schema, a dictionary of one, or None, not "
            f"{type(self.schema).__name__}"
        )

    def _say_there_is_no_guarantee(self, parameter: str) -> None:
        """To be called by ``fit`` where a parameter asks for an algorithm as it was printed."""
        warnings.warn(
            f"{parameter}={getattr(self, parameter)!r} follows the printed algorithm, which is not "
            f"differentially private: ledger_.reasons says why. Leave {parameter} out for the "
            "repaired forest",
            NoGuaranteeWarning,
            stacklevel=3,
        )

    def _number_of_records(self, desk: Desk) -> float:
        """The public guess of the number of records, or a noisy one that is paid for."""
        if self.n_hint is not None:
            return float(self.n_hint)
        epsilon = exact(self.epsilon)
        price = epsilon if math.isinf(epsilon) else epsilon * COUNT_SHARE
        return max(count(desk, Pure(price)), 1.0)

    @contextmanager
    def _spending(self) -> Iterator[None]:
        """What a fit released before it failed stays spent, and the ledger says so."""
        try:
            yield
            self._complete = True
        except BaseException:
            spent = self.ledger_.stages[-1]
            if spent.entries:
                self.ledger_.mark_failed()
                warnings.warn(
                    f"fit failed after it had spent epsilon = {float(spent.epsilon):.6g}; "
                    "ledger_ has the account, and the next fit of this object keeps it",
                    RuntimeWarning,
                    stacklevel=3,
                )
            raise

    def _bins(self, X: Any, order: Literal["C", "F"] = "C") -> NDArray[np.uint8]:
        """Bin the rows of a question; columns are matched by name, in any order."""
        check_is_fitted(self)
        frame = Frame(X)
        if frame.names is None and frame.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {frame.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self.encoding_.bins(frame.select(self.schema_), self.n_jobs, order=order)

    encoding_: Encoding

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
        write_model(path, model, overwrite=overwrite)

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
        entries = [entry for stage in self.ledger_.stages for entry in stage.entries]
        if any(spend.made is None for spend in spends_of(entries)):
            raise ValueError("a release does not say what it was made of")
        if facts["seeded"] != self.ledger_.reproducible_noise:
            raise ValueError("the ledger and the file differ on whether there was a seed")
        self.n_features_in_ = int(facts["n_features_in"])
        if facts["feature_names_in"]:
            self.feature_names_in_ = np.array(facts["feature_names_in"], dtype=object)
        cuts = [None if c is None else np.array(c, np.float64) for c in facts["cuts"]]
        self.encoding_ = Encoding(self.schema_, tuple(cuts))


def estimators() -> dict[str, type[PrivateEstimator]]:
    """Every estimator of the library by its name, loaded if it was not."""
    for name in dpforest.__all__:
        if name[0].isupper():
            getattr(dpforest, name)  # classes load when first named, and estimators register
    return ESTIMATORS


def load_model(path: str | Path) -> PrivateEstimator:
    """Read a saved model of any kind.

    Parameters
    ----------
    path : str or Path
        A file that ``model.save`` wrote.

    Returns
    -------
    PrivateEstimator
        The fitted estimator, of the class it was saved from.
    """
    return PrivateEstimator.load(path)


def _params_to_json(params: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters as JSON; the schema is kept whole, the key to the noise is not."""
    kept = params | {"random_state": None}
    if isinstance(kept["schema"], Schema):
        kept["schema"] = kept["schema"].to_dict()
    plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in kept.items()}
    return {name: "inf" if _is_infinite(value) else value for name, value in plain.items()}


def _params_from_json(params: dict[str, Any]) -> dict[str, Any]:
    return {name: math.inf if value == "inf" else value for name, value in params.items()}


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)
