"""Which account pays: the one that is named, or the only one that covers the dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter, UnknownAccount

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.ledger import Account, Ledger

__all__ = ["account_for"]


def account_for(
    catalog: Catalog, ledger: Ledger, *, name: str | None = None, dataset: str = ""
) -> Account:
    """The account of that name or, without one, the only open account on the dataset.

    Raises:
        UnknownAccount: it is not open; the error says what to run, if the catalog plans it.
    """
    if name is None:
        return _covering(catalog, ledger, dataset)
    try:
        return ledger.account(name)
    except UnknownAccount as error:
        unknown = error
    if catalog.account(name) is not None:
        unknown = _to_be_opened(name)
    raise unknown


def _covering(catalog: Catalog, ledger: Ledger, dataset: str) -> Account:
    planned = [each.name for each in catalog.accounts if dataset in each.datasets]
    found = [each for each in ledger.accounts() if dataset in each.definition.datasets]
    if len(found) == 1:
        return ledger.account(found[0].name)
    if found or len(planned) > 1:
        names = sorted({each.name for each in found} | set(planned))
        raise InvalidParameter("account", None, f"one of those on {dataset!r}: {', '.join(names)}")
    if planned:
        raise _to_be_opened(planned[0])
    raise InvalidParameter(
        "account",
        None,
        f"one that covers the dataset {dataset!r}, and there is none yet: plan one in the "
        "catalog ([accounts.NAME], epsilon, delta) and run  quaestor account open NAME",
    )


def _to_be_opened(name: str) -> UnknownAccount:
    return UnknownAccount(
        name,
        near=None,
        remedy=f"the catalog plans it, and it is not open yet: run  quaestor account open {name}",
    )
