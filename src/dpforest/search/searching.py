"""A search for good settings that is paid for, in the style of scikit-learn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpforest.forests import parameters as checks
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.given_targets import check_y
from dpforest.forests.inner_fits import warn_of_inner_fits
from dpforest.forests.provenance import schema_digest
from dpforest.forests.shown import ShownEstimator
from dpforest.forests.spending import SharedBudget, spending
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.reservation import Use
from dpforest.privacy.accounts.spends import exact
from dpforest.privacy.desk import Draws
from dpforest.privacy.search_opening import Parts, open_parts
from dpforest.schema import Schema
from dpforest.search.candidates import Candidates, checked_candidates
from dpforest.search.plan import Method, SearchPlan, Shares, plan_search
from dpforest.search.trials import Chosen, Trials


class PrivateSearchCV(MetaEstimatorMixin, ShownEstimator):
    """Choose between settings of a private model; all that is read of the records is paid for.

    Each record (or person) is in the training part or in the hold-out part, by a coin of its own.
    Candidates are trained on the first and compared on the second. Only the chosen one is kept:
    its model, its parameters, and its noisy score where there is one.

    Parameters
    ----------
    estimator : estimator of dpforest
        With a schema; what it declares of neighbours and persons holds for the search. Its epsilon
        and delta do not matter: the search sets them.
    candidates : list of dict, or dict of lists
        The settings to choose from, one by one or as a grid. They are public: not found by looking
        at the records.
    epsilon : float, default=1.0
        The budget of the whole search, finite.
    delta : float, default=1e-6
        Goes with it, for estimators that have a delta; the others are searched with pure epsilon.
    method : {"random_stopping", "permute_and_flip"}, default="random_stopping"
        Train randomly drawn candidates a random number of times and keep the best, at a price that
        depends little on how many there are; or train each once, and pay for all of them.
    coverage : float, default=0.6
        The chance of each candidate to be tried at all, with random stopping.
    hold_out : float, default=0.2
        The share of the records that candidates are compared on, at most 0.5.
    random_state : int, RandomState or None, default=None
        Makes the search reproducible, for tests and papers; such noise is not secret.
    budget : Budget or path, optional
        A shared `dpforest.Budget` that pays, reserved before a record is read.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen model, trained on the training part; its ``ledger_`` is that of the search.
    best_params_ : dict
        The candidate.
    best_index_ : int
        Its place among the candidates.
    best_score_ : float or None
        The noisy share of hits on the hold-out part, or the noisy mean of 1 - 4 |error| / range,
        held to 0 and 1; too high on average, as the best of several. None for permute-and-flip,
        which releases none.
    cv_results_ : dict
        What was released, as lists of one: of the other trials nothing is kept.
    ledger_ : Ledger
        What was spent, and the guarantee of everything above.
    plan_ : SearchPlan
        How the budget was shared out; it follows from public facts.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, PrivateSearchCV, datasets
    >>> census = datasets.make_census(2_000, random_state=0)
    >>> forest = PrivateForestClassifier(schema=census.schema, n_estimators=10)
    >>> search = PrivateSearchCV(forest, {"max_depth": [2, 4, 6]}, epsilon=1.0, random_state=0)
    >>> search = search.fit(census.X, census.y)
    >>> search.ledger_.epsilon, search.best_params_ in ({"max_depth": d} for d in (2, 4, 6))
    (1.0, True)
    """

    best_estimator_: PrivateEstimator
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float | None
    cv_results_: dict[str, list[Any]]
    ledger_: Ledger
    plan_: SearchPlan

    def __init__(
        self,
        estimator: PrivateEstimator,
        candidates: Candidates,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        method: Method = "random_stopping",
        coverage: float = 0.6,
        hold_out: float = 0.2,
        random_state: Any = None,
        budget: SharedBudget | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.coverage = coverage
        self.hold_out = hold_out
        self.random_state = random_state
        self.budget = budget

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Search, within the budget.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n, n_features)
            The features.
        y : array-like of shape (n,)
            The target.
        groups : array-like of shape (n,), optional
            The person of each record; then persons are protected, not records.

        Returns
        -------
        self
        """
        candidates = self._check(groups)
        if self.budget is None:
            warn_of_inner_fits(self.epsilon)
        schema = self.estimator._resolve_schema(X, y)
        _ = schema.classes if is_classifier(self.estimator) else schema.target_bounds
        y = check_y(self.estimator, y)
        protection = self.estimator._protection(groups)
        plan = self._plan(len(candidates), protection)
        draws, structure = self._randomness()
        ledger = self._open(schema, protection, plan, draws)
        with spending(ledger):
            parts = self._part(X, y, groups, schema, draws)
            self._forget()
            self.ledger_, self.plan_ = ledger, plan
            ledger.debit(plan.entry)  # all of it, before the first trial reads a record
            found = Trials(self.estimator, candidates, plan, parts, ledger, structure).run()
            self._keep(found, candidates)
        self._tell()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the chosen model."""
        return np.asarray(self._model.predict(X))

    @available_if(lambda search: is_classifier(search.estimator))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, by the chosen model."""
        return np.asarray(self._model.predict_proba(X))

    @available_if(lambda search: is_classifier(search.estimator))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, by the chosen model."""
        return np.asarray(self._model.predict_log_proba(X))

    def score(self, X: Any, y: Any) -> float:
        """Score the chosen model on records that are not private; see `dpforest.evaluate`."""
        return float(self._model.score(X, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the schema; of classifiers."""
        classes: NDArray[Any] = self._model.classes_
        return classes

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self._model.n_features_in_)

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        searched = get_tags(self.estimator)
        tags.estimator_type = searched.estimator_type
        tags.classifier_tags = searched.classifier_tags
        tags.regressor_tags = searched.regressor_tags
        tags.input_tags = searched.input_tags
        return tags

    def _check(self, groups: Any) -> list[dict[str, Any]]:
        """Refuse what will not do, before anything is read; gives the candidates one by one."""
        checks.check_epsilon(self.epsilon)
        if math.isinf(self.epsilon):
            raise ValueError("epsilon must be finite: a search without privacy is a GridSearchCV")
        checks.check_delta(self.delta)
        checks.check_choice("method", self.method, get_args(Method))
        checks.check_number("coverage", self.coverage, 0.0, 0.99)
        checks.check_number("hold_out", self.hold_out, 0.01, 0.5)
        checks.budget("budget", self.budget)
        return checked_candidates(self.estimator, self.candidates, groups)

    def _plan(self, n_candidates: int, protection: Protection) -> SearchPlan:
        epsilon, delta = self._asked()
        shares = Shares(
            Fraction(epsilon),
            Fraction(delta),
            n_candidates,
            protection.steps,
            self.estimator._pure_share,
        )
        return plan_search(shares, self.method, float(self.coverage))

    def _asked(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta, by their decimals; no delta where trainings have no use for one."""
        gaussian = "delta" in self.estimator.get_params(deep=False)
        delta = exact(self.delta, "delta") if gaussian else 0
        return Fraction(exact(self.epsilon)), Fraction(delta)

    def _randomness(self) -> tuple[Draws, np.random.Generator | None]:
        """Secret draws, and where the seeds of public structure come from (None: fresh ones)."""
        audited: Draws | None = getattr(self, "_draws", None)
        if self.random_state is None:
            return audited or Draws(), None
        structure, noise = check_random_state(self.random_state).randint(0, 2**31 - 1, size=2)
        return audited or Draws(int(noise)), np.random.default_rng(int(structure))

    def _open(
        self, schema: Schema, protection: Protection, plan: SearchPlan, draws: Draws
    ) -> Ledger:
        """The ledger; reserved in a budget that is shared, before a record is read."""
        earlier: Ledger | None = getattr(self, "ledger_", None)
        before = None if earlier is None else earlier.failures()
        asked = self._asked()
        ledger = open_ledger(schema, *asked, protection, draws.reproducible, before, "search")
        if self.budget is None:
            return ledger
        what = f"search with {type(self.estimator).__name__}"
        most = plan.entry.cost()
        use = Use(Budget.open(self.budget), what, asked, most, schema_digest(schema))
        return use.begin(ledger)

    def _part(self, X: Any, y: Any, groups: Any, schema: Schema, draws: Draws) -> Parts:
        return open_parts(
            X,
            y,
            schema,
            share=Fraction(exact(self.hold_out, "hold_out")).limit_denominator(1 << 20),
            draws=draws,
            groups=groups,
            max_records_per_group=self.estimator.max_records_per_group,
            n_jobs=self.estimator.n_jobs,
        )

    def _forget(self) -> None:
        """Drop an earlier search: its model must not stand under the ledger of the next one."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _keep(self, found: Chosen, candidates: list[dict[str, Any]]) -> None:
        self.best_estimator_ = found.model
        self.best_index_, self.best_params_ = found.index, candidates[found.index]
        self.best_score_ = found.score
        self.cv_results_ = {"params": [self.best_params_], "score": [self.best_score_]}
