"""The ledger of a fit: on top of its schema, of failures, or of the model it continues."""

import pytest

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Branch, Ledger, Protection, Pure, Spend
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.accounts.opening import open_ledger, read_schema_ledger
from dpforest.schema import NumericFeature, Schema

RECORDS = Protection()
FEATURES = (NumericFeature("a", 0, 1),)


def spent(epsilon, protection=RECORDS, **options):
    ledger = Ledger(9.0, 0.0, protection, **options)
    ledger.debit(Spend("counts", "discrete Laplace", Pure(epsilon)))
    return ledger


def opened(schema, protection=RECORDS, reproducible=False, before=None):
    return open_ledger(schema, 1.0, 1e-6, protection, reproducible, before)


def test_a_declared_schema_costs_nothing():
    ledger = opened(Schema(FEATURES))
    (stage,) = ledger.stages
    assert (stage.kind, stage.entries) == ("fit", ())
    assert (float(stage.budget_epsilon), float(stage.budget_delta)) == (1.0, 1e-6)
    assert ledger.releasable
    assert not opened(Schema(FEATURES), reproducible=True).releasable


def test_a_paid_schema_is_a_stage_with_its_identity():
    paid = spent(2.0, kind="schema")
    ledger = opened(Schema(FEATURES, None, paid))
    assert [stage.kind for stage in ledger.stages] == ["schema", "fit"]
    assert ledger.stages[0].identity == paid.stages[0].identity
    assert ledger.epsilon == 2
    assert ledger.unspent_epsilon == 1


def test_a_schema_that_asked_nothing_is_no_stage():
    assert len(opened(Schema(FEATURES, None, Ledger(1.0, 0.0, RECORDS))).stages) == 1


def test_a_void_schema_leaves_no_guarantee_and_no_stage():
    void = Ledger(0, 0, RECORDS)
    void.void("read from the data")
    ledger = opened(Schema(FEATURES, None, void), Protection("replace_one"))
    assert ledger.reasons == ("read from the data",)
    assert len(ledger.stages) == 1


def test_a_continued_model_keeps_its_stages_and_its_schema_once():
    schema = Schema(FEATURES, None, spent(2.0, kind="schema"))
    first = opened(schema)
    first.debit(Spend("counts", "discrete Laplace", Pure(1)))
    second = opened(schema, before=first)
    assert [stage.kind for stage in second.stages] == ["schema", "fit", "continued fit"]
    assert second.epsilon == 3
    with pytest.raises(ValueError, match="same neighbors"):
        opened(schema, Protection("replace_one"), before=first)


def test_a_fit_after_a_failure_is_no_continuation():
    schema = Schema(FEATURES, None, spent(2.0, kind="schema"))
    first = opened(schema)
    first.debit(Spend("counts", "discrete Laplace", Pure(0.5)))
    first.mark_failed()
    second = opened(schema, before=first.failures())
    assert [stage.kind for stage in second.stages] == ["schema", "failed fit", "fit"]
    assert second.epsilon == 2.5
    # With another schema, the one of the failed fit stays paid for.
    third = opened(Schema(FEATURES, None, spent(4.0, kind="schema")), before=first.failures())
    assert third.epsilon == 6.5
    # For other neighbours there is no guarantee.
    assert opened(schema, Protection("replace_one"), before=first.failures()).guarantee is None


@pytest.mark.parametrize("nested", [False, True])
def test_a_schema_whose_releases_do_not_say_how_they_were_made_is_refused(nested):
    made = Spend.of("bounds", "discrete Laplace", DiscreteLaplace(8, 1))
    forged = Spend("bounds", "discrete Laplace", Pure(0.125))
    for release in (made, forged):
        ledger = Ledger(1.0, 0.0, RECORDS, kind="schema")
        ledger.debit(Branch("columns", "sequential", (made, release)) if nested else release)
        if release is made:
            assert read_schema_ledger(ledger.to_dict()).epsilon == ledger.epsilon
        else:
            with pytest.raises(SchemaError, match="does not say what it was made of"):
                read_schema_ledger(ledger.to_dict())
