import numpy as np

from dpforest import CategoricalFeature, NumericFeature, Schema
from dpforest.records.contingency import CellCounts, TableCounts
from dpforest.records.shards import total_of
from dpforest.records.statistics import Block
from dpforest.tables.folded import FoldedEncoding


def test_tables_count_what_a_plain_loop_counts():
    rng = np.random.default_rng(0)
    sizes = (3, 2, 4)
    bins = np.column_stack([rng.integers(0, n, 200) for n in sizes]).astype(np.uint8)
    codes = rng.integers(0, 2, 200).astype(np.int32)
    statistic = TableCounts(((0, 2), (), (1,), (2, 0)), sizes, 2)
    total = np.zeros(statistic.shape, np.int64)
    for half in (slice(0, 70), slice(70, 200)):
        statistic.add(Block(bins, codes, None).rows(half), total)
    pairs, everything, second, turned = statistic.split(total)
    assert pairs.shape == (3, 4, 2)
    for a, c, k in np.ndindex(3, 4, 2):
        assert pairs[a, c, k] == ((bins[:, 0] == a) & (bins[:, 2] == c) & (codes == k)).sum()
    np.testing.assert_array_equal(turned, pairs.transpose(1, 0, 2))  # axes in the order asked for
    np.testing.assert_array_equal(everything, np.bincount(codes))
    np.testing.assert_array_equal(second.sum(axis=1), np.bincount(bins[:, 1]))


def test_missing_and_unseen_fold_into_the_middle():
    schema = Schema(
        (NumericFeature("a", 0, 1, cuts=(0.5,)), CategoricalFeature("b", ("x", "y", "z")))
    )
    encoding = FoldedEncoding.from_schema(schema)
    table = np.array([[0.1, "x"], [np.nan, "w"], [0.9, None]], dtype=object)
    np.testing.assert_array_equal(encoding.bins(table), [[0, 0], [1, 1], [1, 1]])
    np.testing.assert_array_equal(encoding.feature_bins.n_bins, [2, 3])


def test_cells_of_one_table_do_not_depend_on_the_target():
    bins = np.array([[0, 1, 2], [1, 1, 0], [0, 1, 2]], np.uint8)
    for target in (np.array([0, 7, 3], np.int32), np.random.default_rng(0).random((3, 2))):
        found = total_of(CellCounts((2, 0), (2, 2, 3)), Block(bins, target))
        assert found.tolist() == [[0, 1], [0, 0], [2, 0]]
