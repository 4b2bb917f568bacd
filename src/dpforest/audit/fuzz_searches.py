"""Random searches: candidates of one estimator, with any options that a search allows.

Three options are left out, and replayed without a search:

- samples of trees: a replay knows which records of a whole table are odd, but not which of a part;
- matrix forests with a delta: a search counts what is pure beside Gaussian noise as the mu that
  covers it, and a replay holds both apart;
- votes by chance: answers of a candidate are drawn anew for every table, and so are its marks.
"""

from __future__ import annotations

from sklearn.base import is_regressor

from dpforest.audit.fuzz_options import EPSILONS, OPTIONS, draw_estimator
from dpforest.audit.fuzz_tables import Rng, draw_schema, pick
from dpforest.audit.small import public_estimators
from dpforest.search import PrivateSearchCV

SEARCH = PrivateSearchCV.__name__
SEARCHED = sorted(public_estimators().keys() - {"MatrixForestPredictor"})
SET = {"delta": 1e-6, "warm_start": False, "max_sample_weight": None, "second_phase": 0.0}
"""What candidates do not choose, where their estimator has it."""

LEFT_OUT = {
    "sampling": ("without_replacement", "shared"),
    "voting": ("probabilistic", "averaging"),
}
"""What they do not have, and what they have in its place."""


def draw_search(rng: Rng, persons: int | None) -> PrivateSearchCV:
    """A search among two or three candidates."""
    name = pick(rng, SEARCHED)
    schema = draw_schema(rng, regression=is_regressor(public_estimators()[name]()))
    drawn = [draw_estimator(rng, name, schema, persons) for _ in range(int(rng.integers(2, 4)))]
    for one in drawn:
        for key, (unwanted, instead) in LEFT_OUT.items():
            if getattr(one, key, None) == unwanted:
                one.set_params(**{key: instead})
    known = OPTIONS[name].keys()
    own = {key: value for key, value in SET.items() if key in known}
    return PrivateSearchCV(
        drawn[0].set_params(random_state=None, **own),
        [{key: getattr(one, key) for key in known - own.keys()} for one in drawn],
        epsilon=pick(rng, EPSILONS),
        delta=0.0 if name == "MatrixForestClassifier" else pick(rng, (0.0, 1e-6, 1e-2)),
        method=pick(rng, ("random_stopping", "permute_and_flip")),
        coverage=pick(rng, (0.3, 0.6)),
        hold_out=pick(rng, (0.2, 0.5)),
    )
