"""Two pictures: the rivals at a glance, and every table over epsilon."""

import math
from pathlib import Path
from statistics import mean, median

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

from benchmarks.accuracy import tables
from benchmarks.accuracy.columns import COLOURS, COLUMNS, NOT_PRIVATE, Means

# what the chart calls the columns it shows
SHOWN = {
    "diffprivlib": "diffprivlib",
    "DP-EBM tuned": "DP-EBM, tuned on test",
    "linear": "linear, one setting",
    "linear tuned": "linear, tuned on test",
    "MST + HistGB": "synthetic, tuned on test",
    "dpforest": "dpforest, defaults",
    "HistGB": "HistGB, not private",
}
KINDS = {
    "Two classes: mean accuracy": lambda n_classes: n_classes == 2,
    "More classes: mean accuracy": lambda n_classes: n_classes > 2,
    "Numbers: median R2": lambda n_classes: n_classes == 0,
}


def glance(table: Means, epsilons: list[float], path: Path) -> None:
    """Draw a panel a kind of target: the mean or median over the tables, a line a method."""
    figure, axes = pyplot.subplots(1, len(KINDS), figsize=(14, 4.6), layout="constrained")
    for panel, (title, belongs) in zip(axes, KINDS.items(), strict=True):
        chosen = [name for name in tables.shapes() if belongs(tables.n_classes(name))]
        _glance_panel(panel, table, epsilons, chosen, title)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def _glance_panel(
    panel: Axes, table: Means, epsilons: list[float], chosen: list[str], title: str
) -> None:
    found = {c for d, c, _ in table if d in chosen}
    columns = [column for column in SHOWN if column in found]
    whole = [d for d in chosen if all((d, c, e) in table for c in columns for e in epsilons)]
    panel.set_title(f"{title} ({len(whole)} tables)", fontsize=11, pad=12)
    if not whole:
        return
    middle = mean if tables.n_classes(whole[0]) else median
    ends = []
    for column in columns:
        heights = [middle([table[d, column, e][0] for d in whole]) for e in epsilons]
        ours, plain = column == "dpforest", column in NOT_PRIVATE
        panel.plot(
            range(len(epsilons)),
            heights,
            color=COLOURS[column],
            lw=3.5 if ours else 1.8,
            ls="--" if plain else "-",
            marker=None if plain else "o",
            ms=7 if ours else 4,
            zorder=3 if ours else 2,
        )
        ends.append((heights[-1], column))
    if middle is median:
        panel.set_ylim(0, 1)
    _name_lines(panel, ends, len(epsilons) - 1)
    panel.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    panel.set_xlim(-0.2, len(epsilons) + 1.6)
    panel.set_xlabel("epsilon")
    panel.grid(axis="y", alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)


def _name_lines(panel: Axes, ends: list[tuple[float, str]], last: int) -> None:
    """Write each name beside the end of its line, pushed apart where lines are close."""
    low, high = panel.get_ylim()
    room = 0.055 * (high - low)
    ends = sorted(ends)
    heights = [max(height, low) for height, _ in ends]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + room)
    ceiling = high
    for k in reversed(range(len(heights))):
        heights[k] = min(heights[k], ceiling)
        ceiling = heights[k] - room
    for at, (height, column) in zip(heights, ends, strict=True):
        label = SHOWN[column] + (", below" if height < low else "")
        weight = "bold" if column == "dpforest" else "normal"
        panel.text(
            last + 0.15, at, label, color=COLOURS[column], fontsize=9, va="center", weight=weight
        )


def grid(table: Means, epsilons: list[float], path: Path) -> None:
    """Draw one panel a data set: the score over epsilon, the non-private figures as lines."""
    found = {dataset for dataset, column, _ in table if column == "dpforest"}
    measured = [dataset for dataset in tables.shapes() if dataset in found]
    n_rows = math.ceil(len(measured) / 4)
    figure, axes = pyplot.subplots(n_rows, 4, figsize=(14, 2.8 * n_rows), squeeze=False)
    for panel in axes.flat[len(measured) :]:
        panel.set_visible(False)
    for panel, dataset in zip(axes.flat, measured, strict=False):
        _grid_panel(panel, table, epsilons, dataset)
    handles = {
        label: h
        for panel in axes.flat
        for h, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=6, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.2 / n_rows))
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def _grid_panel(panel: Axes, table: Means, epsilons: list[float], dataset: str) -> None:
    for column in COLUMNS:
        colour = COLOURS[column]
        points = [
            (e, table[dataset, column, e][0]) for e in epsilons if (dataset, column, e) in table
        ]
        if points and column in NOT_PRIVATE:
            panel.axhline(points[0][1], color=colour, ls=":", lw=1.4, label=column)
        elif points:
            width = 2.2 if column == "dpforest" else 1.2
            panel.plot(
                *zip(*points, strict=True), color=colour, marker="o", ms=3, lw=width, label=column
            )
    numbers = tables.n_classes(dataset) == 0
    if numbers:
        panel.set_ylim(bottom=max(panel.get_ylim()[0], -0.25))
    panel.set_xscale("log")
    panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    panel.set_title(
        f"{dataset} ({tables.n_rows(dataset)})" + (", R2" if numbers else ""), fontsize=9
    )
    panel.tick_params(labelsize=7)
