"""Does it leak more than it says? Games, enumeration, replays and attacks against a guarantee."""

from dpforest.audit.chains import Chain
from dpforest.audit.controls import controls
from dpforest.audit.controls_replay import replay_controls
from dpforest.audit.controls_search import search_controls
from dpforest.audit.distinguish import audit
from dpforest.audit.exhaustive import ExhaustiveReport, exhaust
from dpforest.audit.floating import attack_floating_point
from dpforest.audit.games import Game
from dpforest.audit.mechanisms import Mechanism, laplace_count
from dpforest.audit.membership import MembershipReport, membership_inference
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.report import AuditReport
from dpforest.audit.searches import OneSearch, worst_gaussian_stopping, worst_pure_stopping
from dpforest.audit.small import public_estimators, small_estimators, small_versions
from dpforest.audit.worlds import SMALL_REGRESSION, SMALL_SCHEMA, Pair, Table, worst_pairs

__all__ = [
    "SMALL_REGRESSION",
    "SMALL_SCHEMA",
    "AuditReport",
    "Chain",
    "ExhaustiveReport",
    "Game",
    "Mechanism",
    "MembershipReport",
    "OneSearch",
    "Pair",
    "ReplayReport",
    "Table",
    "attack_floating_point",
    "audit",
    "controls",
    "exhaust",
    "laplace_count",
    "membership_inference",
    "public_estimators",
    "replay",
    "replay_controls",
    "search_controls",
    "small_estimators",
    "small_versions",
    "worst_gaussian_stopping",
    "worst_pairs",
    "worst_pure_stopping",
]
