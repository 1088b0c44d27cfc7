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

people = typer.Typer(help="Manage who may use the service, and in which roles.")
token = typer.Typer(help="Manage API tokens for programs; a token is shown once and stored hashed.")

PersonName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the person.", show_default=False)
]
Roles = Annotated[
    list[str],
    typer.Option("--role", help="A role: owner, approver, analyst or auditor; repeat for several."),
]
GroupNames = Annotated[
    list[str] | None,
    typer.Option("--group", help="A group that the person is in; repeat for several."),
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
    """Allow a person to use the service."""
    with opened(ledger, create=True) as book:
        made = book.people.add(name, roles=role, groups=group or (), by=_BY)
    if json:
        print_json(made.to_dict())
        return
    say(f"{made.name} may use the service as {', '.join(made.roles)}", plain=True)


@people.command("list")
def list_people(ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """List all people with their roles and groups."""
    with opened(ledger, read_only=True) as book:
        listed = book.people.all()
    if json:
        print_json({"people": [each.to_dict() for each in listed]})
        return
    if not listed:
        say(
            ("There are no people yet. Add one with  quaestor people add NAME --role analyst"),
            plain=True,
        )
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
        list[str] | None,
        typer.Option(
            "--role",
            help=(
                "A role: owner, approver, analyst or auditor; repeat for several. Replaces "
                "all earlier roles."
            ),
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            help=(
                "A group that the person is in; repeat for several. Replaces all earlier groups."
            ),
        ),
    ] = None,
    shut_out: Annotated[
        bool | None,
        typer.Option(
            "--shut-out/--let-in",
            help="Block the person and end all their tokens and sessions, or allow them again.",
        ),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Change the roles or groups of a person, or block them."""
    with opened(ledger) as book:
        active = None if shut_out is None else not shut_out
        changed = book.people.change(name, roles=role, groups=group, active=active, by=_BY)
    if json:
        print_json(changed.to_dict())
        return
    state = ", ".join(changed.roles) if changed.active else "blocked: they cannot use the service"
    say(f"{changed.name} may use the service as {state}", plain=True)


@people.command("password")
def password(name: PersonName, ledger: LedgerPlace = HERE) -> None:
    """Set a person's password, typed twice or read from standard input."""
    if sys.stdin.isatty():
        given = getpass.getpass("New password: ")
        if getpass.getpass("Repeat the password: ") != given:
            say("the passwords differ; nothing was changed", plain=True)
            raise typer.Exit(2)
    else:
        given = sys.stdin.readline().rstrip("\n")
    with opened(ledger) as book:
        book.people.set_password(name, given, by=_BY)
    say(f"{name} can now sign in with the password", plain=True)


@people.command("link")
def link(name: PersonName, ledger: LedgerPlace = HERE, json: Json = False) -> None:  # noqa: FBT002
    """Print a link with which a person can sign in once, within 15 minutes."""
    with opened(ledger) as book:
        made = book.people.create_link(name, by=_BY)
    place = f"/sign-in?link={made}"
    if json:
        print_json({"name": name, "link": place})
        return
    say(f"open this path of the service once, within 15 minutes: {place}", plain=True)


@people.command("link-identity")
def link_identity(  # noqa: PLR0913  # what an identity is
    name: PersonName,
    subject: Annotated[
        str, typer.Option("--subject", help="The person's ID (subject) at the identity provider.")
    ] = "",
    email: Annotated[
        str,
        typer.Option(
            "--email",
            help=(
                "The person's e-mail address, as verified by the provider; used for the "
                "first sign-in."
            ),
        ),
    ] = "",
    issuer: Annotated[
        str | None,
        typer.Option(
            "--issuer",
            help="The address of the identity provider; by default the one in the catalog.",
        ),
    ] = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Allow a person to sign in through an identity provider (OpenID Connect)."""
    from quaestor.curator.catalog.nearest import nearest_catalog
    from quaestor.errors import InvalidParameter
    from quaestor.ledger import identity_to_link

    if issuer is None:
        catalog = nearest_catalog()
        if catalog is None or catalog.provider is None:
            valid = "given with --issuer, because the nearest catalog names no identity provider"
            raise InvalidParameter("issuer", None, valid)
        issuer = catalog.provider.issuer
    identity = identity_to_link(issuer=issuer, subject=subject, email=email)
    with opened(ledger) as book:
        made = book.people.link_identity(name, identity, by=_BY)
    if json:
        print_json(made.to_dict())
        return
    say(f"{made.person} can sign in as {made.note} (identity {made.id})", plain=True)


@people.command("identities")
def identities(
    person: Annotated[str, typer.Option("--person", help="Show only this person.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List the identities at providers with which people can sign in."""
    with opened(ledger, read_only=True) as book:
        listed = book.people.credentials("identity", person=person)
    if json:
        print_json({"identities": [each.to_dict() for each in listed]})
        return
    print_words(
        ["id", "person", "identity", "unlinked"],
        [[each.id, each.person, each.note, each.ended[:10]] for each in listed],
    )


@people.command("unlink-identity")
def unlink_identity(
    identity_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help='The ID of the identity, as "people identities" prints it.'
        ),
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Unlink an identity, so that it can no longer be used to sign in."""
    with opened(ledger) as book:
        book.people.revoke(identity_id, kind="identity", by=_BY)
    if json:
        print_json({"id": identity_id, "status": "unlinked"})
        return
    say(f"identity {identity_id} is unlinked", plain=True)


@token.command("create")
def create(  # noqa: PLR0913  # what a token says
    name: PersonName,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help=(
                "A role that the token may use; repeat for several. By default all roles of "
                "the person."
            ),
        ),
    ] = None,
    days: Annotated[
        float, typer.Option("--days", help="The number of days until the token expires.")
    ] = 90.0,
    note: Annotated[str, typer.Option("--note", help="What the token is for, in one line.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Create a token for a person. It is printed once; the ledger stores only its SHA-256 hash."""
    with opened(ledger) as book:
        made, secret = book.people.create_token(name, scopes=scope, days=days, note=note, by=_BY)
    if json:
        print_json({**made.to_dict(), "token": secret})
        return
    typer.echo(secret)
    say(
        f"token {made.id} of {made.person}, valid until {made.expires[:10]}; copy it "
        "now, it is not shown again"
    )


@token.command("list")
def list_tokens(
    person: Annotated[str, typer.Option("--person", help="Show only this person.")] = "",
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List all tokens, without their secrets."""
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
        str,
        typer.Argument(
            metavar="ID", help='The ID of the token, as "token list" prints it.', show_default=False
        ),
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Revoke a token, immediately and permanently."""
    with opened(ledger) as book:
        book.people.revoke(token_id, kind="token", by=_BY)
    if json:
        print_json({"id": token_id, "status": "revoked"})
        return
    say(f"token {token_id} is revoked", plain=True)
