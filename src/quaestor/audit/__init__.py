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
from quaestor.audit.one_run import OneRunReport, audit_one_run
from quaestor.audit.replay import Replay, replay
from quaestor.audit.report import Finding, MeasuredPoint, Report
from quaestor.audit.sequential import audit_sequentially, sequential_experiment
from quaestor.audit.sequential_report import SequentialReport
from quaestor.audit.targets import Coin, FourPoints, Raised, Target, Timed, Vectorised, target_of
from quaestor.audit.verdict import assert_private, audit, audit_experiment
from quaestor.audit.worlds import Classic, Memberships, Worlds

__all__ = [
    "DISTINGUISHERS",
    "Adaptive",
    "Adversary",
    "Challenge",
    "Claim",
    "Classic",
    "Coin",
    "Counts",
    "Distinguisher",
    "Experiment",
    "Finding",
    "Fixed",
    "FourPoints",
    "Histogram",
    "Joint",
    "Learned",
    "LikelihoodRatio",
    "LowestBits",
    "MeasuredPoint",
    "Memberships",
    "OneRunReport",
    "Raised",
    "RangeSeeker",
    "Replay",
    "Report",
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
    "replay",
    "sequential_experiment",
    "target_of",
]
