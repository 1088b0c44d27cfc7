"""A charge in one step: worked out before, and appended if the account stands as it was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.ledger.amounts import totals_to_text
from quaestor.ledger.journal.appender import Known, State, charge_columns, next_event

if TYPE_CHECKING:
    from quaestor.ledger.account_limits import Balances
    from quaestor.ledger.price import Request
    from quaestor.ledger.store.base import Store

__all__ = ["charge_at_once"]


def charge_at_once(
    store: Store, account: str, request: Request, *, seen: Known, balances: Balances
) -> tuple[int] | None:
    """Charge for this, durably; the number of its entry. None if that needs the account's lock.

    ``balances`` are what the totals become. The store appends the event only where the chain still
    ends where it was seen to end, so that totals and limits are those of that very state.
    """
    state, time = seen.state, store.step_time()
    changed = [place for place, new in balances.items() if seen.balances.get(place) is not new]
    if (
        time is None
        or time < state.time
        or len(changed) != 1
        or store.seen_head(account) != (state.events, state.head)
    ):
        return None
    event = next_event(
        "reserved",
        account=account,
        state=state,
        time=time,
        entry=state.entries + 1,
        **charge_columns(request),
    )
    totals = totals_to_text(balances[changed[0]])
    store.check_place()
    if not store.append_in_one_step((*event, state.pricing, *changed[0], totals)):
        return None
    store.confirm_place()
    store.note_head(account, seq=event.seq, head=event.hash)
    after = State(event.seq, event.entry, time, event.hash, state.closed, state.pricing)
    store.totals[account] = Known(after, seen.holders, balances)
    return (event.entry,)
