"""Passwords: hashed by argon2id, and checked in the same time whether or not there is one."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any

from quaestor.errors import InvalidParameter, MissingExtra

__all__ = ["check_password", "hash_password"]

_LEAST, _MOST = 12, 1000


@cache
def _hasher() -> Any:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise MissingExtra("argon2-cffi", extra="service", purpose="a password") from None
    return PasswordHasher()


@cache
def _nobody() -> str:
    """The hash of a password that nobody knows: for people who have none, or do not exist."""
    return str(_hasher().hash(secrets.token_urlsafe(32)))


def hash_password(password: str) -> str:
    """What the store keeps of a password."""
    if not isinstance(password, str) or not _LEAST <= len(password) <= _MOST:
        valid = f"a password of {_LEAST} to {_MOST} characters"
        raise InvalidParameter("password", "a text of another length", valid)
    try:
        return str(_hasher().hash(password))
    except UnicodeEncodeError:
        raise InvalidParameter("password", "half a character", "text") from None


def check_password(kept: str, password: str) -> bool:
    """Whether it is the right one; without a right one it takes as long, and never is."""
    from argon2.exceptions import InvalidHashError, VerificationError

    hasher = _hasher()
    try:
        hasher.verify(kept or _nobody(), password[:_MOST])
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False
    return bool(kept)
