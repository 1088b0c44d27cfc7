"""What an account guarantees, in plain English: no more than is proved, and what it rests on.

Five things are said: about whom, against which other world; which facts are believed; about what
nothing is promised; what was fixed in advance, and by whom; and what was taken on somebody's word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.heaviest import untouched
from quaestor.ledger import stored_text as texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.successors import Together

__all__ = ["promise_of"]

_MOST_SHOWN = 5
_WHOM = {
    "add_remove": "for every person, whether or not that person is in the data",
    "replace": "about which of the datasets a person is in",
    "replace_record": (
        "for every person: about which of the datasets the person is in, and about what the "
        "person's records say"
    ),
}
_WORLDS = {
    "add_remove": "Compared are the data without a person and the same data with that person",
    "replace": "Compared are two worlds in which one person is in different datasets",
    "replace_record": (
        "Compared are two worlds in which one person is in different datasets, or has other "
        "records in the same ones"
    ),
}
_QUOTAS = (
    "Quotas limit how much of this budget each analyst may use. They do not guarantee what an "
    "analyst can learn: only the total is guaranteed."
)
_GROUPS = "Quotas of groups limit in the same way what their members may use together."
_INSIDE = (
    "Nothing is promised about what a record says inside a dataset that the person is in "
    "throughout; neighbours replace_record covers that."
)


def promise_of(
    definition: AccountDefinition,
    *,
    imported: Mapping[int, str],
    together: Together | None = None,
) -> str:
    """The whole promise in a few sentences.

    ``imported``: statements by entry, empty if none; ``together``: with what the account succeeds.
    """
    return " ".join(
        (
            *(definition.policy.about(definition) or _about(definition)),
            *definition.policy.words(),
            *_imports(imported),
            *((_QUOTAS,) if definition.shares else ()),
            *((_GROUPS,) if definition.groups else ()),
            *_terms(definition),
            *_line(together),
        )
    )


def _about(definition: AccountDefinition) -> Iterator[str]:
    target = f"({definition.epsilon!r}, {definition.delta!r})-differentially private"
    whom, worlds = _WHOM[definition.neighbours], _WORLDS[definition.neighbours]
    together = "even if all analysts put what they see together"
    yield f"All answers together are {target} {whom}, {together}."
    if definition.membership is None:
        anywhere = ", in any of the datasets" if len(definition.datasets) > 1 else ""
        yield f"{worlds}{anywhere}."
    else:
        yield f"{worlds}, as far as these facts allow: {definition.membership!r}."
        yield "The facts are assumed, not checked: people they do not fit have no guarantee."
    if definition.neighbours == "replace":
        yield _INSIDE
    never = untouched(
        definition.datasets, membership=definition.membership, neighbours=definition.neighbours
    )
    if len(never) == len(definition.datasets):
        yield "The facts allow no two such worlds to differ: this account promises nothing at all."
    elif never:
        yield (
            f"The facts allow no two such worlds to differ on {_listed(never)}: nothing at all is "
            "promised about the records there."
        )


def _terms(definition: AccountDefinition) -> Iterator[str]:
    """How long the account takes charges, and which."""
    if definition.approval is not None:
        above = "" if definition.approval is True else f" above epsilon {definition.approval!r}"
        yield f"Charges{above} are made only after another person has approved them."
    if definition.closes is not None:
        yield f"From {texts.short_time(definition.closes)} on it takes no further charges."


def _line(together: Together | None) -> Iterator[str]:
    """What people lose by the accounts that this one succeeds, and by this one."""
    if together is None:
        return
    old = together.accounts[1:]
    before = f"account{'s' if len(old) > 1 else ''} {_listed(old)}"
    if together.epsilon is None:
        yield (
            f"It succeeds {before}. No sum of them is certified: by today's prices or theorems one "
            "of these accounts has promised too much."
        )
        return
    yield (
        f"Together with {before}, which it succeeds, all answers are ({together.epsilon!r}, "
        f"{together.delta!r})-differentially private, as far as the facts that any of these "
        "accounts believes are true, and as long as the size of an account was not chosen by what "
        "another had answered."
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    more = len(names) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _imports(imported: Mapping[int, str]) -> Iterator[str]:
    realised = [str(entry) for entry, statement in imported.items() if not statement]
    if realised:
        entries = (
            f"Entry {realised[0]} was" if len(realised) == 1 else f"{len(realised)} entries were"
        )
        yield (
            f"{entries} imported without a statement and charged by the basic sum, which holds "
            "for lists that were chosen by answers. Releases that were left out are not covered."
        )
    stated = [(entry, statement) for entry, statement in imported.items() if statement]
    for entry, statement in stated[:_MOST_SHOWN]:
        yield (
            f"Entry {entry} was imported on the importer's word that all of this was fixed before "
            f"it began: {statement!r}."
        )
    if len(stated) > _MOST_SHOWN:
        yield f"So were {len(stated) - _MOST_SHOWN} more; the ledger's log has their statements."
