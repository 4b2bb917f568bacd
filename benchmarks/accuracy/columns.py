"""The columns of the page: which methods are behind each, and the mean of what was measured."""

import math
from collections import defaultdict

from benchmarks.accuracy import results, tables
from benchmarks.accuracy.methods import learns
from benchmarks.accuracy.methods.settings import FIXED, NOISY_DESCENTS

# of several methods the best is shown, chosen on the test set
COLUMNS = {
    "majority": ("majority",),
    "diffprivlib": ("diffprivlib_depth5", "diffprivlib_depth8", "diffprivlib_linear"),
    "DP-EBM": ("dp_ebm",),
    "DP-EBM tuned": ("dp_ebm", "dp_ebm_rounds100", "dp_ebm_rounds1000", "dp_ebm_rate0.03"),
    "linear": (FIXED,),
    "linear tuned": tuple(NOISY_DESCENTS),
    "MST + HistGB": ("synthetic_mst", "synthetic_mst_target5", "synthetic_mst_target10"),
    "dpforest": ("dpforest",),
    "dpforest, pure": ("dpforest_pure",),
    "dpforest, eps = inf": ("dpforest_inf",),
    "ExtraTrees": ("extra_trees",),
    "HistGB": ("hist_gradient_boosting",),
}
# measured on few tables, for it is slow: in a table of its own
SLOW = {"AIM + HistGB": ("synthetic_aim",)}
NOT_PRIVATE = ("majority", "dpforest, eps = inf", "ExtraTrees", "HistGB")
OURS = ("dpforest", "dpforest, pure", "dpforest, eps = inf")
RIVALS = tuple(column for column in COLUMNS if column not in (*NOT_PRIVATE, *OURS))
COLOURS = {
    "majority": "#9e9e9e",
    "diffprivlib": "#ff7f0e",
    "DP-EBM": "#98df8a",
    "DP-EBM tuned": "#2ca02c",
    "linear": "#b79fe0",
    "linear tuned": "#6a3d9a",
    "MST + HistGB": "#8c564b",
    "dpforest": "#1f77b4",
    "dpforest, pure": "#17becf",
    "dpforest, eps = inf": "#0b2f6b",
    "ExtraTrees": "#e377c2",
    "HistGB": "#d62728",
}

# (mean score, number of seeds) by table, column and epsilon
Means = dict[tuple[str, str, float], tuple[float, int]]
# score by seed, by table, method and epsilon
Scores = dict[tuple[str, str, float], dict[int, float]]


def means() -> Means:
    """Return accuracy, or R2 beside the training mean, by table, column and epsilon.

    Methods without privacy are there under every epsilon that was measured on the table. A tuned
    column is there once all its settings are measured.
    """
    scores: Scores = defaultdict(dict)
    for result in results.read():
        scores[result.dataset, result.method, result.epsilon][result.seed] = result.score
    table: Means = {}
    for dataset, epsilon in {(dataset, e) for dataset, _, e in scores}:
        for column, methods in {**COLUMNS, **SLOW}.items():
            at = math.inf if column in NOT_PRIVATE else epsilon
            keys = [(dataset, m, at) for m in methods if learns(m, tables.n_classes(dataset))]
            found = [_mean(scores, key) for key in keys]
            if found and all(seeds for _, seeds in found):
                table[dataset, column, epsilon] = max(found)
    return table


def _mean(scores: Scores, key: tuple[str, str, float]) -> tuple[float, int]:
    """Return the mean accuracy, or the share of the training mean's squared error that is gone."""
    found = scores.get(key, {})
    if not found:
        return math.nan, 0
    if tables.n_classes(key[0]):
        return sum(found.values()) / len(found), len(found)
    whole = scores.get((key[0], "majority", math.inf), {})
    seeds = found.keys() & whole.keys()
    left = sum(found[s] for s in seeds) / sum(whole[s] for s in seeds) if seeds else math.nan
    return 1 - left, len(seeds)
