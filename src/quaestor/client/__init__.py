"""The client: ask a service with nothing but its address and a token.

::

    import quaestor as q

    curator = q.connect("https://data.example.org", token="qst_...")
    print(curator.preview("SELECT COUNT(*) AS n FROM patients", epsilon=0.1).fits)
    answer = curator.ask("SELECT COUNT(*) AS n FROM patients", epsilon=0.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.client.remote_curator import RemoteCurator

__all__ = ["connect"]


def connect(
    url: str,
    *,
    token: str,
    progress: Callable[[str], None] | bool | None = None,
    insecure: bool = False,
) -> RemoteCurator:
    """A curator behind a service, with the same ``preview`` and ``ask`` as one in this process.

    >>> connect("https://data.example.org", token="qst_1")
    <curator behind <service at https://data.example.org>>

    Args:
        url: the address of the service, such as ``https://data.example.org``.
        token: what ``quaestor token create`` has printed. Who asks is known by it alone.
        progress: told, in a word, how far a question is. If left out, a line says it where a person
            watches: in a terminal or a notebook. True shows that line always, False never.
        insecure: whether to send the token without TLS to another machine.
    """
    from quaestor.client.remote_curator import RemoteCurator
    from quaestor.client.wire import ServiceWire

    return RemoteCurator(ServiceWire(url, token, insecure=insecure), progress=progress)
