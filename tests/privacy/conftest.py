"""One recorder for all verbs: what was drawn by which law, and whether it was paid for before.

A desk of the fixture `recorded_desk` keeps a log that its ledger, its store and its draws write
into, in the order in which things happen. Noise is recorded and not added; choices are recorded and
the largest utility wins. What the laws must be is worked out by hand in the tests of each verb.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, OfTree, Selection
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import spends_of
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.coins import CoinsInOrder
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.local import LocalStore
from dpforest.schema import NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame

PROTECTIONS = {
    "one record": (Protection(), 1),
    "replace one": (Protection("replace_one"), 2),
    "persons": (Protection(unit="group", max_records_per_group=3), 3),
    "replace persons": (Protection("replace_one", "group", 3), 6),
}
N = 60
SCHEMA = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(classes=(0, 1)))
ENCODING = Encoding.from_schema(SCHEMA, max_bins=4)


@dataclass(frozen=True)
class Drawn:
    """One call of the draws: noise with what it was made of, or a choice with its law."""

    kind: str
    numbers: np.ndarray
    law: Any


class Recorder(Draws):
    """Records every law; adds no noise, and lets the largest utility win."""

    def __init__(self, log):
        super().__init__(0)
        self.log, self.calls = log, []

    @property
    def laws(self):
        """The kind and the law of every draw, in order."""
        return [(call.kind, call.law) for call in self.calls]

    def looked(self):
        self.log.append("looked")

    def below(self, m, size):
        self.log.append("coins")
        return super().below(m, size)

    def coins(self):
        return CoinsInOrder(self.below, lambda chances, m: self.below(m, len(chances)) < chances)

    def add_noise(self, noise, totals):
        self.log.append("drawn")
        self.calls.append(Drawn("noise", totals.copy(), noise.made))
        return totals

    def permute_and_flip(self, utilities, *, epsilon, sensitivity, monotone):
        return self._choose("permute and flip", utilities, epsilon, sensitivity, monotone)

    def exponential(self, utilities, *, epsilon, sensitivity, monotone, weights=None):
        return self._choose("exponential", utilities, epsilon, sensitivity, monotone)

    def exponential_at(self, utilities, rate, weights=None):
        self.log.append("drawn")
        self.calls.append(Drawn("exponential at", np.array(utilities), rate))
        return utilities.argmax(axis=-1)

    def _choose(self, kind, utilities, *law):
        self.log.append("drawn")
        self.calls.append(Drawn(kind, np.array(utilities), law))
        return np.asarray(utilities).argmax(axis=-1)


class WatchedLedger(Ledger):
    """Writes down when something is debited."""

    log: list

    def debit(self, entry):
        super().debit(entry)
        self.log.append("debit")


class WatchedStore(LocalStore):
    """Writes down when records are touched, in whatever way."""

    log: list

    def total(self, statistic):
        self.log.append("total")
        return super().total(statistic)

    def encode(self, *arguments, **options):
        self.log.append("read")
        super().encode(*arguments, **options)

    def deal(self, *arguments):
        self.log.append("read")
        super().deal(*arguments)

    def sample(self, *arguments):
        self.log.append("read")
        super().sample(*arguments)


def made_of(desk):
    """What the ledger says every release was made of."""
    return [spend.made for spend in spends_of(desk.ledger.entries)]


@pytest.fixture(params=PROTECTIONS)
def protected(request):
    """A protection, and the single records between its neighbours."""
    return PROTECTIONS[request.param]


@pytest.fixture
def recorded_desk():
    """Make a desk that records: ``recorded_desk(protection, target="classes")``."""

    def make(protection=None, *, target="classes", epsilon=50.0, delta=1e-6, weight=None):
        rng = np.random.default_rng(5)
        X = rng.random((N, 2))
        targets = {"classes": (X[:, 0] > 0.3).astype(np.int32), "numbers": X[:, 0], "pairs": X}
        log: list[str] = []
        ledger = WatchedLedger(epsilon, delta, protection or Protection())
        ledger.log = log
        WatchedStore.log = log
        store = WatchedStore(Frame(X), targets[target], n_jobs=1, weight=weight)
        store.encode(ENCODING)
        store.start_scores(1)
        log.clear()
        desk = Desk(store, ledger, Recorder(log))
        desk.log, desk.made = log, lambda: made_of(desk)
        return desk

    return make


TREES, SHARE = 3, Fraction(2, 5)
SAMPLINGS = {
    "shared": TreeSampling("shared", TREES),
    "disjoint": TreeSampling("disjoint", TREES),
    "without_replacement": TreeSampling("without_replacement", TREES, SHARE),
}


@pytest.fixture(params=SAMPLINGS)
def sampling(request):
    """Three trees, by each way in which they see records."""
    return SAMPLINGS[request.param]


def allowed_in_tree(sampling, epsilon, steps):
    """What a tree may spend for one added record where the forest spends epsilon, by hand."""
    if sampling.kind == "disjoint":
        return epsilon / steps
    step = epsilon / TREES / steps
    if sampling.kind == "shared":
        return step
    return math.log(1 + math.expm1(step) / float(SHARE))


@pytest.fixture
def allowed():
    """What a tree may spend for one added record in a span: ``allowed(sampling, span, steps)``."""

    def in_span(sampling, span, steps):
        before, after = (allowed_in_tree(sampling, epsilon, steps) for epsilon in span)
        return after - before

    return in_span


@pytest.fixture
def require_debit():
    """Check that the ledger holds just these releases of all trees, each for its span.

    ``require_debit(desk, sampling, steps, [(made, span), ...])``, made for one added record.
    """

    def check(desk, sampling, steps, releases):
        found = list(spends_of(desk.ledger.entries))
        assert len(found) == len(releases)
        parallel = sampling.kind == "disjoint"
        for entry, spend, (made, span) in zip(desk.ledger.entries, found, releases, strict=True):
            (trees,) = entry.parts
            assert (trees.times, trees.rule) == (TREES, "parallel" if parallel else "sequential")
            if sampling.kind == "without_replacement":
                expected = OfTree(made, sampling.kind, TREES, SHARE, steps, *span)
            elif isinstance(made, DiscreteLaplace):
                expected = DiscreteLaplace(made.scale, made.sensitivity * steps)
            else:
                expected = Selection(made.name, made.epsilon, steps)
            assert spend.made == expected
            price = span.after - span.before
            assert float(entry.cost().epsilon) == pytest.approx(float(price), rel=1e-8)
            assert entry.cost().epsilon <= price

    return check


@pytest.fixture
def paid_before_read():
    """Check that all was debited before any record was touched, and that some were."""

    def check(desk, debits=1):
        assert desk.log[:debits] == ["debit"] * debits
        assert "debit" not in desk.log[debits:]
        assert "total" in desk.log

    return check
