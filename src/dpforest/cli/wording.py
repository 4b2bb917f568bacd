"""Errors in the words of the shell: what a message says in Python's is said by its options.

The library speaks to those who call it from Python. Here are the phrases of its messages that name
an argument, a method or a class, and what stands for them on the command line. A test holds each
against the source, so that none is left behind.
"""

from __future__ import annotations

import re

PHRASES = (
    ("use math.inf for no privacy at all", "inf is no privacy at all"),
    ("pass fit(X, y, groups=...) and declare how many", "name the column and say how many"),
    ("groups and max_records_per_group go", "--groups and --max-records-per-group go"),
    ("pass the person of each record and how many", "name the column and say how many"),
    (
        "the same neighbors, groups and max_records_per_group",
        "the same --neighbors, --groups and --max-records-per-group",
    ),
    ("max_records_per_group is", "--max-records-per-group is"),
    ("max_records_per_group must", "--max-records-per-group must"),
    (
        "declare Target(classes=(...)), or 'target': {'classes': [...]} in a dictionary",
        "declare 'target': {'classes': [...]} in its file",
    ),
    ("declare Target(low=..., high=...), or 'target'", "declare in its file 'target'"),
    (
        "declare a Schema, or pay with Schema.infer",
        "replace them by public ones, or pay with --epsilon",
    ),
    ("Budget.create makes one", "'dpforest budget create' makes one"),
    (
        "open it with Budget.open, or give another name",
        "a budget is an account and is never overwritten, so give another name",
    ),
    ("models are written by model.save(path)", "'dpforest fit' saves models"),
    ("or say overwrite=True", "or --force to overwrite it"),
    (
        "or types='frame' where those of the frame are public",
        "or --types frame where those of a Parquet file are public",
    ),
    ("declare the categories in universe", "declare the categories with --categories"),
    ("universe: ", "--categories: "),
    ("give delta=1e-6, say", "give --delta 1e-6, say"),
    ("mark missing values as empty (NaN, None)", "leave missing cells empty"),
    ("missing labels (NaN or None)", "missing labels"),
    ("missing values (NaN or None)", "missing values"),
    ("y contains", "the target contains"),
    (
        "ledger_ has the account, and the next fit of this object keeps it",
        "it stays spent, and a --budget keeps the account of it",
    ),
    (
        "use fewer features an ensemble, fewer bins, or strategy='laplace'",
        "take another --estimator, or set this one up in Python",
    ),
    ("expected what Evaluation.to_dict gives", "expected a file of 'dpforest evaluate -o'"),
    ("X is empty (0 sample(s))", "the table is empty"),
)
"""What the library says, and what is said here."""

_CATEGORIES = re.compile(r"universe=\{'([^']*)': \[\.\.\.\]\}")
_TYPES = re.compile(r"types=\{'([^']*)': '(\w+)'\}")


def in_users_words(message: str) -> str:
    """Return a message of the library in the words of the command line.

    Examples
    --------
    >>> in_users_words("declare the classes (universe={'ill': [...]})")
    'declare the classes (--categories ill=a,b)'
    """
    for said, meant in PHRASES:
        message = message.replace(said, meant)
    message = _TYPES.sub(r"--types \1=\2", message)
    return _CATEGORIES.sub(r"--categories \1=a,b", message)
