"""How a promise is shown: never less than what was spent."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpforest.privacy.accounts.guarantee import NOT_FOR_RELEASE, Guarantee, pair
from dpforest.privacy.accounts.protection import Protection

amounts = st.fractions(Fraction(1, 10**12), 10**6)


@given(amounts, amounts)
def test_no_less_is_shown_than_is_spent(epsilon, delta):
    shown = pair(epsilon, delta).strip("()").split(", ")
    for amount, (name, value) in zip(
        (epsilon, delta), (part.split(" = ") for part in shown), strict=True
    ):
        assert name in ("epsilon", "delta")
        # Twelve digits count: the dust of binary fractions is not shown.
        assert amount * (1 - Fraction(1, 10**11)) <= Fraction(value) <= amount * Fraction(1.00002)


def test_what_is_not_for_release_says_so():
    assert NOT_FOR_RELEASE in str(Guarantee(1.0, 0.0, Protection(), releasable=False))
    assert NOT_FOR_RELEASE not in str(Guarantee(1.0, 0.0, Protection()))
