"""The ``people`` and ``token`` commands: who may use a service, and by which tokens."""

from __future__ import annotations

import getpass
import sys
from typing import Annotated

import typer

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, print_words, say
from quaestor.cli.options import HERE, Json, LedgerPlace

__all__ = ["people", "token"]

people = typer.Typer(help="Who may use a service over the ledger, and in which roles.")
token = typer.Typer(help="Tokens with which programs use a service: shown once, stored hashed.")

PersonName = Annotated[str, typer.Argument(metavar="NAME", help="The person.", show_default=False)]
Roles = Annotated[
    list[str],
    typer.Option("--role", help="owner, approver, analyst or auditor; repeat it for several."),
]
GroupNames = Annotated[
    list[str] | None, typer.Option("--group", help="A group; repeat it for several.")
]
_BY = "the command line"


@people.command("add")
def add(
    name: PersonName,
    role: Roles,
    group: GroupNames = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Let somebody use the service."""
    with opened(ledger, create=True) as book:
        made = book.people.add(name, roles=role, groups=group or (), by=_BY)
    if json:
        print_json(made.to_dict())
        return
    say(f"{made.name} may use the service as {', '.join(made.roles)}", plain=True)


@people.command("list")
def list_people(ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Everybody, with roles and groups."""
    with opened(ledger, read_only=True) as book:
        listed = book.people.all()
    if json:
        print_json({"people": [each.to_dict() for each in listed]})
        return
    if not listed:
        say("Nobody yet: quaestor people add NAME --role analyst", plain=True)
        return
    print_words(
        ["name", "roles", "groups", "active"],
        [
            [each.name, ", ".join(each.roles), ", ".join(each.groups), "yes" if each.active else ""]
            for each in listed
        ],
    )


@people.command("change")
def change(  # noqa: PLR0913  # what can be changed
    name: PersonName,
    role: Annotated[
        list[str] | None, typer.Option("--role", help="All roles from now on; repeat it.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="All groups from now on; repeat it.")
    ] = None,
    shut_out: Annotated[
        bool | None,
        typer.Option("--shut-out/--let-in", help="End all their tokens and sessions, or not."),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Give somebody other roles or groups, or shut them out."""
    with opened(ledger) as book:
        active = None if shut_out is None else not shut_out
        changed = book.people.change(name, roles=role, groups=group, active=active, by=_BY)
    if json:
        print_json(changed.to_dict())
        return
    state = ", ".join(changed.roles) if changed.active else "nobody: they are shut out"
    say(f"{changed.name} may use the service as {state}", plain=True)


@people.command("password")
def password(name: PersonName, ledger: LedgerPlace = HERE) -> None:
    """Set somebody's password, typed twice or read from standard input."""
    if sys.stdin.isatty():
        given = getpass.getpass("New password: ")
        if getpass.getpass("Once more: ") != given:
            say("the two are different; nothing was changed", plain=True)
            raise typer.Exit(2)
    else:
        given = sys.stdin.readline().rstrip("\n")
    with opened(ledger) as book:
        book.people.set_password(name, given, by=_BY)
    say(f"{name} can sign in by password", plain=True)


@people.command("link")
def link(name: PersonName, ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Print a link with which somebody can sign in, once, within 15 minutes."""
    with opened(ledger) as book:
        made = book.people.create_link(name, by=_BY)
    place = f"/sign-in?link={made}"
    if json:
        print_json({"name": name, "link": place})
        return
    say(f"open this path of the service, once, within 15 minutes: {place}", plain=True)


@token.command("create")
def create(  # noqa: PLR0913  # what a token says
    name: PersonName,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="A role that the token is for, if not all; repeat it."),
    ] = None,
    days: Annotated[float, typer.Option("--days", help="After how many days it expires.")] = 90.0,
    note: Annotated[str, typer.Option("--note", help="What it is for.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Make a token for somebody. It is printed once; the ledger keeps its SHA-256 only."""
    with opened(ledger) as book:
        made, secret = book.people.create_token(name, scopes=scope, days=days, note=note, by=_BY)
    if json:
        print_json({**made.to_dict(), "token": secret})
        return
    typer.echo(secret)
    say(f"token {made.id} of {made.person}, until {made.expires[:10]}: it is shown now only")


@token.command("list")
def list_tokens(
    person: Annotated[str, typer.Option("--person", help="Of this person only.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Every token, without its secret."""
    with opened(ledger, read_only=True) as book:
        listed = book.people.credentials("token", person=person)
    if json:
        print_json({"tokens": [each.to_dict() for each in listed]})
        return
    print_words(
        ["id", "person", "scopes", "expires", "revoked", "note"],
        [
            [
                each.id,
                each.person,
                ", ".join(each.scopes),
                each.expires[:10],
                each.ended[:10],
                each.note,
            ]
            for each in listed
        ],
    )


@token.command("revoke")
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="As token list prints it.", show_default=False)
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Revoke a token, at once and for good."""
    with opened(ledger) as book:
        book.people.revoke(token_id, kind="token", by=_BY)
    if json:
        print_json({"id": token_id, "status": "revoked"})
        return
    say(f"token {token_id} is revoked", plain=True)
