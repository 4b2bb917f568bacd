"""The picture on the front page: accuracy over epsilon beside the peers, on three tables.

``python -m benchmarks.front_picture`` draws it from the cells in ``benchmarks/accuracy/results``. A
small, a middling and a large table, of two classes, which all methods can take; methods that were
not measured are left out. No two lines look alike: colours that the colour-blind can tell apart
(Okabe and Ito), and other dashes and marks.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy import report
from dpforest.datasets import catalog

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "accuracy.svg"
TABLES = ("banknote", "mushroom", "adult")


class Look(NamedTuple):
    """How a column of the accuracy report is told and drawn."""

    label: str
    colour: str
    dashes: str
    mark: str = ""
    width: float = 1.8


DRAWN = {
    "HistGB": Look("gradient boosting, not private", "#000000", ":", width=1.4),
    "dpforest": Look("dpforest", "#0072B2", "-", "o", 2.8),
    "DP-EBM tuned": Look("DP-EBM, tuned on the test set", "#D55E00", "--", "s"),
    "linear tuned": Look("linear model, tuned on the test set", "#CC79A7", (0, (3, 1, 1, 1)), "D"),
    "diffprivlib": Look("diffprivlib, tuned on the test set", "#009E73", "-.", "^"),
    "majority": Look("always the most frequent class", "#999999", (0, (6, 3)), width=1.4),
}


def draw(to: Path = PICTURE) -> None:
    """Draw the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    table = report.means()
    epsilons = sorted({eps for _, _, eps in table if math.isfinite(eps)})
    styles = {"font.size": 11, "svg.hashsalt": "dpforest", "axes.spines.right": False}
    with matplotlib.rc_context(styles | {"axes.spines.top": False}):
        figure, axes = pyplot.subplots(1, len(TABLES), figsize=(11, 4), layout="constrained")
        for panel, dataset in zip(axes, TABLES, strict=True):
            for column, look in DRAWN.items():
                _line(panel, table, dataset, column, epsilons, look)
            n_rows = catalog.packaged()[dataset]["n_rows"]
            panel.set_title(f"{dataset}, {n_rows:,} records", fontsize=12)
            panel.set_xscale("log")
            panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
            panel.minorticks_off()
            panel.set_xlabel("epsilon (less is more private)")
            panel.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        axes[0].set_ylabel("accuracy on held-out records")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
        to.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(to, metadata={"Date": None} if to.suffix == ".svg" else None)
        pyplot.close(figure)


def _line(panel, table, dataset, column, epsilons, look) -> None:
    """The figures of one method on one table; flat, where it knows no epsilon; none, if none."""
    found = {e: score for (d, c, e), (score, _) in table.items() if (d, c) == (dataset, column)}
    if column in report.NOT_PRIVATE:
        score = sum(found.values()) / len(found)
        panel.axhline(score, color=look.colour, ls=look.dashes, lw=look.width, label=look.label)
        return
    points = [(e, found[e]) for e in epsilons if e in found]
    if not points:
        return
    panel.plot(
        *zip(*points, strict=True),
        color=look.colour,
        ls=look.dashes,
        lw=look.width,
        marker=look.mark,
        label=look.label,
    )


if __name__ == "__main__":
    draw()
