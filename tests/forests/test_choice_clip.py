"""The clip of a choice: all of it where nothing is known, less as a model grows sure."""

import numpy as np
import pytest

from dpforest.forests.choice_clip import LEAST, MEMORY, ChoiceClip


def hessians(total, n_trees=3):
    """Leaves of some trees, each with all records."""
    return np.full((n_trees, 4), total / 4.0)


def test_it_is_all_of_the_clip_before_anything_is_released_and_where_it_stays():
    assert ChoiceClip(0.01).part == 1.0
    stays = ChoiceClip(0.0)
    stays.learn(hessians(1.0))
    assert stays.part == 1.0


@pytest.mark.parametrize(("total", "part"), [(1e4, 1.0), (60.0, 0.6), (1.0, LEAST), (-50.0, LEAST)])
def test_it_is_in_proportion_to_the_hessians_of_all_records_whatever_the_trees(total, part):
    for n_trees in (1, 5):
        clip = ChoiceClip(0.01)
        clip.learn(hessians(total, n_trees))
        assert clip.part == pytest.approx(part)


def test_older_rounds_count_less():
    clip = ChoiceClip(0.01)
    clip.learn(hessians(90.0))
    clip.learn(hessians(30.0))
    assert clip.part == pytest.approx((MEMORY * 0.9 + 0.3) / (MEMORY + 1.0))
