"""A round on a cluster, on paper: tasks that count partitions, and the tree that adds them up.

    python -m benchmarks.scale plan

Simulated event by event: a scheduler sends out one task after another, each goes to the core that
is free first, and a task that adds up answers waits for those it needs. The cost of a row and of a
task were measured on one machine; a scheduler that needs 1 ms a task, as Dask's manual says of its
own, and a network of 1 GB/s are assumed.
"""

import heapq
from dataclasses import dataclass, replace

COST = {
    "row": 25e-9,  # seconds of a core, a round, for 20 features (memory, 2,000,000 records)
    "task": 3e-3,  # of a core: to read the message, look the shard up, send the answer
    "wire": 1e-9,  # a byte
}


@dataclass(frozen=True)
class Plan:
    """A cluster and a table; ``dispatch`` is what the scheduler needs for a task, in seconds."""

    rows: float
    cores: int
    partitions: int
    fan_in: int = 16
    dispatch: float = 1e-3
    answer: int = 10 * 32 * 2 * 8  # bytes: ten trees a round, 32 leaves, gradient and Hessian


def round_of(plan):
    """The seconds of one round, and the answers that the driver gets."""
    counting = plan.rows / plan.partitions * COST["row"] + COST["task"]
    clock, cores = 0.0, [0.0] * plan.cores
    needs, work = [[0.0]] * plan.partitions, counting
    while True:
        done = []
        for waits_for in needs:
            clock += plan.dispatch
            start = max(heapq.heappop(cores), clock, *waits_for)
            heapq.heappush(cores, start + work)
            done.append(start + work)
        if len(done) <= plan.fan_in:
            return max(done) + len(done) * plan.answer * COST["wire"], len(done)
        needs = [done[i : i + plan.fan_in] for i in range(0, len(done), plan.fan_in)]
        work = COST["task"] + plan.fan_in * plan.answer * COST["wire"]


LARGE = 100 * 1_024 * 2 * 8  # bytes: leaves of 100 trees of depth 10, two classes


def table():
    """Rounds of clusters of all sizes, and large answers with a tree and without, for the docs."""
    print(
        "| records | cores | partitions | a round | 80 rounds | answers of 1.6 MB: with the tree "
        "| without | the driver gets |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for plan in (
        Plan(2e6, 2, 8),
        Plan(1e8, 16, 64),
        Plan(1e9, 64, 256),
        Plan(1e10, 256, 1_024),
        Plan(1e10, 1_024, 4_096),
    ):
        seconds, _ = round_of(plan)
        large = replace(plan, answer=LARGE)
        tree, n_answers = round_of(large)
        flat, n_flat = round_of(replace(large, fan_in=plan.partitions))
        print(
            f"| {plan.rows:,.0f} | {plan.cores:,} | {plan.partitions:,} | {seconds:.2f} s | "
            f"{80 * seconds / 60:.1f} min | {tree:.2f} s | {flat:.2f} s | "
            f"{n_answers * LARGE / 1e6:,.0f} MB, not {n_flat * LARGE / 1e6:,.0f} |"
        )
