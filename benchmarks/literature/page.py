"""docs/literature.md: the recipes as tables, and what was measured of them."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from benchmarks.literature import measure
from dpforest import literature
from dpforest.literature import Description, Parts

PAGE = Path(__file__).parents[2] / "docs" / "literature.md"

HEAD = """# The literature, system by system

Written by `python -m benchmarks.literature` from the recipes in `dpforest/literature/recipes` and
the measured cells in `benchmarks/literature/results`; do not edit it.

Every private forest that the five documents describe, by name:

    from dpforest import literature

    literature.names()
    print(literature.describe("edprf"))
    forest = literature.make("edprf", epsilon=1.0, schema=schema)
    printed = literature.make("edprf", epsilon=1.0, schema=schema, variant="as_published")

The forest is an ordinary estimator with a ledger; further keywords replace parameters of the
recipe. `as_published` follows the print where it is broken, for research: a `NoGuaranteeWarning` on
`fit`, and `ledger_.reasons` says why. Documents: 000 Tajima et al. (M-RF), 001 Wang et al. (eDPRF),
002 Suihkonen (a survey, and DPRF_thesis), 003 Consul and Williamson (DiPriMe), 004 Bojarski et al.
Systems that are known from 001 or 002 only are built from what these say of them; the notes tell
what is left open. Greedy trees grow to their depth, as printed, or to about 1024 leaves: a public
fact. eDPRF's may also stop on what a node holds, by a private choice that is paid for, and as
published at a pure node, unpaid; no others do. As published, splits are chosen at the printed rate,
epsilon / (2 Delta); with a guarantee, at twice that where the score is monotone. A rule that stops
where few records are expected (`min_support`) does all of them good, and changes their order: with
8 for all (3 seeds), TpDPRF is ahead of eDPRF on adult at epsilon = 1 (82.7 to 82.0), and
DiffPRF_linear on nursery (84.9 to 84.6).
"""

MEASURED = """## Measured: all of them on the same data

Test accuracy in per cent: 80 % to learn from, 20 % to test on, stratified, one split a seed, means
over {seeds} seeds. The same public schema for all. Parameters are those of the recipes, from the
papers or from public rules. The flagship is `PrivateForestClassifier` with its defaults
(delta = 1e-6), and with delta = 0; all others are pure epsilon. The majority class and ExtraTrees
(100 trees) are not private. "As published" has no guarantee: its figures show what a flaw buys, or
costs. M-RF's two predictors answer the test records as one batch and release no model. The best
figure with a guarantee among the systems is bold.
"""

UNDESCRIBED = """## Named, not described

The documents name more systems without saying what they do, so there is no recipe: DiffPRFs (Mu et
al. 2016), the greedy forest of Xin et al. (2019), DiffP-RFs (in 002, with a reference to a paper on
another subject), the forests weighted by out-of-bag error of Wang et al. (2021) and Li et al.
(2022), and the ensemble of Niu and Ma (2023). 001 says of the last three that their weights leak.
"""

Means = dict[tuple[str, str, float], float]


def render() -> str:
    """The page."""
    told = [literature.describe(name) for name in literature.names()]
    blocks = [
        HEAD,
        "## What they are made of\n",
        *table(("name", "system", *(part.name for part in fields(Parts))), map(made_of, told)),
        "\n## Does the guarantee hold?\n",
        *table(("name", "as printed", "why, or the repair", "flaws of the print"), map(held, told)),
        "",
        *measured(),
        "## Published figures\n",
        "~: read off a plot.\n",
        *table(("name", "data", "epsilon", "value", "measure", "source"), figures(told)),
        "\n## What is left open, and what is odd\n",
        *(f"- `{each.name}`: {' '.join(each.notes)}" for each in told if each.notes),
        "",
        UNDESCRIBED,
    ]
    return "\n".join(blocks)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """A Markdown table."""
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(str(c).replace("|", "\\|") for c in line) + " |" for line in lines]


def made_of(told: Description) -> list[str]:
    system = f"{told.title}: {told.paper.authors}, {told.paper.year} ({', '.join(told.documents)})"
    return [f"`{told.name}`", system, *vars(told.parts).values()]


def held(told: Description) -> list[str]:
    verdict = {"holds": "holds", "repaired": "does not hold; repaired", "none": "no, not made"}
    flaws = " ".join(f"({n}) {flaw}" for n, flaw in enumerate(told.flaws, 1))
    left_out = f" As published: {told.not_offered}." if told.not_offered else ""
    return [f"`{told.name}`", verdict[told.guarantee], told.because + left_out, flaws]


def figures(told: Iterable[Description]) -> Iterable[list[str]]:
    for each in told:
        for figure in each.published:
            value = f"~{figure.value}" if figure.about else figure.value
            yield [
                f"`{each.name}`",
                figure.data,
                str(figure.epsilon),
                value,
                figure.measure,
                figure.source,
            ]


def measured() -> list[str]:
    """A table an epsilon: a row a system, its two variants for each data set."""
    found = measure.read()
    if not found:
        return []
    scores = defaultdict(list)
    for result in found:
        scores[result.dataset, result.method, result.epsilon].append(100 * result.score)
    means = {cell: sum(values) / len(values) for cell, values in scores.items()}
    seeds = min(map(len, scores.values()))
    lines = [MEASURED.format(seeds=seeds)]
    for epsilon in sorted(measure.EPSILONS, reverse=True):
        head = ["", *(f"{data}{v}" for data in measure.DATA for v in ("", ", as published"))]
        lines += [f"### epsilon = {epsilon:g}\n", *table(head, rows(means, epsilon)), ""]
    return lines


def rows(means: Means, epsilon: float) -> Iterable[list[str]]:
    """What the systems are held against, then the systems."""
    systems = [name for name in literature.names() if literature.describe(name).estimator]
    best = {
        data: max(means.get((data, name, epsilon), -math.inf) for name in systems)
        for data in measure.DATA
    }

    def row(title: str, method: str, at: float) -> list[str]:
        cells = []
        for data in measure.DATA:
            own = means.get((data, method, at))
            other = means.get((data, method + measure.AS_PUBLISHED, at))
            bold = method in systems and own == best[data]
            shown = [f"{value:.1f}" if value is not None else "" for value in (own, other)]
            cells += [f"**{shown[0]}**" if bold else shown[0], shown[1]]
        return [title, *cells]

    yield row("majority class", "majority", math.inf)
    yield row("ExtraTrees, not private", "extra_trees", math.inf)
    yield row("flagship", "dpforest", epsilon)
    yield row("flagship, delta = 0", "dpforest_pure", epsilon)
    for name in systems:
        yield row(f"`{name}`", name, epsilon)
