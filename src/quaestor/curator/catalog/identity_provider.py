"""The identity provider by which people may sign in to a service: ``[service.oidc]``."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from quaestor.curator.catalog.sources import check_environment

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section

__all__ = ["ProviderPlan", "is_safe_address", "read_provider"]

_REMEDY = (
    'write  [service.oidc]  with  issuer = "https://login.example.org"  client = "quaestor"  '
    'environment = "QUAESTOR_OIDC_SECRET"  address = "https://data.example.org"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPlan:
    """An OpenID Connect provider, and this service as one of its clients."""

    issuer: str
    """Exactly as the provider writes it in its tokens."""
    client: str
    """The client id that the provider has given to this service."""
    environment: str
    """The environment variable that holds the client's secret."""
    address: str
    """Where browsers reach this service, without a path."""
    name: str
    """What people call the provider: for the sign-in page."""


def read_provider(document: Section) -> ProviderPlan | None:
    """The provider that the catalog names, if it names one."""
    service = document.section("service", title="service", remedy=_REMEDY)
    service.only("oidc")
    if "oidc" not in service.values:
        return None
    section = service.section("oidc", title="service.oidc", remedy=_REMEDY)
    section.only("issuer", "client", "environment", "address", "name")
    issuer, address = _address(section, "issuer"), _address(section, "address")
    if urlsplit(address).path not in {"", "/"}:
        raise section.wrong("address", "address must have no path", _REMEDY)
    client = section.text("client", remedy=_REMEDY)
    if client is None:
        raise section.wrong(None, "client is missing", _REMEDY)
    return ProviderPlan(
        issuer=issuer,
        client=client,
        environment=check_environment(section),
        address=address.rstrip("/"),
        name=section.text("name", remedy=_REMEDY) or urlsplit(issuer).hostname or issuer,
    )


def _address(section: Section, key: str) -> str:
    value = section.text(key, remedy=_REMEDY)
    if value is None:
        raise section.wrong(None, f"{key} is missing", _REMEDY)
    if not is_safe_address(value):
        raise section.wrong(key, f"{key} must be an https address", _REMEDY)
    return value


def is_safe_address(address: str) -> bool:
    """Whether nobody on the way can read what is sent there: https, or this machine.

    >>> is_safe_address("https://login.example.org"), is_safe_address("http://login.example.org")
    (True, False)
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or parts.username is not None or parts.query or parts.fragment:
        return False
    if parts.scheme == "https":
        return True
    try:
        return parts.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False
