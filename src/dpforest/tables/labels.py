"""Labels in the type in which a model will predict them: that of the declared classes.

What a label means is read as everywhere (`dpforest.schema.categories`), so 1 and "1" are the same
class. But predictions are made of the declared classes, and "1" never equals 1: a model that was
trained on the one and says the other would be wrong about every record. So a label must *equal* its
class: a text the same text, a number the same number (1, 1.0 and True). That is asked of each
label by itself, whatever container it came in, and before anything is spent.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import Category, double_of
from dpforest.tables.columns import Column
from dpforest.tables.encode import encode_labels
from dpforest.tables.frames import as_column


def encode_equal_labels(y: Any, classes: tuple[Category, ...]) -> NDArray[np.int32]:
    """Return the position of each label among the classes; SchemaError where one equals none.

    Examples
    --------
    >>> encode_equal_labels([True, False], (0, 1)).tolist()
    [1, 0]
    >>> encode_equal_labels(["1", "0"], (0, 1))
    Traceback (most recent call last):
    dpforest.exceptions.SchemaError: y spells the declared classes [0, 1] in another type, ...
    """
    if len({isinstance(label, str) for label in classes}) > 1:
        raise SchemaError(
            f"the declared classes {list(classes)} are texts and numbers, and predictions have one "
            "type: declare all of them as texts, or all as numbers"
        )
    positions = encode_labels(y, classes)
    if not _all_equal(as_column(y), classes):
        raise SchemaError(
            f"y spells the declared classes {list(classes)} in another type, and predictions would "
            "not equal it: declare texts as texts and numbers as numbers in the schema, or convert "
            "y to the type of the classes, as in y.astype(str) or y.astype(int)"
        )
    return positions


def spelled_classes(y: Any, classes: tuple[Category, ...]) -> NDArray[Any]:
    """Return the classes that texts spell: for CSV files, whose cells have no other type.

    Examples
    --------
    >>> spelled_classes(["1", "0", "1.0"], (0, 1)).tolist()
    [1, 0, 1]
    """
    return np.array(classes)[encode_labels(y, classes)]


def _all_equal(column: Column, classes: tuple[Category, ...]) -> bool:
    """Whether every label equals a class; labels are known to mean one, so none is missing."""
    texts = {label for label in classes if isinstance(label, str)}
    doubles = {double_of(label) for label in classes if not isinstance(label, str)}
    numbers = column.number_array()
    if numbers is not None:
        return bool(np.isin(numbers.astype(np.float64), np.array(list(doubles), np.float64)).all())
    _, distinct = column.levels()
    return all(
        value in texts if isinstance(value, str) else double_of(value) in doubles
        for value in distinct
    )
