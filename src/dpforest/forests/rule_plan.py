"""When the flagship's classifier is one rule: public facts and a noisy n."""

from __future__ import annotations

from fractions import Fraction

from dpforest.forests.purse import Purse

ONE_RULE, ONE_RULE_OF_FEW, ONE_RULE_OF_CLASSES = 25.0, 50.0, 20.0  # with less, it is one rule
FEW_FEATURES, MOST_RULED_CLASSES = 6, 10
PURE_RULE = 30.0  # how much more signal there may be where trees have Laplace noise
TRIAL_SIGNAL = 20.0  # that tells a twentieth of the records from noise
LEAST_TRIED_SIGNAL, MOST_TRIED_SIGNAL = 40.0, 400.0  # with more, trees tell more than any rule


def is_for_one_rule(purse: Purse, n_records: float, n_features: int, n_classes: int) -> bool:
    """Whether there is so little signal that a single rule tells more than weights or trees.

    Of few features there are few signed sums, so that all are among the candidates; of more than
    two classes a rule tells two.
    """
    return purse.private and n_records * purse.strength < most_signal_of_a_rule(
        purse, n_features, n_classes
    )


def most_signal_of_a_rule(purse: Purse, n_features: int, n_classes: int) -> float:
    """The signal from which on a model is no single rule."""
    if n_classes > MOST_RULED_CLASSES:
        return 0.0
    most = ONE_RULE if n_features > FEW_FEATURES else ONE_RULE_OF_FEW
    most = most if n_classes == 2 else ONE_RULE_OF_CLASSES
    return most * (PURE_RULE if purse.pure else 1.0)


def rule_trial_share(purse: Purse, n_records: float, n_features: int, n_classes: int) -> Fraction:
    """The share of the budget for a trial, whether some rule is seldom wrong.

    A line or trees would blur such a rule for a while yet. Under Gaussian noise, for two classes.

    Examples
    --------
    >>> [rule_trial_share(Purse(1.0, 1e-6), n, 4, 2) for n in (1_000.0, 10_000.0)]
    [Fraction(1, 140), Fraction(0, 1)]
    """
    if not purse.private or purse.pure or n_classes > 2:
        return Fraction(0)
    signal = n_records * purse.strength
    least = max(most_signal_of_a_rule(purse, n_features, n_classes), LEAST_TRIED_SIGNAL)
    if not least <= signal <= MOST_TRIED_SIGNAL:
        return Fraction(0)
    return Fraction((TRIAL_SIGNAL / signal) ** 2).limit_denominator(400)
