"""The data sets as splits: 80/20, stratified by class, one split a seed."""

from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.splits import Split
from dpforest import datasets
from dpforest.datasets import Dataset
from dpforest.schema import CategoricalFeature

# kept for the seeds that follow: reading covtype takes longer than splitting it
load = lru_cache(maxsize=1)(datasets.load)


def make_split(name: str, seed: int) -> Split:
    """Return the split of one data set under one seed."""
    data = load(name)
    X, y = _encode(data), _encode_target(data)
    classes = data.schema.target.classes
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y if classes else None
    )
    features = data.schema.features
    kinds = [isinstance(feature, CategoricalFeature) for feature in features]
    sizes = [len(f.categories) if k else 0 for f, k in zip(features, kinds, strict=True)]
    return Split(
        X_train=X[train],
        y_train=y[train],
        X_test=X[test],
        y_test=y[test],
        n_categories=np.array(sizes),
        low=np.array([0.0 if k else f.low for f, k in zip(features, kinds, strict=True)]),
        high=np.array(
            [s - 1.0 if k else f.high for f, k, s in zip(features, kinds, sizes, strict=True)]
        ),
        integer=np.array([k or f.integer for f, k in zip(features, kinds, strict=True)]),
        n_classes=len(classes) if classes else 0,
    )


def _encode(data: Dataset) -> np.ndarray:
    X = np.empty(data.X.shape)
    for j, feature in enumerate(data.schema.features):
        column = data.X[feature.name]
        if isinstance(feature, CategoricalFeature):
            codes = pd.Categorical(column, categories=list(feature.categories)).codes
            X[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            X[:, j] = np.clip(column, feature.low, feature.high)
    return X


def _encode_target(data: Dataset) -> np.ndarray:
    target = data.schema.target
    if target.classes is not None:
        return pd.Categorical(data.y, categories=list(target.classes)).codes.astype(np.int64)
    return (data.y - data.y.min()) / (data.y.max() - data.y.min())
