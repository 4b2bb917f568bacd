"""Logistic and linear regression by noisy gradient descent (delta = 1e-6): ours, as a rival.

Plain and in its favour: the number of records is public, gaps are filled for nothing, each step
sees all records. A record's gradient is clipped and Gaussian noise covers the sum of them
(records added or removed); the model is the mean of the last half of the iterates.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, softmax
from scipy.stats import norm

from benchmarks.accuracy.methods.settings import NOISY_DESCENTS, Descent
from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split

DELTA = 1e-6
MAX_ROWS = 50_000


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled().first(MAX_ROWS)
    weights = descend(split, NOISY_DESCENTS[method], epsilon, np.random.default_rng(seed))
    scores = design(split, split.X_test) @ weights
    if not split.n_classes:
        return np.clip(scores[:, 0] + 0.5, 0, 1)
    return scores.argmax(axis=1) if split.n_classes > 2 else (scores[:, 0] > 0).astype(int)


def descend(split: Split, setting: Descent, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return the mean of the last half of the iterates."""
    X, Y = design(split, split.X_train), targets(split)
    lengths = np.linalg.norm(X, axis=1)
    deviation = setting.clip * np.sqrt(setting.steps) / gaussian_mu(epsilon)
    # relative to the inverse of the loss's curvature, records being of length 1 at most
    rate = setting.rate / {0: 1.0, 2: 0.25}.get(split.n_classes, 0.5) / len(X)
    weights = np.zeros((X.shape[1], Y.shape[1]), dtype=np.float32)
    total = np.zeros_like(weights)
    for step in range(setting.steps):
        residuals = predicted(X @ weights, split.n_classes) - Y
        sizes = np.linalg.norm(residuals, axis=1) * lengths
        residuals *= np.minimum(1, setting.clip / np.maximum(sizes, 1e-12))[:, None]
        gradient = X.T @ residuals + rng.normal(0, deviation, weights.shape)
        weights -= (rate * gradient).astype(np.float32)
        if step >= setting.steps // 2:
            total += weights
    return total / (setting.steps - setting.steps // 2)


def design(split: Split, X: np.ndarray) -> np.ndarray:
    """Numbers in [-1, 1] by the public bounds, categories one-hot, a one; length 1 at most."""
    columns = [np.ones((len(X), 1), dtype=np.float32)]
    for j, size in enumerate(split.n_categories):
        if size:
            columns.append((X[:, j, None] == np.arange(size)).astype(np.float32))
        else:
            width = max(split.high[j] - split.low[j], 1e-12)
            columns.append((2 * (X[:, [j]] - split.low[j]) / width - 1).astype(np.float32))
    return np.hstack(columns) / np.float32(np.sqrt(len(columns)))


def targets(split: Split) -> np.ndarray:
    """A column a class; one for two classes; a number about the middle of its range."""
    if split.n_classes > 2:
        return np.eye(split.n_classes, dtype=np.float32)[split.y_train]
    centre = 0.0 if split.n_classes else 0.5
    return (split.y_train - centre).astype(np.float32)[:, None]


def predicted(scores: np.ndarray, n_classes: int) -> np.ndarray:
    if n_classes > 2:
        return softmax(scores, axis=1)
    return 1 / (1 + np.exp(-scores)) if n_classes else scores


def gaussian_mu(epsilon: float, delta: float = DELTA) -> float:
    """The largest mu for which the Gaussian mechanism of sensitivity over deviation mu keeps
    (epsilon, delta); T steps of mu / sqrt(T) make up one of mu.
    """

    def excess(mu: float) -> float:
        lost = norm.cdf(mu / 2 - epsilon / mu)
        return lost - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)) - delta

    return brentq(excess, 1e-6, 100)


if __name__ == "__main__":
    serve(predict)
