"""A model as JSON that says all that predictions need; `docs/export.md` describes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpforest.export.described import Described
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

FORMAT = "dpforest-export"
VERSION = 1


def to_json(model: Described, estimator: str, guarantee: str) -> dict[str, Any]:
    """The model as a dictionary that JSON can hold.

    Parameters
    ----------
    model : Described
    estimator : str
        Its name.
    guarantee : str
        What its ledger says, for readers.
    """
    encoding, bins = model.encoding, model.encoding.category_bins
    features = [
        {
            **feature.to_dict(),
            **({"bins": bins[j].tolist()[:-2]} if cuts is None else {"cuts": cuts.tolist()}),
            "missing_bin": int(n),
            "unseen_bin": None if unseen < 0 else int(unseen),
        }
        for j, (feature, cuts, n, unseen) in enumerate(
            zip(
                encoding.schema.features,
                encoding.cuts,
                encoding.n_values,
                encoding.unseen,
                strict=True,
            )
        )
    ]
    trees = model.trees
    return {
        "format": FORMAT,
        "version": VERSION,
        "estimator": estimator,
        "guarantee": guarantee,
        "features": features,
        "classes": None if model.classes is None else list(model.classes),
        "link": {
            "name": model.link,
            "center": np.asarray(model.center).tolist(),
            "scale": np.asarray(model.scale).tolist(),
            "bounds": None if model.bounds is None else list(model.bounds),
            "class_weights": None if model.class_weights is None else model.class_weights.tolist(),
        },
        "trees": _oblivious(model, trees) if isinstance(trees, ObliviousTrees) else _nodes(trees),
        "leaves": None if isinstance(trees, ObliviousTrees) else model.leaves.tolist(),
    }


def _oblivious(model: Described, trees: ObliviousTrees) -> list[dict[str, Any]]:
    n_bins = model.encoding.n_bins
    return [
        {
            "levels": [
                {
                    "feature": int(j),
                    "goes_right": np.flatnonzero(right[: n_bins[j]]).tolist(),
                }
                for j, right in zip(trees.feature[t, :depth], trees.goes_right[t], strict=False)
            ],
            "leaves": model.leaves[t, :, : 1 << depth].T.tolist(),
        }
        for t, depth in enumerate(trees.depth)
    ]


def _nodes(forest: Forest) -> dict[str, Any]:
    bits = np.unpackbits(
        np.ascontiguousarray(forest.goes_right, "<u8").view(np.uint8), axis=1, bitorder="little"
    )
    return {
        "roots": forest.roots.tolist(),
        "feature": forest.feature.tolist(),
        "first_child": forest.first_child.tolist(),
        "n_children": forest.n_children.tolist(),
        "leaf": forest.leaf_id.tolist(),
        "multiway": forest.multiway,
        "goes_right": [] if forest.multiway else [np.flatnonzero(row).tolist() for row in bits],
    }
