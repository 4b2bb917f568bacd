"""What is public about a table: its features, their ranges and categories, and the target.

A schema is *declared*, by someone who knows the field and has not looked at the records: an age
lies between 0 and 120, a blood group is one of four. Everything in it counts as public, so the
bins, cuts and trees made from it cost no privacy. See ``docs/schema.md`` for the analyst's view.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from dpforest.exceptions import SchemaError
from dpforest.schema import doors
from dpforest.schema.categories import Category
from dpforest.schema.column_types import Types
from dpforest.schema.features import (
    CategoricalFeature,
    Feature,
    NumericFeature,
    Target,
)
from dpforest.schema.reading import read_json, read_parts, warn_of_leak

if TYPE_CHECKING:
    from dpforest.privacy.accounts.ledger import Ledger

__all__ = ["Schema", "Task"]

Task = Literal["auto", "classification", "regression"]


@dataclass(frozen=True)
class Schema:
    """The public description of a table: its features in order, and the target.

    `ledger` is what the schema cost, when it was paid for with `infer`; None when it was declared.

    Examples
    --------
    >>> schema = Schema(
    ...     features=(
    ...         NumericFeature("age", low=0, high=120, integer=True),
    ...         CategoricalFeature("smoker", categories=("no", "yes")),
    ...     ),
    ...     target=Target("ill", classes=(0, 1)),
    ... )
    >>> schema.feature_names
    ('age', 'smoker')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    features: Sequence[Feature]
    target: Target | None = None
    ledger: "Ledger | None" = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        features = tuple(self.features) if isinstance(self.features, Sequence) else ()
        if not features:
            raise SchemaError("schema: 'features' must be a sequence of at least one feature")
        for position, feature in enumerate(features):
            if not isinstance(feature, NumericFeature | CategoricalFeature):
                raise SchemaError(
                    f"schema: features[{position}] must be a NumericFeature or a "
                    f"CategoricalFeature, not {type(feature).__name__}"
                )
        if not isinstance(self.target, Target | None):
            raise SchemaError("schema: 'target' must be a Target or None")
        names = [feature.name for feature in features]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise SchemaError(f"schema: feature names must differ; repeated: {repeated}")
        if self.target is not None and self.target.name in names:
            raise SchemaError(
                f"schema: the target has the name of a feature ({self.target.name!r}); "
                "leave the target out of the features, or give it another name"
            )
        object.__setattr__(self, "features", features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.features)

    @property
    def classes(self) -> tuple[Category, ...]:
        """The classes of the target; SchemaError when it has none."""
        if self.target is None or self.target.classes is None:
            raise SchemaError(
                "schema: classification needs a target with classes; declare "
                "Target(classes=(...)), or 'target': {'classes': [...]} in a dictionary"
            )
        return self.target.classes

    @property
    def target_bounds(self) -> tuple[float, float]:
        """The bounds of a numeric target; SchemaError when it has none."""
        if self.target is None or self.target.low is None or self.target.high is None:
            raise SchemaError(
                "schema: regression needs a target with bounds; declare "
                "Target(low=..., high=...), or 'target': {'low': ..., 'high': ...}"
            )
        return self.target.low, self.target.high

    def select(self, names: Sequence[str]) -> Self:
        """Return the schema of some features, in this order, with the same target and ledger.

        What a schema cost stays with every part of it; ``Schema(features, target)`` forgets it.

        Examples
        --------
        >>> X = [[age, age % 7] for age in range(20, 60)] * 50
        >>> schema = Schema.infer(X, epsilon=1.0, types={"x0": "integer", "x1": "integer"})
        >>> schema.select(["x0"]).ledger.epsilon
        1.0
        """
        if isinstance(names, str):
            raise SchemaError("schema: select takes a list of names, not one text")
        self._require(names)
        by_name = dict(zip(self.feature_names, self.features, strict=True))
        return dataclasses.replace(self, features=tuple(by_name[name] for name in names))

    def replace(self, *features: Feature, target: Target | None = None) -> Self:
        """Return the schema with some features or the target declared anew; the ledger stays.

        Examples
        --------
        >>> X = [[age] for age in range(20, 60)] * 50
        >>> schema = Schema.infer(X, epsilon=1.0, types={"x0": "integer"})
        >>> wider = schema.replace(NumericFeature("x0", low=0, high=120, integer=True))
        >>> wider.features[0].high, wider.ledger.epsilon
        (120.0, 1.0)
        """
        others = {feature.name: feature for feature in features}
        self._require(others)
        kept = tuple(others.get(feature.name, feature) for feature in self.features)
        return dataclasses.replace(self, features=kept, target=target or self.target)

    def _require(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self.feature_names]
        if unknown:
            raise SchemaError(f"schema: no such features: {unknown}; it has {self.feature_names}")

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as a dictionary that JSON can hold; `from_dict` reads it back."""
        entry: dict[str, Any] = {"features": [feature.to_dict() for feature in self.features]}
        if self.target is not None:
            entry["target"] = self.target.to_dict()
        if self.ledger is not None:
            entry["ledger"] = self.ledger.to_dict()
        return entry

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Read a schema from a dictionary; keys it does not know are ignored.

        A starter of ``dpforest schema`` was read off records: while its key ``read_from_data`` is
        there, it is as void as what `from_frame` returns, and with the same PrivacyLeakWarning.

        Examples
        --------
        >>> schema = Schema.from_dict({
        ...     "features": [
        ...         {"name": "age", "kind": "numeric", "low": 0, "high": 120},
        ...         {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
        ...     ],
        ...     "target": {"classes": ["no", "yes"]},
        ... })
        >>> schema.classes
        ('no', 'yes')
        """
        return cls(*read_parts(entry))

    @classmethod
    def from_frame(cls, X: Any, y: Any = None, *, task: Task = "auto") -> Self:
        """Read a schema off the data, with a PrivacyLeakWarning: bounds and categories are private.

        For trials, and for data that is public anyway. `infer` pays for the same instead.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, 2-D array, list of rows, or source
            The features; columns without names are x0, x1, ... A source: see `ParquetTable`.
        y : array-like, series or str, optional
            The target, or the name of its column in `X`.
        task : {"auto", "classification", "regression"}
            What the target is; "auto" takes texts, booleans and whole numbers for classes.

        Examples
        --------
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     schema = Schema.from_frame([[30.0, "no"], [50.5, "yes"]], [0, 1])
        >>> schema.features[0]
        NumericFeature(name='x0', low=30.0, high=50.5, integer=False, cuts=None)
        """
        found = doors.observe(X, y, task)
        warn_of_leak(stacklevel=3)
        return cls(*found)

    @classmethod
    def infer(
        cls,
        X: Any,
        *,
        target: Any = None,
        epsilon: float,
        delta: float = 0.0,
        types: Types | None = None,
        universe: Mapping[str, Sequence[Category]] | None = None,
        task: Task = "auto",
        neighbors: Literal["add_remove", "replace_one"] = "add_remove",
        groups: Any = None,
        max_records_per_group: int | None = None,
        random_state: int | None = None,
        budget: Any = None,
    ) -> Self:
        """Read a schema off the data through noise, for a price that `ledger` records.

        Names of columns count as public, types where they are declared; the type of any other
        column is asked, too. Bounds of numeric columns are powers of two; categories and classes
        are those whose noisy count clears a threshold. A column of which nothing stands out of the
        noise is left out. The price comes on top of what a model fitted with the schema costs.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, 2-D array, list of rows, or source
            The table. Of a source (see `ParquetTable`), `target` and `groups` are names.
        target : str, array-like or series, optional
            The column of the target in `X`, or its values.
        epsilon : float
            The budget: a fifth or more for the target, the rest evenly for the columns asked.
        delta : float
            Needed to search categories or classes, and where types are asked; well below one over
            the number of records.
        types : mapping of str to {"integer", "number", "category", "boolean"}, or "frame", optional
            Types that are declared, by column. "frame" declares that those of `X` are public facts,
            as a database or a Parquet file has them: not those a CSV reader found in the cells.
        universe : mapping of str to sequence, optional
            Categories (or classes) that are declared: these columns are not asked.
        task : {"auto", "classification", "regression"}
            What the target is; "auto" takes all but real numbers for classes.
        neighbors : {"add_remove", "replace_one"}
            What is protected: adding or removing a record, or replacing one.
        groups : array-like, optional
            The person of each record, to protect persons.
        max_records_per_group : int, optional
            How many records of one person may count; goes with `groups`.
        random_state : int, optional
            Makes the noise reproducible, for tests only.
        budget : Budget or path, optional
            A budget that is shared, in which the price is reserved before `X` is read.

        Examples
        --------
        >>> X = [[age] for age in range(20, 60)] * 50
        >>> schema = Schema.infer(X, types={"x0": "integer"}, epsilon=1.0, random_state=0)
        >>> schema.features[0]
        NumericFeature(name='x0', low=16.0, high=64.0, integer=True, cuts=None)
        >>> schema.ledger.epsilon
        1.0
        """
        return cls(
            *doors.infer(
                X,
                target,
                epsilon=epsilon,
                delta=delta,
                types=types or {},
                universe=universe or {},
                task=task,
                neighbors=neighbors,
                groups=groups,
                max_records_per_group=max_records_per_group,
                random_state=random_state,
                budget=budget,
            )
        )

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema from a JSON file."""
        return cls.from_dict(read_json(path))
