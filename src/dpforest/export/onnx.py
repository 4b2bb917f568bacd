"""A model as ONNX: standard operators only, so that any runtime gives the same answers.

Every feature is an input of its own, of shape (n, 1): doubles for numbers and for categories that
are numbers (NaN is missing), texts for other categories ("" is missing unless declared). Bins
are found as `dpforest.tables.encode` finds them; trees are followed by looking up tables, since
the sets of bins that go right need not be intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.export.described import Described
from dpforest.export.onnx_graph import Graph
from dpforest.schema import CategoricalFeature
from dpforest.schema.categories import CategoryIndex
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest


def to_onnx(model: Described) -> Any:
    """The model as an ``onnx.ModelProto``; needs the extra ``onnx``.

    Outputs are ``probabilities``, shape (n, n_classes), and ``label``, shape (n,), of classifiers;
    ``target``, shape (n,), of regressors, and ``lower`` and ``upper`` with intervals.
    """
    graph = Graph()
    bins = graph.add("Concat", [_bins_of(graph, model, j) for j in _features(model)], axis=1)
    oblivious = isinstance(model.trees, ObliviousTrees)
    scores = (_oblivious_scores if oblivious else _forest_scores)(graph, model, bins)
    if model.classes is None:
        return _number(graph, model, scores)
    return _classes(graph, model, scores)


def _features(model: Described) -> range:
    return range(model.encoding.schema.n_features)


def _bins_of(graph: Graph, model: Described, j: int) -> str:
    """The bin of a feature, int64, shape (n, 1)."""
    encoding = model.encoding
    feature, cuts = encoding.schema.features[j], encoding.cuts[j]
    missing, unseen = int(encoding.n_values[j]), int(encoding.unseen[j])
    if isinstance(feature, CategoricalFeature):
        index = CategoryIndex(feature.categories)
        if any(isinstance(category, str) for category in feature.categories):
            places = dict.fromkeys(("", "nan", "NaN"), missing)
            bins = encoding.category_bins[j].tolist()
            places |= {str(c): bins[index.position(c)] for c in feature.categories}
            name = graph.input(feature.name, "string")
            return graph.add(
                "LabelEncoder",
                [name],
                domain="ai.onnx.ml",
                keys_strings=list(places),
                values_int64s=list(places.values()),
                default_int64=unseen,
            )
        name = graph.input(feature.name, "double")
        return _among_numbers(graph, name, index, encoding.category_bins[j])
    assert cuts is not None
    name = graph.input(feature.name, "double")
    if not cuts.size:
        none = graph.add("Cast", [graph.add("IsNaN", [name])], to="int64")
        return graph.add("Mul", [none, graph.constant(np.array(missing))])
    above = graph.add("Greater", [name, graph.constant(cuts[None])])
    counted = graph.sum(graph.add("Cast", [above], to="int64"), axis=1)
    return graph.add(
        "Where", [graph.add("IsNaN", [name]), graph.constant(np.array([[missing]])), counted]
    )


def _among_numbers(graph: Graph, name: str, index: CategoryIndex, bins: NDArray[np.uint8]) -> str:
    """The bin of a number among others, or where missing and unseen ones go."""
    numbers = np.array(sorted(index.numbers))
    places = bins[[index.numbers[number] for number in numbers.tolist()]].astype(np.int64)
    unseen, missing = bins[-2:].astype(np.int64)
    same = graph.add("Equal", [name, graph.constant(numbers[None])])
    hits = graph.add("Cast", [same], to="int64")
    place = graph.sum(graph.add("Mul", [hits, graph.constant(places[None])]), axis=1)
    found = graph.add("Greater", [graph.sum(hits, axis=1), graph.constant(np.array(0))])
    elsewhere = graph.add(
        "Where",
        [
            graph.add("IsNaN", [name]),
            graph.constant(np.array([[missing]])),
            graph.constant(np.array([[unseen]])),
        ],
    )
    return graph.add("Where", [found, place, elsewhere])


def _oblivious_scores(graph: Graph, model: Described, bins: str) -> str:
    """Answers of all levels at once, then the leaves: shape (n, n_outputs)."""
    trees = model.trees
    assert isinstance(trees, ObliviousTrees)
    n_trees, levels = trees.feature.shape
    asked = np.arange(levels) < trees.depth[:, None]
    bit = (trees.goes_right * asked[:, :, None]).astype(np.int64) << np.arange(levels)[:, None]
    asks = graph.add("Gather", [bins, graph.constant(trees.feature.ravel())], axis=1)
    place = graph.add("Add", [asks, graph.constant(256 * np.arange(n_trees * levels)[None])])
    answers = graph.add("Gather", [graph.constant(bit.ravel()), place])
    rows = graph.add("Reshape", [answers, graph.constant(np.array([-1, n_trees, levels]))])
    leaf = graph.sum(rows, axis=2, keepdims=0)
    n_leaves = model.leaves.shape[2]
    start = graph.constant(n_leaves * np.arange(n_trees)[None])
    table = model.leaves.transpose(0, 2, 1).reshape(n_trees * n_leaves, -1).astype(np.float32)
    added = graph.add("Gather", [graph.constant(table), graph.add("Add", [leaf, start])])
    # Tree after tree in single precision, as our own kernel adds them up: equal to the last bit.
    so_far = graph.add("CumSum", [added, graph.constant(np.array(1))])
    scores = graph.add("Gather", [so_far, graph.constant(np.array(n_trees - 1))], axis=1)
    return graph.add("Cast", [scores], to="double")


def _forest_scores(graph: Graph, model: Described, bins: str) -> str:
    """Level by level through all trees, leaves staying where they are: shape (n, n_outputs)."""
    forest = model.trees
    assert isinstance(forest, Forest)
    sets, of_node = np.unique(forest.goes_right, axis=0, return_inverse=True)
    bits = np.unpackbits(np.ascontiguousarray(sets, "<u8").view(np.uint8), bitorder="little")
    feature, first = graph.constant(forest.feature), graph.constant(forest.first_child)
    inner = graph.constant((forest.n_children > 0).astype(np.int64))
    right, row = graph.constant(bits.astype(np.int64)), graph.constant(256 * of_node.ravel())
    zeros = graph.add("Mul", [graph.slice_column(bins), graph.constant(np.array(0))])
    node = graph.add("Add", [zeros, graph.constant(forest.roots[None])])
    for _ in range(forest.max_depth):
        asked = graph.add("Gather", [feature, node])
        step = graph.add("GatherElements", [bins, asked], axis=1)
        if not forest.multiway:
            place = graph.add("Add", [graph.add("Gather", [row, node]), step])
            step = graph.add("Gather", [right, place])
        step = graph.add("Mul", [step, graph.add("Gather", [inner, node])])
        node = graph.add("Add", [graph.add("Gather", [first, node]), step])
    leaf = graph.add("Gather", [graph.constant(np.maximum(forest.leaf_id, 0)), node])
    added = graph.add("Gather", [graph.constant(model.leaves.astype(np.float64)), leaf])
    return graph.sum(added, axis=1, keepdims=0)


def _number(graph: Graph, model: Described, scores: str) -> Any:
    scaled = graph.add("Mul", [scores, graph.constant(np.asarray(model.scale))])
    target = graph.add("Add", [scaled, graph.constant(np.asarray(model.center))])
    assert model.bounds is not None
    low, high = (graph.constant(np.array(bound)) for bound in model.bounds)
    inside = graph.add("Min", [graph.add("Max", [target, low]), high])
    found = {"target": inside} if model.link == "number" else _in_order(graph, inside)
    for name, column in found.items():
        graph.output(name, graph.squeeze(column), "double", 1)
    return graph.model()


def _in_order(graph: Graph, values: str) -> dict[str, str]:
    """Three columns, record by record from low to high."""
    a, b, c = (graph.slice_column(values, k) for k in range(3))
    smaller, larger = graph.add("Min", [a, b]), graph.add("Max", [a, b])
    return {
        "target": graph.add("Max", [smaller, graph.add("Min", [larger, c])]),
        "lower": graph.add("Min", [smaller, c]),
        "upper": graph.add("Max", [larger, c]),
    }


def _classes(graph: Graph, model: Described, scores: str) -> Any:
    assert model.classes is not None
    half, one = graph.constant(np.array(0.5)), graph.constant(np.array(1.0))
    if model.link in ("logistic", "clipped_logistic"):
        second = graph.add("Sigmoid", [scores])
        if model.link == "clipped_logistic":
            more = graph.add("Sub", [graph.constant(np.array(1.5)), second])
            less = graph.add("Add", [half, second])
            second = graph.add(
                "Where",
                [
                    graph.add("Greater", [second, half]),
                    graph.add("Div", [half, more]),
                    graph.add("Sub", [one, graph.add("Div", [half, less])]),
                ],
            )
        probabilities = graph.add("Concat", [graph.add("Sub", [one, second]), second], axis=1)
    elif model.link == "softmax":
        probabilities = graph.add("Softmax", [scores], axis=1)
    else:
        zero = graph.constant(np.array(0.0))
        votes = graph.add("Max", [scores, zero])
        total = graph.sum(votes, axis=1)
        any_vote = graph.add("Greater", [total, zero])
        alike = graph.constant(np.array(1.0 / len(model.classes)))
        shares = graph.add("Div", [votes, graph.add("Where", [any_vote, total, one])])
        probabilities = graph.add("Where", [any_vote, shares, alike])
    if model.class_weights is not None:
        weighted = graph.add("Mul", [probabilities, graph.constant(model.class_weights[None])])
        probabilities = graph.add("Div", [weighted, graph.sum(weighted, axis=1)])
    graph.output("probabilities", probabilities, "double", 2)
    code = graph.add("ArgMax", [probabilities], axis=1, keepdims=0)
    graph.output("label", *graph.look_up(model.classes, code), 1)
    return graph.model()
