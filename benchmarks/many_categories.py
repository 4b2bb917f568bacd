"""Thousands of categories: a public hash against groups that are paid for.

python -m benchmarks.many_categories. Generated tables of 50,000 records and 5,000 categories of
Zipf sizes, with and without an effect on the class, beside two numeric features.

- ``left out``: the column is dropped.
- ``hash``: categories fall into groups by a public hash; costs nothing.
- ``paid``: a share of epsilon buys the noisy count and sum of the classes of every category;
  categories are sorted by their mean, drawn to the middle by its noise, into 32 ordered groups.
"""

from __future__ import annotations

import hashlib

import numpy as np
from sklearn.metrics import roc_auc_score

from dpforest import CategoricalFeature, NumericFeature, PrivateForestClassifier, Schema, Target

N, CATEGORIES, GROUPS = 50_000, 5_000, 32
SHARES = (0.1, 0.3)
HASHES = (32, 128, 254)


def make(seed: int, effect: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = 1.0 / np.arange(1, CATEGORIES + 1)
    zip_code = rng.choice(CATEGORIES, 2 * N, p=sizes / sizes.sum())
    X = np.column_stack([rng.random((2 * N, 2)), zip_code])
    score = 2.0 * (X[:, 0] - 0.5) + effect * rng.standard_normal(CATEGORIES)[zip_code]
    return X, (rng.random(2 * N) < 1 / (1 + np.exp(-score))).astype(int)


def hashed(n_groups: int) -> np.ndarray:
    digests = [hashlib.sha256(str(c).encode()).digest()[:8] for c in range(CATEGORIES)]
    return np.array([int.from_bytes(d, "big") % n_groups for d in digests])


def bought(X: np.ndarray, y: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """A record changes one of two counts of one category by 1: L1 sensitivity 1."""
    counts = np.zeros((CATEGORIES, 2))
    np.add.at(counts, (X[:, 2].astype(int), y), 1.0)
    noisy = counts + rng.laplace(scale=1 / epsilon, size=counts.shape)
    lean = 10.0 + 4.0 / epsilon
    mean = (noisy[:, 1] + lean * y.mean()) / (np.maximum(noisy.sum(axis=1), 0.0) + lean)
    weight = np.maximum(noisy.sum(axis=1), 1.0)
    order = np.argsort(mean)
    below = np.cumsum(weight[order]) / weight.sum()
    groups = np.empty(CATEGORIES, int)
    groups[order] = np.minimum((GROUPS * below).astype(int), GROUPS - 1)
    return groups


def auc(X: np.ndarray, y: np.ndarray, features: tuple, epsilon: float, seed: int) -> float:
    schema = Schema(features, Target("y", classes=(0, 1)))
    model = PrivateForestClassifier(epsilon=epsilon, schema=schema, random_state=seed)
    model.fit(X[:N], y[:N])
    return float(roc_auc_score(y[N:], model.predict_proba(X[N:])[:, 1]))


def measure(epsilon: float, effect: float, seed: int) -> dict[str, float]:
    X, y = make(seed, effect)
    numbers = NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)
    found = {"left out": auc(X[:, :2], y, numbers, epsilon, seed)}

    def grouped(groups: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, :2], groups[X[:, 2].astype(int)]])

    for n_groups in HASHES:
        codes = CategoricalFeature("zip", tuple(range(n_groups)))
        found[f"hash {n_groups}"] = auc(
            grouped(hashed(n_groups)), y, (*numbers, codes), epsilon, seed
        )
    order = NumericFeature("zip", 0, GROUPS, cuts=tuple(g + 0.5 for g in range(GROUPS - 1)))
    for share in SHARES:
        rng = np.random.default_rng(seed + 1000)
        groups = bought(X[:N], y[:N], share * epsilon, rng)
        rest = (1 - share) * epsilon
        found[f"paid {share:g}"] = auc(grouped(groups), y, (*numbers, order), rest, seed)
    return found


def main() -> None:
    for effect in (1.0, 0.0):
        for epsilon in (0.5, 1.0, 4.0):
            found = [measure(epsilon, effect, seed) for seed in range(3)]
            means = {name: np.mean([one[name] for one in found]) for name in found[0]}
            columns = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
            print(f"effect {effect:g}, epsilon {epsilon:g}: {columns}", flush=True)


if __name__ == "__main__":
    main()
