"""Turn the measured cells into docs/benchmarks/accuracy.md and, with matplotlib, its pictures."""

import math
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks.accuracy import tables
from benchmarks.accuracy.columns import COLUMNS, NOT_PRIVATE, RIVALS, SLOW, Means, means
from benchmarks.accuracy.methods import learns

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
TITLE = "# Accuracy beside the peers\n"
HEAD = (Path(__file__).parent / "page.md").read_text(encoding="utf-8")
WITHOUT_PRIVACY = ("ExtraTrees", "HistGB")
CANNOT = "–"


def write() -> None:
    """Write the page of what has been measured so far, and draw its pictures."""
    table = means()
    epsilons = sorted({eps for _, _, eps in table if math.isfinite(eps)})
    lines = [TITLE]
    FOLDER.mkdir(parents=True, exist_ok=True)
    if find_spec("matplotlib") is not None:
        from benchmarks.accuracy import pictures

        pictures.glance(table, epsilons, FOLDER / "glance.png")
        pictures.grid(table, epsilons, FOLDER / "accuracy.png")
        lines += ["![accuracy and R2 over epsilon beside the rivals](glance.png)", ""]
    lines += ["## In short", "", *in_short(table, epsilons), "", HEAD]
    for numbers, title in ((False, "Test accuracy"), (True, "R2 on test records")):
        for epsilon in epsilons:
            lines += [f"## {title}, epsilon = {epsilon:g}", "", *rows(table, epsilon, numbers), ""]
    lines += [
        "## At epsilon 0.5 against the best rival at epsilon 2",
        "",
        "Classification sets of at least 1,000 rows; the best rival is the best private column",
        "that is not ours. The gap to ExtraTrees, which is not private, is that at epsilon 1.",
        "",
        *against_more_budget(table),
        "",
        "## AIM itself",
        "",
        "By dpmm's AIM pipeline, with a fifth of its default number of iterations, on one split;",
        "the other columns are those of above.",
        "",
        *beside_aim(table, epsilons),
        "",
        "## Over epsilon",
        "",
        "![every table over epsilon](accuracy.png)",
        "",
    ]
    (FOLDER / "accuracy.md").write_text("\n".join(lines), encoding="utf-8")


def measured(table: Means, numbers: bool) -> list[str]:
    """Return the tables of one kind with a figure of ours, smallest first."""
    found = {dataset for dataset, column, _ in table if column == "dpforest"}
    return [d for d in tables.shapes() if d in found and (tables.n_classes(d) == 0) == numbers]


def in_short(table: Means, epsilons: list[float]) -> list[str]:
    """Return how often ours is level or ahead of each rival, and the gap without privacy."""
    lines = []
    for numbers, what in ((False, "classes"), (True, "numbers")):
        lines += [
            f"| {what}: dpforest level or ahead of | "
            + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons)
            + " |",
            "|---" * (len(epsilons) + 1) + "|",
        ]
        for rival in RIVALS:
            counts = [ahead(table, rival, epsilon, numbers) for epsilon in epsilons]
            lines.append(f"| {rival} | " + " | ".join(counts) + " |")
        lines.append("")
    for numbers, what in ((False, "accuracy on classes"), (True, "R2 on numbers")):
        gaps = [
            gap
            for dataset in measured(table, numbers)
            if (gap := gap_without_privacy(table, dataset, 1.0)) is not None
        ]
        if gaps:
            lines.append(
                f"- Median gap of {what} at epsilon 1 to the better of ExtraTrees and HistGB, "
                f"which are not private: {median(gaps):.3f} ({len(gaps)} tables)."
            )
    return lines


def ahead(table: Means, rival: str, epsilon: float, numbers: bool) -> str:
    """Return "wins of tables" where both are measured; level counts."""
    pairs = [
        (table[dataset, "dpforest", epsilon][0], table[dataset, rival, epsilon][0])
        for dataset in measured(table, numbers)
        if (dataset, "dpforest", epsilon) in table and (dataset, rival, epsilon) in table
    ]
    return f"{sum(ours >= theirs for ours, theirs in pairs)} of {len(pairs)}"


def gap_without_privacy(table: Means, dataset: str, epsilon: float) -> float | None:
    keys = [(dataset, column, epsilon) for column in (*WITHOUT_PRIVACY, "dpforest")]
    if any(key not in table for key in keys):
        return None
    *best, ours = (table[key][0] for key in keys)
    return max(best) - ours


def rows(table: Means, epsilon: float, numbers: bool) -> list[str]:
    """Return a Markdown table, smallest data set first; the best private figure is bold."""
    lines = [
        "| data | n | seeds | " + " | ".join(COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 3) + "|",
    ]
    for dataset in measured(table, numbers):
        found = {c: table[dataset, c, epsilon] for c in COLUMNS if (dataset, c, epsilon) in table}
        private = [score for c, (score, _) in found.items() if c not in NOT_PRIVATE]
        if not private:
            continue
        texts = []
        for column, methods in COLUMNS.items():
            if column in found:
                text = figure(found[column][0])
                best = column not in NOT_PRIVATE and found[column][0] == max(private)
                texts.append(f"**{text}**" if best else text)
            else:
                can = any(learns(method, tables.n_classes(dataset)) for method in methods)
                texts.append("" if can else CANNOT)
        seeds = [n for _, n in found.values()]
        counts = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)}-{max(seeds)}"
        lines.append(
            f"| {dataset} | {tables.n_rows(dataset)} | {counts} | " + " | ".join(texts) + " |"
        )
    return lines


def figure(score: float) -> str:
    """Return an accuracy or R2; an R2 so far below 0 says no more than that."""
    return f"{score:.3f}" if score >= -1 else "< -1"


def against_more_budget(table: Means) -> list[str]:
    """Return a Markdown table of ours at epsilon 0.5 beside the best rival at epsilon 2."""
    lines = [
        "| data | dpforest at 0.5 | best rival at 2 | ahead | dpforest at 1 | ExtraTrees | gap |",
        "|---|---|---|---|---|---|---|",
    ]
    for dataset in measured(table, numbers=False):
        if tables.n_rows(dataset) < 1_000:
            continue
        ours = [table.get((dataset, "dpforest", epsilon), (math.nan,))[0] for epsilon in (0.5, 1.0)]
        rivals = [table[key] + key[1:2] for c in RIVALS if (key := (dataset, c, 2.0)) in table]
        best, _, name = max(rivals, default=(math.nan, 0, "none"))
        trees = table.get((dataset, "ExtraTrees", 1.0), (math.nan,))[0]
        lines.append(
            f"| {dataset} | {ours[0]:.3f} | {best:.3f} ({name}) "
            f"| {'yes' if ours[0] >= best else 'no'} "
            f"| {ours[1]:.3f} | {trees:.3f} | {trees - ours[1]:+.3f} |"
        )
    return lines


def beside_aim(table: Means, epsilons: list[float]) -> list[str]:
    """Return a Markdown table of AIM beside the synthetic data of the other tables and ours."""
    columns = (*SLOW, "MST + HistGB", "dpforest")
    heads = [f"{column}, {epsilon:g}" for column in columns for epsilon in epsilons]
    lines = ["| data | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for dataset in tables.shapes():
        keys = [(dataset, column, epsilon) for column in columns for epsilon in epsilons]
        if all(key in table for key in keys):
            figures = " | ".join(figure(table[key][0]) for key in keys)
            lines.append(f"| {dataset} | {figures} |")
    return lines


if __name__ == "__main__":
    write()
