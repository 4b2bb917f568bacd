import math

from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.rules import RECORDS_PER_NOISE, random_depth, random_trees


@given(st.integers(1, 200), st.floats(1, 1e7), st.floats(1e-3, 10))
def test_leaves_stay_above_the_noise_unless_there_is_nothing_to_split(d, n, epsilon):
    depth = random_depth(d, n, epsilon)
    assert depth >= 1
    assert depth == 1 or n * epsilon / 2**depth >= RECORDS_PER_NOISE


@given(st.integers(2, 200))
def test_without_noise_a_path_meets_half_of_the_features(s):
    depth = random_depth(s, 100, math.inf)
    assert s * ((s - 1) / s) ** depth < s / 2 <= s * ((s - 1) / s) ** (depth - 1)


@given(st.floats(1, 1e8), st.floats(1e-3, 100))
def test_the_number_of_trees_is_odd_and_grows_with_records_and_epsilon(n, epsilon):
    k = random_trees(n, epsilon)
    assert k % 2 == 1
    assert random_trees(2 * n, epsilon) >= k
    assert random_trees(n, 2 * epsilon) >= k
