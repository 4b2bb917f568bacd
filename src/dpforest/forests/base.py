"""What all estimators share: parameters, the template of a fit, the way in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dpforest.forests import parameters as checks
from dpforest.forests.declared import lent, one_of, parameter
from dpforest.forests.docstrings import spelled_out
from dpforest.forests.expectations import Worth, warn_of_few_records, warn_of_large_epsilon
from dpforest.forests.exporting import ExportedEstimator
from dpforest.forests.given_targets import check_y, refuse_names
from dpforest.forests.inner_fits import encoded_labels_explained, warn_of_inner_fits
from dpforest.forests.leaf_numbers import NumberedLeaves
from dpforest.forests.spending import SharedBudget, spending, use_of
from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Neighbors, Protection
from dpforest.privacy.accounts.reservation import Use
from dpforest.privacy.accounts.spends import Amount, Price, Pure, exact
from dpforest.privacy.counts import count
from dpforest.privacy.desk import Desk, Draws
from dpforest.privacy.opening import open_desk
from dpforest.schema import Schema
from dpforest.tables.frames import Frame
from dpforest.tables.sources import as_source

COUNT_SHARE = Fraction(2, 100)  # of epsilon, for the noisy number of records that "auto" needs
FEWEST_RECORDS = 10.0  # that a plan reckons with, whatever the noise says
SCIKIT_LEARN_FACTS = {"n_features_in_", "feature_names_in_"}


class PrivateEstimator(NumberedLeaves, ExportedEstimator):
    """Base of all estimators; a family adds parameters, ``_train`` and ``predict``.

    ``fit`` is a template: parameters are checked, the table is opened, which checks all of it and
    spends nothing, and then ``_train`` plans, grows and releases at the desk.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy budget. ``math.inf`` gives the non-private twin: no noise, the best choices.
    schema : Schema or dict, optional
        What is public of the table. Without it, bounds, categories and classes are read from
        the data: a `PrivacyLeakWarning`, and no guarantee.
    n_hint : int, optional
        A public guess of the number of records. Without it a fiftieth of the budget pays for a
        noisy count, where something is ``"auto"`` that needs one.
    neighbors : {"add_remove", "replace_one"}, default="add_remove"
        Which tables are neighbours.
    max_records_per_group : int, optional
        With ``fit(X, y, groups=...)``: protect persons, each with at most this many records.
    random_state : int, RandomState or None, default=None
        Makes structure and noise reproducible, for tests and papers; such noise is not secret.
    n_jobs : int, optional
        Threads; all cores by default.
    verbose : bool, default=False
        Print the ledger after the fit. The logger ``dpforest`` gets its first line (INFO) or all
        of it (DEBUG) in any case.
    budget : Budget or path, optional
        A shared `dpforest.Budget` that pays for the fit, reserved before a record is read.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of the schema; of classifiers.
    ledger_ : Ledger
        What was spent, and the guarantee.
    schema_ : Schema
        The schema in use.
    encoding_ : Encoding
        Its bins.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray
        Their names, where the table has names.
    """

    epsilon: float = parameter(default=1.0, check=checks.epsilon)
    schema: Schema | dict[str, Any] | None = parameter(default=None)
    n_hint: int | None = parameter(default=None, check=checks.optional(checks.count()))
    neighbors: Neighbors = one_of("add_remove", "replace_one", default="add_remove")
    max_records_per_group: int | None = parameter(
        default=None, check=checks.optional(checks.count())
    )
    random_state: Any = parameter(default=None)
    n_jobs: int | None = parameter(default=None, check=checks.threads)
    verbose: bool = parameter(default=False)
    budget: SharedBudget | None = parameter(default=None, check=checks.budget)

    _keeps_records = False  # whether they are asked after the fit, too
    _pure_share = Fraction(0)  # of epsilon, for pure releases of a fit that has a delta
    _draws: Draws | None = lent()  # an auditor's or a search's, in the place of secret ones
    _cap: Cap | None = lent()  # what a search has paid for a fit

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and PrivateEstimator.__doc__:
            cls.__doc__ = spelled_out(cls.__doc__, "PrivateEstimator", PrivateEstimator.__doc__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.random_state is None
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Train on a table, within the budget.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, array of shape (n, n_features), or source
            The features; frames match the schema by name. A source is a table that is not in
            memory: `dpforest.ParquetTable`, a polars LazyFrame, a pyarrow dataset, a Dask or Spark
            frame. Of its columns those are read that the schema, ``y`` and ``groups`` name.
        y : array-like of shape (n,), or str
            The target; of a source, the name of its column.
        groups : array-like of shape (n,), or str, optional
            The person of each record; then persons are protected, not records. Of a source, the
            name of the column.

        Returns
        -------
        self
        """
        return self._fit(X, y, groups)

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any = None) -> Self:
        """The template of a fit."""
        self._check(groups)
        warn_of_large_epsilon(float(self.epsilon))
        if self.budget is None:
            warn_of_inner_fits(self.epsilon)
        structure, noise = self._seeds(skip=self._trees_to_go_on_from())
        with encoded_labels_explained(self.schema, y):
            desk = self._open(X, y, groups, self._draws_of(noise), sample_weight)
        if is_classifier(self):
            self.classes_ = np.array(self.schema_.classes)
        try:
            with spending(self.ledger_), desk.watched("training"):
                self._train(desk, np.random.default_rng(structure))
                self._complete = True
        finally:
            if not self._keeps_records:
                desk.close()
        self._tell()
        return self

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Plan, grow and release; ``rng`` draws structure, which is public."""
        raise NotImplementedError

    def _check(self, groups: Any) -> None:
        """Refuse parameters that will not do; a family adds what goes together and what not."""
        self.check_parameters()
        if (groups is None) != (self.max_records_per_group is None):
            raise ValueError(
                "groups and max_records_per_group go together: pass fit(X, y, groups=...) and "
                "declare how many records of one person may count, or neither"
            )
        if self.budget is not None and self.schema is None:
            raise ValueError(
                "a budget pays for what is read, and schema=None reads the table for nothing: "
                "declare a Schema, or pay for one with Schema.infer(budget=...)"
            )

    def _check_schema(self, schema: Schema) -> None:
        """Refuse a schema that will not do, as one for the other task, before records are read."""
        _ = schema.classes if is_classifier(self) else schema.target_bounds

    def _trees_to_go_on_from(self) -> int:
        """Trees of an earlier fit that this one continues; 0 to start anew."""
        return 0

    def _seeds(self, skip: int) -> tuple[int | None, int | None]:
        """One seed for the public structure, one for the secret draws; None: fresh ones.

        A fit that goes on from another skips what that one drew, so that no noise comes twice.
        """
        if self.random_state is None:
            return None, None
        random = check_random_state(self.random_state)
        structure, noise = random.randint(0, 2**31 - 1, size=2 + 2 * skip)[-2:]
        return int(structure), int(noise)

    def _draws_of(self, seed: int | None) -> Draws:
        return getattr(self, "_draws", None) or Draws(seed)

    def _open(self, X: Any, y: Any, groups: Any, draws: Draws, sample_weight: Any = None) -> Desk:
        """Check everything there is to check and open the table; nothing is spent yet."""
        continued = bool(self._trees_to_go_on_from())
        source = as_source(X)
        table = Frame(X) if source is None else source
        if continued:
            self._refuse_another_schema(X, y)
        if source is None:
            refuse_names(y=y, groups=groups, sample_weight=sample_weight)
            validate_data(self, X, skip_check_array=True)
            y = check_y(self, y)
        schema = self.schema_ if continued else self._resolve_schema(X, y)
        self._check_schema(schema)
        earlier: Ledger | None = getattr(self, "ledger_", None)
        if source is not None:
            # What scikit-learn knows of the features.
            self.feature_names_in_ = np.array(schema.feature_names, object)
            self.n_features_in_ = schema.n_features
        desk = open_desk(
            table,
            y,
            schema,
            budget=self._asked(),
            protection=self._protection(groups),
            draws=draws,
            groups=groups,
            sample_weight=sample_weight,
            max_sample_weight=getattr(self, "max_sample_weight", None),
            before=earlier if continued or earlier is None else earlier.failures(),
            n_jobs=self.n_jobs,
            use=getattr(self, "_cap", None) or self._use(schema),
        )
        if not continued:
            self._forget()
        self.schema_, self.ledger_ = schema, desk.ledger
        return desk

    def _asked(self) -> tuple[Amount, Amount]:
        """Epsilon and delta of the fit; in a shared budget they stand for their decimals alone."""
        asked = self.epsilon, getattr(self, "delta", 0.0)
        return asked if self.budget is None else (exact(asked[0]), exact(asked[1], "delta"))

    def _use(self, schema: Schema) -> Use | None:
        """What a fit is about to take of the shared budget; None where there is none."""
        return use_of(self.budget, type(self).__name__, self._asked(), self._pure_share, schema)

    def _protection(self, groups: Any) -> Protection:
        unit: Literal["group", "record"] = "record" if groups is None else "group"
        return Protection(self.neighbors, unit, self.max_records_per_group or 1)

    def _forget(self) -> None:
        """Drop an earlier fit: nothing it released may stand under the ledger of the next one."""
        self._complete = False
        results = {n for n in vars(self) if n.endswith("_") or n in self.declared_results}
        for name in results - SCIKIT_LEARN_FACTS:
            delattr(self, name)

    def _refuse_another_schema(self, X: Any, y: Any) -> None:
        # Without a declared schema, the one that was read at first stays in use.
        if self.schema is not None and self._resolve_schema(X, y) != self.schema_:
            raise ValueError(
                "the model was fitted with another schema: continue it with the same one, or fit a "
                "new one"
            )

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

    def _number_of_records(self, desk: Desk) -> float:
        """The number of records that plans go by; warns where they are few."""
        found = self._count_records(desk)
        self._warn_of_few_records(desk, found)
        return found

    def _count_records(self, desk: Desk) -> float:
        """The public guess of the number of records, or a noisy one that is paid for."""
        return float(self.n_hint or max(count(desk, self._price_of_count()), FEWEST_RECORDS))

    def _warn_of_few_records(self, desk: Desk, found: float, weight: float | None = None) -> None:
        noisy = self.n_hint is None and not desk.count_is_public
        warn_of_few_records(found, desk.steps, self._worth(), noisy=noisy, weight=weight)

    def _worth(self) -> Worth:
        """What the budget is worth to a record."""
        return Worth(float(getattr(self, "delta", 0.0)), float(self.epsilon))

    @property
    def _epsilon_of_a_record(self) -> float:
        """What epsilon is worth to each of the records between neighbours."""
        return float(self.epsilon) / self.ledger_.protection.steps

    def _price_of_count(self) -> Price:
        epsilon = exact(self.epsilon)
        return Pure(epsilon if math.isinf(epsilon) else epsilon * COUNT_SHARE)

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
