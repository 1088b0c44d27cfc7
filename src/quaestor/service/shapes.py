"""The shapes of what is sent to the service."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quaestor.curator.question_batch import MOST_HELD

__all__ = [
    "MOST_QUESTIONS",
    "AccountantBody",
    "BatchBody",
    "CalibrationBody",
    "DecisionBody",
    "IdentityBody",
    "PersonBody",
    "PersonChangeBody",
    "PlanBody",
    "PreviewBody",
    "QuestionBody",
    "SignInBody",
    "SubmissionBody",
    "TokenBody",
]

Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Delta = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Role = Literal["owner", "approver", "analyst", "auditor"]
MOST_QUESTIONS = MOST_HELD  # of a batch: all of them are charged before the first is drawn
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AccuracyBody(_Body):
    """How accurate each count and sum is to be, at the least cost."""

    within: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    of: Annotated[str, Field(max_length=200)] | None = None
    noise: Literal["geometric", "gaussian"] | None = None


class PreviewBody(_Body):
    """A question, what it may cost, and who pays."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.1},
                {
                    "sql": "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex",
                    "accuracy": {"within": 50, "confidence": 0.95},
                    "account": "study",
                },
            ]
        },
    )

    sql: Annotated[str, Field(min_length=1, max_length=20_000)]
    epsilon: Positive | None = None
    rho: Positive | None = None
    accuracy: AccuracyBody | None = None
    delta: Delta | None = None
    account: Name | None = None
    rows: Count | None = None
    groups: Count | None = None
    anew: bool = False
    quantile_intervals: bool = True
    whole_error: bool | None = None
    noise: Literal["geometric", "gaussian"] | None = None

    @model_validator(mode="after")
    def _one_budget(self) -> PreviewBody:
        if sum(each is not None for each in (self.epsilon, self.rho, self.accuracy)) != 1:
            raise ValueError("give exactly one of epsilon, rho and accuracy")
        return self


class SubmissionBody(PreviewBody):
    """A question that somebody else is to approve."""

    purpose: Annotated[str, Field(max_length=500)] = ""


class QuestionBody(SubmissionBody):
    """A question to be answered, and who may see the answer."""

    approval: Annotated[str, Field(max_length=64)] = ""
    audience: Annotated[str, Field(max_length=220)] = ""


class BatchBody(_Body):
    """Questions to be answered together, in order; each is charged or refused by itself."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "questions": [
                        {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.1},
                        {"sql": "SELECT AVG(age) AS a FROM patients", "epsilon": 0.2},
                    ]
                }
            ]
        },
    )

    questions: Annotated[list[QuestionBody], Field(min_length=1, max_length=MOST_QUESTIONS)]


class PlanBody(_Body):
    """Questions that somebody else is to approve together, on one account."""

    questions: Annotated[list[SubmissionBody], Field(min_length=1, max_length=MOST_QUESTIONS)]


class DecisionBody(_Body):
    """What was decided about a submission."""

    decision: Literal["approve", "decline"]
    reason: Annotated[str, Field(max_length=500)] = ""


class SignInBody(_Body):
    """A link that was not used yet, or a name and a password."""

    link: Annotated[str, Field(max_length=200)] | None = None
    name: Name | None = None
    password: Annotated[str, Field(max_length=1000)] | None = None


class PersonBody(_Body):
    """Somebody who is to use the service."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ann", "roles": ["analyst"]}]}
    )

    name: Name
    roles: Annotated[list[Role], Field(min_length=1, max_length=4)]
    groups: Annotated[list[Name], Field(max_length=100)] = []


class PersonChangeBody(_Body):
    """Other roles or groups, or whether somebody may use the service at all."""

    roles: Annotated[list[Role], Field(min_length=1, max_length=4)] | None = None
    groups: Annotated[list[Name], Field(max_length=100)] | None = None
    active: bool | None = None


class IdentityBody(_Body):
    """How an identity provider calls somebody: by a subject, or by an e-mail address."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "ann@example.org"}]}
    )

    issuer: Annotated[str, Field(max_length=255)] | None = None
    subject: Annotated[str, Field(max_length=255)] = ""
    email: Annotated[str, Field(max_length=255)] = ""


class TokenBody(_Body):
    """A token: the roles that it is for, and for how long."""

    scopes: Annotated[list[Role], Field(min_length=1, max_length=4)] | None = None
    days: Annotated[float, Field(gt=0, le=3660)] = 90.0
    note: Annotated[str, Field(max_length=200)] = ""


class AccountantBody(_Body):
    """Releases to compose; a delta to ask for epsilon at, or an epsilon to ask for delta at."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"releases": ["Gaussian(sigma=50) * 1000"], "delta": 1e-6}]
        },
    )

    releases: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=2000)]],
        Field(min_length=1, max_length=50),
    ]
    epsilon: Annotated[float, Field(ge=0, le=1e6)] | None = None
    delta: Delta | None = None


class CalibrationBody(_Body):
    """Releases with one ``?``, and the target that its value is to meet."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"releases": ["Gaussian(sigma=?) * 1000"], "epsilon": 1.0, "delta": 1e-6}]
        },
    )

    releases: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=2000)]],
        Field(min_length=1, max_length=50),
    ]
    epsilon: Positive
    delta: Delta
