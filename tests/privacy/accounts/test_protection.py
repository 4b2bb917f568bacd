"""What is protected, in words and in steps; and that losses scaled by steps hold in parallel."""

import itertools
import math

import pytest

from dpforest.privacy.accounts.protection import Protection

CASES = [
    (Protection(), 1, "adding or removing one record"),
    (Protection("replace_one"), 2, "replacing one record"),
    (
        Protection("add_remove", "group", 3),
        3,
        "adding or removing one person (at most 3 records each)",
    ),
    (Protection("replace_one", "group", 3), 6, "replacing one person (at most 3 records each)"),
    (
        Protection("add_remove", "group"),
        1,
        "adding or removing one person (at most 1 record each)",
    ),
]


@pytest.mark.parametrize(("protection", "steps", "words"), CASES)
def test_steps_and_words(protection, steps, words):
    assert protection.steps == steps
    assert protection.describe() == words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"neighbors": "swap"}, "neighbors is 'swap', expected 'add_remove' or 'replace_one'"),
        ({"unit": "person"}, "unit is 'person', expected 'record' or 'group'"),
        ({"unit": "group", "max_records_per_group": 0}, "whole number of at least 1"),
        ({"unit": "group", "max_records_per_group": 2.5}, "whole number of at least 1"),
        ({"unit": "group", "max_records_per_group": True}, "whole number of at least 1"),
        ({"max_records_per_group": 2}, "unit='group'"),
    ],
)
def test_wrong_protection_is_refused_with_a_remedy(arguments, message):
    with pytest.raises(ValueError, match=message):
        Protection(**arguments)


def largest_histogram_loss(protection: Protection, scale: float, n_cells: int) -> float:
    """Worst loss of discrete Laplace noise on a histogram, over all moves to a neighbour.

    Noise of this scale on one cell has loss |change| / scale, and cells are independent.
    """
    most = protection.max_records_per_group
    removals = list(itertools.combinations_with_replacement(range(n_cells), most))
    additions = removals if protection.neighbors == "replace_one" else [()]
    worst = 0.0
    for out, into in itertools.product(removals, additions):
        changes = (abs(into.count(cell) - out.count(cell)) for cell in range(n_cells))
        worst = max(worst, sum(changes) / scale)
    return worst


@pytest.mark.parametrize("protection", [case[0] for case in CASES])
def test_loss_scaled_by_steps_holds_for_cells_in_parallel(protection):
    epsilon = 0.5
    scaled = largest_histogram_loss(protection, protection.steps / epsilon, n_cells=3)
    assert math.isclose(scaled, epsilon)  # not above, and not below either


@pytest.mark.parametrize("protection", [case[0] for case in CASES[1:4]])
def test_control_loss_of_one_step_does_not_hold(protection):
    assert largest_histogram_loss(protection, 1 / 0.5, n_cells=3) > 0.5 * 1.5


def test_control_change_of_one_cell_is_too_little_when_a_record_is_replaced():
    """One cell changes by at most 1 when a record is replaced, yet two cells change."""
    assert largest_histogram_loss(Protection("replace_one"), 1 / 0.5, n_cells=3) == 1.0
