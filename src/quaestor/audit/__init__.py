"""The auditor: the papers' composition experiment, played against any mechanism.

>>> import numpy as np
>>> from quaestor import PureDP, audit
>>> coins = np.random.default_rng()
>>> half = audit.Vectorised(lambda value, count: value + coins.laplace(scale=0.5, size=count))
>>> audit.audit(half, neighbours=(0.0, 1.0), claim=PureDP(epsilon=1.0)).violated
True
"""

from __future__ import annotations

from quaestor.audit.adversaries import Adaptive, Fixed, RangeSeeker, always
from quaestor.audit.anytime.sequential_audit import audit_sequentially, sequential_experiment
from quaestor.audit.anytime.sequential_report import SequentialReport
from quaestor.audit.claims import Claim, claim_of_tradeoff
from quaestor.audit.confidence import Counts
from quaestor.audit.distinguishers import (
    DISTINGUISHERS,
    Distinguisher,
    Histogram,
    Joint,
    Learned,
    LikelihoodRatio,
    LowestBits,
    Threshold,
)
from quaestor.audit.game import Adversary, Challenge, Experiment, Transcripts
from quaestor.audit.neighbours.neighbour_search import Search, search
from quaestor.audit.neighbours.spaces import (
    Answers,
    Categories,
    Domain,
    Floats,
    Ints,
    Pairs,
    Records,
    Rows,
)
from quaestor.audit.one_run import OneRunReport, audit_one_run
from quaestor.audit.playback.record_play import Primitive, RecordedCall, Recording, record_play
from quaestor.audit.playback.replay import Replay, replay
from quaestor.audit.report import Finding, MeasuredPoint, Report
from quaestor.audit.targets import Coin, FourPoints, Raised, Target, Timed, Vectorised, target_of
from quaestor.audit.verdict import assert_private, audit, audit_experiment
from quaestor.audit.worlds import Classic, Memberships, Worlds

__all__ = [
    "DISTINGUISHERS",
    "Adaptive",
    "Adversary",
    "Answers",
    "Categories",
    "Challenge",
    "Claim",
    "Classic",
    "Coin",
    "Counts",
    "Distinguisher",
    "Domain",
    "Experiment",
    "Finding",
    "Fixed",
    "Floats",
    "FourPoints",
    "Histogram",
    "Ints",
    "Joint",
    "Learned",
    "LikelihoodRatio",
    "LowestBits",
    "MeasuredPoint",
    "Memberships",
    "OneRunReport",
    "Pairs",
    "Primitive",
    "Raised",
    "RangeSeeker",
    "RecordedCall",
    "Recording",
    "Records",
    "Replay",
    "Report",
    "Rows",
    "Search",
    "SequentialReport",
    "Target",
    "Threshold",
    "Timed",
    "Transcripts",
    "Vectorised",
    "Worlds",
    "always",
    "assert_private",
    "audit",
    "audit_experiment",
    "audit_one_run",
    "audit_sequentially",
    "claim_of_tradeoff",
    "record_play",
    "replay",
    "search",
    "sequential_experiment",
    "target_of",
]
