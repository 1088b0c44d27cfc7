"""Every exception that Quaestor raises.

::

    QuaestorError
    ├── InvalidParameter          a value outside its range, or of the wrong kind
    │   ├── InvalidExpression     a release expression that does not parse
    │   ├── UnknownDatabase       a fact or a prior names a database that there is not
    │   ├── ContradictoryFacts    facts about membership that nobody can fulfil
    │   ├── InvalidPlan           a plan file that does not say what it should
    │   ├── InvalidHistory        a file of releases with a line that is none
    │   ├── InvalidCatalog        a catalog file that does not say what it should
    │   ├── UnreadableTable       a table whose columns cannot be read where it is said to be
    │   ├── MissingAddress        an environment variable that should hold an address is not set
    │   ├── RefusedQuery          a question that is not answered, and what to ask instead
    │   ├── NotPlanned            a charge that the account's plan does not contain
    │   ├── AccountExists         an account of that name, or on that dataset, is there already
    │   │   └── SourceKnown       the dataset's source was paid for under another name
    │   ├── UnknownAccount        no account has that name
    │   ├── KeyReused             the key of a charge, with another request
    │   ├── UnknownAnalyst        an analyst without a quota, where quotas are declared
    │   ├── UnknownPerson         nobody has that name
    │   └── UnknownJob            no such question, or somebody else's
    ├── TheoremDoesNotApply       a theorem was asked about releases it says nothing about
    ├── TargetOutOfReach          no noise, or no count, meets the target that was asked for
    ├── InconsistentAnswers       two ways to compute one number exclude each other: a bug, reported
    ├── CertificationFault        a certified computation broke its own rules; please report it
    ├── BeyondFloats              a certified computation left the range of floats
    ├── BudgetExceeded            a charge that does not fit; nothing was charged
    │   └── AccountOverdrawn      the account's promise is not kept by today's prices
    ├── AccountClosed             the account takes no further charges
    ├── ChargeSettled             a charge that can no longer be changed in this way
    ├── AnswerPending             somebody else is at work on the same question
    ├── ApprovalNeeded            a charge that nobody has approved, or not exactly as it is
    ├── ClockWentBack             the clock is behind the ledger's last entry
    ├── LedgerUnavailable         the ledger's store cannot be used just now
    ├── LedgerCorrupted           the ledger's store does not hold together
    ├── MissingExtra              an optional dependency is needed and not installed
    ├── SourceUnavailable         a table cannot be reached, or is not what the catalog says
    ├── EngineFailed              a query failed; nothing is said of why
    ├── NotSignedIn               no valid token, and no valid session
    ├── NotAllowed                a role that may not do this
    ├── SignInFailed              a link, a name or a password that is wrong
    ├── IdentityRefused           a sign-in by the identity provider that did not succeed
    ├── ProviderUnavailable       the identity provider cannot be used now
    ├── TooManySignIns            too many sign-ins failed
    ├── TooManyJobs               as many unfinished questions as one may have
    ├── JobUnfinished             a question that has no answer yet, or was cancelled
    ├── RequestRefused            a request that is too large, too frequent or too slow
    └── ServiceUnreachable        no service answers at the address

Each class has a stable ``code`` for programs, fields that can be read, and a sentence that says
what to do next.
"""

from __future__ import annotations

from quaestor.errors.base import (
    BeyondFloats,
    CertificationFault,
    InconsistentAnswers,
    InvalidExpression,
    InvalidParameter,
    MissingExtra,
    QuaestorError,
    TargetOutOfReach,
    TheoremDoesNotApply,
)
from quaestor.errors.curator import (
    EngineFailed,
    InvalidCatalog,
    MissingAddress,
    RefusedQuery,
    SourceUnavailable,
    UnreadableTable,
)
from quaestor.errors.databases import (
    ContradictoryFacts,
    InvalidPlan,
    UnknownDatabase,
)
from quaestor.errors.ledger import (
    AccountClosed,
    AccountExists,
    AccountOverdrawn,
    AnswerPending,
    ApprovalNeeded,
    BudgetExceeded,
    ChargeSettled,
    ClockWentBack,
    InvalidHistory,
    KeyReused,
    LedgerCorrupted,
    LedgerUnavailable,
    NotPlanned,
    SourceKnown,
    UnknownAccount,
    UnknownAnalyst,
)
from quaestor.errors.service import (
    IdentityRefused,
    JobUnfinished,
    NotAllowed,
    NotSignedIn,
    ProviderUnavailable,
    RequestRefused,
    ServiceUnreachable,
    SignInFailed,
    TooManyJobs,
    TooManySignIns,
    UnknownJob,
    UnknownPerson,
)

__all__ = [
    "AccountClosed",
    "AccountExists",
    "AccountOverdrawn",
    "AnswerPending",
    "ApprovalNeeded",
    "BeyondFloats",
    "BudgetExceeded",
    "CertificationFault",
    "ChargeSettled",
    "ClockWentBack",
    "ContradictoryFacts",
    "EngineFailed",
    "IdentityRefused",
    "InconsistentAnswers",
    "InvalidCatalog",
    "InvalidExpression",
    "InvalidHistory",
    "InvalidParameter",
    "InvalidPlan",
    "JobUnfinished",
    "KeyReused",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "MissingAddress",
    "MissingExtra",
    "NotAllowed",
    "NotPlanned",
    "NotSignedIn",
    "ProviderUnavailable",
    "QuaestorError",
    "RefusedQuery",
    "RequestRefused",
    "ServiceUnreachable",
    "SignInFailed",
    "SourceKnown",
    "SourceUnavailable",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
    "TooManyJobs",
    "TooManySignIns",
    "UnknownAccount",
    "UnknownAnalyst",
    "UnknownDatabase",
    "UnknownJob",
    "UnknownPerson",
    "UnreadableTable",
]

for _name in __all__:  # where users import them from is where they say they live
    globals()[_name].__module__ = __name__
