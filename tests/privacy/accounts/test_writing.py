"""Entries as lines and as JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.accounts.spends import Approximate, Branch, Gaussian, Pure, Spend
from dpforest.privacy.accounts.writing import entry_from_dict, entry_lines, entry_to_dict

names = st.text(min_size=1, max_size=8)
amounts = st.fractions(0, 5) | st.just(float("inf"))
losses = st.one_of(
    amounts.map(Pure),
    st.floats(0, allow_nan=False).map(Gaussian),
    st.builds(Approximate, amounts, st.fractions(0, 0.5)),
)
made = st.builds(DiscreteLaplace, st.fractions(1, 9), st.integers(1, 9))
spends = st.builds(Spend, names, names, losses, st.text(max_size=5)) | made.map(
    lambda m: Spend("s", "noise", m.loss, made=m)
)
entries = st.recursive(
    spends,
    lambda parts: st.builds(
        Branch,
        names,
        st.sampled_from(["sequential", "parallel"]),
        st.lists(parts, min_size=1, max_size=3).map(tuple),
        st.integers(1, 10**9),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=50)
@given(entries)
def test_round_trip_through_json(entry):
    text = json.dumps(entry_to_dict(entry), allow_nan=False)
    assert entry_from_dict(json.loads(text)) == entry


def test_control_a_lost_digit_is_noticed():
    entry = Spend("s", "noise", Gaussian(0.1 + 0.2))
    written = entry_to_dict(entry)
    written["loss"]["mu"] = "0.3"
    assert entry_from_dict(written) != entry


def test_drawing():
    leaf = Spend("class counts of a leaf", "discrete Laplace", Pure(0.01))
    tree = Branch("leaves of a tree", "parallel", (leaf,), times=256)
    forest = Branch("trees", "sequential", (tree,), times=50)
    bins = Spend("bins", "discrete Gaussian", Gaussian(0.04))
    names = Spend("categories", "threshold", Approximate(0.1, 1e-7))
    assert list(entry_lines([forest, bins, bins, names])) == [
        "├─ trees: epsilon = 0.5 [50 times, sequential: parts add up]",
        "│  └─ leaves of a tree: epsilon = 0.01 "
        "[256 times, parallel: disjoint records, largest counts]",
        "│     └─ class counts of a leaf: discrete Laplace, epsilon = 0.01",
        "├─ bins: discrete Gaussian, mu = 0.04 each [2 times]",
        "└─ categories: threshold, epsilon = 0.1, delta = 1e-07",
    ]


@pytest.mark.parametrize("key", ["label", "mechanism", "loss", "note", "made"])
def test_a_missing_key_is_an_error(key):
    written = entry_to_dict(Spend("s", "noise", Pure(1)))
    del written[key]
    with pytest.raises(KeyError, match=key):
        entry_from_dict(written)
