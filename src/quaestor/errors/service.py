"""Errors about people, what they may do, and questions asked of a service."""

from __future__ import annotations

from typing import Any

from quaestor.errors.base import InvalidParameter, QuaestorError, shown

__all__ = [
    "IdentityRefused",
    "JobUnfinished",
    "NotAllowed",
    "NotSignedIn",
    "ProviderUnavailable",
    "RequestRefused",
    "ServiceUnreachable",
    "SignInFailed",
    "TooManyJobs",
    "TooManySignIns",
    "UnknownJob",
    "UnknownPerson",
]


class NotSignedIn(QuaestorError):
    """Nobody in particular asks: there is no valid token and no valid session.

    What to do: sign in, or send a valid token.

    >>> NotSignedIn().code
    'not_signed_in'
    """

    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__(
            "sign in, or send a valid token in the header  Authorization: Bearer TOKEN; an owner "
            "makes one with  quaestor token create NAME"
        )


class NotAllowed(QuaestorError):
    """Whoever asks is known, and may not do this; ``needs`` are the roles that may.

    What to do: ask an owner for one of the roles that ``needs`` lists.

    >>> NotAllowed(("owner",)).fields()
    {'needs': ['owner']}
    """

    code = "not_allowed"

    def __init__(self, needs: tuple[str, ...], *, problem: str = "") -> None:
        super().__init__(
            problem or f"this requires the role {' or '.join(needs)}; ask an owner for it"
        )
        self.needs = needs

    def fields(self) -> dict[str, Any]:
        """The roles that may do it."""
        return {"needs": list(self.needs)}


class SignInFailed(QuaestorError):
    """The link, the name or the password is wrong; which of them is not said.

    What to do: try again, or ask an owner for a new link.

    >>> SignInFailed().code
    'sign_in_failed'
    """

    code = "sign_in_failed"

    def __init__(self) -> None:
        super().__init__(
            "the sign-in failed: the link is used or expired, or the name or password is "
            "wrong; try again, or ask an owner for a new link"
        )


class IdentityRefused(QuaestorError):
    """A sign-in by the identity provider did not succeed; ``reason`` says why, in a word.

    What to do: sign in again; if ``reason`` stays the same, ask an owner.

    >>> IdentityRefused("expired", "it took too long: sign in again").reason
    'expired'
    """

    code = "identity_refused"

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """A word such as ``expired`` or ``not_linked``."""
        return {"reason": self.reason}


class ProviderUnavailable(QuaestorError):
    """The identity provider does not answer, or not as OpenID Connect asks.

    What to do: try again later, or sign in by a link or a password.

    >>> ProviderUnavailable("it does not answer").fields()
    {'problem': 'it does not answer'}
    """

    code = "provider_unavailable"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the identity provider cannot be used now ({problem}): try again, or sign in by a "
            "link or a password"
        )
        self.problem = problem

    def fields(self) -> dict[str, Any]:
        """What is wrong with it."""
        return {"problem": self.problem}


class TooManySignIns(QuaestorError):
    """Too many sign-ins failed; nothing was looked at.

    What to do: wait for as many ``seconds``.

    >>> TooManySignIns(seconds=900).fields()
    {'seconds': 900}
    """

    code = "too_many_sign_ins"

    def __init__(self, *, seconds: int) -> None:
        super().__init__(f"too many failed sign-ins: try again in {seconds // 60} minutes")
        self.seconds = seconds

    def fields(self) -> dict[str, Any]:
        """For how many seconds at most it stays so."""
        return {"seconds": self.seconds}


class UnknownPerson(InvalidParameter):
    """Nobody has that name.

    What to do: correct the name, or add the person with ``quaestor people add``.

    >>> UnknownPerson("eve").name
    'eve'
    """

    code = "unknown_person"

    def __init__(self, name: str) -> None:
        ValueError.__init__(
            self,
            f"there is no person {shown(name)}: add them with  quaestor people add",
        )
        self.field, self.value, self.valid = (
            "person",
            name,
            "a person who was added with quaestor people add",
        )
        self.name = name

    def fields(self) -> dict[str, Any]:
        """The name that was given."""
        return {"name": shown(self.name)}


class UnknownJob(InvalidParameter):
    """There is no such job, or it is somebody else's.

    What to do: list your own jobs at ``/api/v1/jobs``.

    >>> UnknownJob("0123").job
    '0123'
    """

    code = "unknown_job"

    def __init__(self, job: str) -> None:
        ValueError.__init__(self, f"you have no job {shown(job)}: list your jobs at /api/v1/jobs")
        self.field, self.value, self.valid = "job", job, "the id of a job of yours"
        self.job = job

    def fields(self) -> dict[str, Any]:
        """The id that was given."""
        return {"job": shown(self.job)}


class TooManyJobs(QuaestorError):
    """Somebody has as many unfinished questions as they may have; nothing was charged.

    What to do: wait for one of your questions to finish, or cancel one.

    >>> TooManyJobs(most=16).fields()
    {'most': 16}
    """

    code = "too_many_jobs"

    def __init__(self, *, most: int) -> None:
        super().__init__(
            f"you have {most} unfinished questions, the most allowed: wait for one to "
            "finish, or cancel one. Nothing was charged"
        )
        self.most = most

    def fields(self) -> dict[str, Any]:
        """How many there may be."""
        return {"most": self.most}


class JobUnfinished(QuaestorError):
    """A question has no answer yet, or was cancelled.

    What to do: wait for the answer; a cancelled question has to be asked again.

    >>> JobUnfinished("0123", state="open").fields()
    {'job': '0123', 'state': 'open'}
    """

    code = "job_unfinished"

    def __init__(self, job: str, *, state: str) -> None:
        what = "was cancelled: ask again" if state == "cancelled" else "has no answer yet: wait"
        super().__init__(f"job {job} {what}")
        self.job, self.state = job, state

    def fields(self) -> dict[str, Any]:
        """The job, and how it stands."""
        return {"job": self.job, "state": self.state}


class RequestRefused(QuaestorError):
    """A request is too large, too frequent, too slow, or not what the service understands.

    What to do: send a smaller, slower or corrected request, as ``reason`` says.

    >>> RequestRefused("too_large", "the body has more than 1000000 bytes").reason
    'too_large'
    """

    code = "request_refused"

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """What is wrong with it, in a word such as ``too_large``."""
        return {"reason": self.reason}


class ServiceUnreachable(QuaestorError):
    """No Quaestor service answers at an address, or it answered with something else.

    What to do: check the address, and whether the service runs.

    >>> ServiceUnreachable("nobody answers").problem
    'nobody answers'
    """

    code = "service_unreachable"

    def __init__(self, problem: str) -> None:
        super().__init__(f"the service cannot be used: {problem}")
        self.problem = problem

    def fields(self) -> dict[str, Any]:
        """What went wrong."""
        return {"problem": self.problem}
