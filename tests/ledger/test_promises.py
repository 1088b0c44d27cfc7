"""The words of an account: no more than is proved; and what no account can speak about."""

from __future__ import annotations

from typing import Any

import pytest

from quaestor.accounting.membership.facts import (
    All,
    AtMost,
    ExactlyOne,
    Exclusive,
    Fact,
    Implies,
    Vectors,
)
from quaestor.accounting.membership.heaviest import untouched
from quaestor.accounting.releases import BoundedRange, PureDP, SampledWithoutReplacement
from quaestor.errors import InvalidParameter, NotPlanned, TargetOutOfReach
from quaestor.ledger import Dashboard, Ledger, Open, Planned, query_digest
from quaestor.ledger.policies.base import policy_from_dict
from tests.laws.memberships import random_case
from tests.ledger.places import definition
from tests.oracles.membership import allowed

WITHOUT = SampledWithoutReplacement(release=PureDP(epsilon=0.5), sample=10, population=1000)
INSIDE = "Nothing is promised about what a record says inside a dataset"
BY_WHOM = "by whoever opened the account"


def words(ledger: Ledger, **changes: Any) -> str:
    return ledger.open_account(definition(**changes)).words()


# Words.


def test_the_words_name_the_neighbours_and_who_fixed_the_limits(ledger: Ledger) -> None:
    said = words(ledger)
    assert said.startswith(
        "All answers together are (1.0, 1e-06)-differentially private for every person, whether "
        "or not that person is in the data, even if all analysts put what they see together. "
        "Compared are the data without a person and the same data with that person. "
    )
    assert f"These limits were fixed {BY_WHOM}, when it was opened and before its first" in said
    assert "believed" not in said


def test_the_words_name_the_facts_that_are_believed(ledger: Ledger) -> None:
    said = words(ledger, datasets=("a", "b"), membership=AtMost(1))
    assert "as far as these facts allow: AtMost(1)." in said
    assert "The facts are assumed, not checked" in said


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Planned(releases={"patients": (PureDP(epsilon=0.1),)}), "The list of releases was"),
        (
            Dashboard.of({"SELECT 1": ("patients", (PureDP(epsilon=0.1),))}),
            "each by the SHA-256 of its text and with its releases",
        ),
    ],
)
def test_the_words_name_what_was_declared_and_by_whom(
    ledger: Ledger, policy: Planned | Dashboard, expected: str
) -> None:
    said = words(ledger, policy=policy)
    assert expected in said
    assert BY_WHOM in said
    assert "before its first answer" in said


@pytest.mark.parametrize("neighbours", ["replace", "replace_record"])
def test_a_record_inside_a_dataset_is_promised_something_only_where_it_is_proved(
    ledger: Ledger, neighbours: str
) -> None:
    said = words(ledger, neighbours=neighbours)
    assert (INSIDE in said) == (neighbours == "replace")
    assert ("what the person's records say" in said) == (neighbours == "replace_record")


def test_nothing_is_promised_where_two_worlds_never_differ(ledger: Ledger) -> None:
    """A hundred releases of 50-DP fit such an account: so it must not sound like a promise."""
    account = ledger.open_account(
        definition(membership=ExactlyOne(), neighbours="replace", datasets=("patients",))
    )
    account.reserve(PureDP(epsilon=50.0) * 100)
    said = account.words()
    assert "this account promises nothing at all" in said
    assert "for every person in the data" not in said
    some = words(
        ledger,
        name="some",
        datasets=("register", "north", "south"),
        membership=All(ExactlyOne(["north", "south"]), Implies(["north", "south"], "register")),
        neighbours="replace",
    )
    assert (
        "The facts allow no two such worlds to differ on register: nothing at all is promised "
        "about the records there."
    ) in some


@pytest.mark.parametrize(
    ("fact", "neighbours", "never"),
    [
        (None, "replace", ()),
        (AtMost(0, of=["b"]), "add_remove", ("b",)),
        (AtMost(0, of=["b"]), "replace_record", ("b",)),
        (Vectors([["a", "b"], ["a"]]), "replace", ("a", "c")),
        (Vectors([["a", "b"], ["a"]]), "add_remove", ("c",)),
        (Exclusive("a", "b"), "replace", ()),
    ],
)
def test_datasets_on_which_no_two_worlds_differ_are_found(
    fact: Fact | None, neighbours: str, never: tuple[str, ...]
) -> None:
    assert untouched(("a", "b", "c"), membership=fact, neighbours=neighbours) == never


def test_they_are_those_that_brute_force_finds() -> None:
    for seed in range(200):
        databases, fact, holds = random_case(seed)
        names = "abcdefg"[: len(databases)]
        members = allowed(len(databases), holds)
        for neighbours in ("add_remove", "replace", "replace_record"):
            never = tuple(
                name
                for i, name in enumerate(names)
                if (len({b[i] for b in members}) == 1 and neighbours == "replace")
                or not any(b[i] for b in members)
            )
            assert untouched(names, membership=fact, neighbours=neighbours) == never, (seed, fact)


def test_among_many_datasets_only_those_that_nobody_is_in_are_named() -> None:
    names = tuple(f"d{i}" for i in range(500))
    facts = All(AtMost(3), AtMost(0, of=["d7"]))
    assert untouched(names, membership=facts, neighbours="replace") == ("d7",)


# What no account can speak about.


@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "replace_record"])
def test_sampling_without_replacement_is_refused_with_what_to_do(
    ledger: Ledger, neighbours: str
) -> None:
    account = ledger.open_account(definition(neighbours=neighbours))
    advice = "Use PoissonSampled"
    with pytest.raises(InvalidParameter, match=advice):
        account.reserve([PureDP(epsilon=0.1), WITHOUT * 2])
    with pytest.raises(InvalidParameter, match=advice):
        account.price(WITHOUT)
    with pytest.raises(InvalidParameter, match=advice):
        account.import_history({"patients": [WITHOUT]}, purpose="x", fixed_before="stated")
    given: dict[str, Any] = {"neighbours": neighbours, "beside": True}
    for policy in (
        Open(expected=(WITHOUT,)),
        Planned(releases={"patients": (WITHOUT,)}),
        Dashboard.of({"SELECT 1": ("patients", (WITHOUT,))}),
    ):
        with pytest.raises(InvalidParameter, match=advice):
            ledger.open_account(definition("other", policy=policy, **given))
    assert list(account.entries()) == []


# Dashboards.


def test_queries_that_are_only_named_are_refused(ledger: Ledger) -> None:
    named = Dashboard(queries={"weekly count": ("patients", (PureDP(epsilon=0.1),))})
    with pytest.raises(InvalidParameter, match=r"use Dashboard\.of"):
        ledger.open_account(definition(policy=named))


def test_a_charge_presents_the_query_itself(ledger: Ledger) -> None:
    tenth = PureDP(epsilon=0.1)
    text = "SELECT COUNT(*) FROM visits"
    account = ledger.open_account(definition(policy=Dashboard.of({text: ("patients", (tenth,))})))
    digest = query_digest(text)
    with pytest.raises(InvalidParameter, match="needs the text of the query"):
        account.reserve(tenth, query=digest)
    with pytest.raises(InvalidParameter, match="the digest of query_text"):
        account.reserve(tenth, query=digest, query_text="SELECT COUNT(*) FROM visits WHERE x")
    with pytest.raises(NotPlanned):
        account.reserve(tenth, query_text="SELECT COUNT(*) FROM visits WHERE x")
    for nonsense in ("", "  ", 7, "half \ud800"):
        with pytest.raises(InvalidParameter, match="query_text"):
            account.reserve(tenth, query_text=nonsense)  # type: ignore[arg-type]  # the point
    with account.reserve(tenth, query=digest, query_text=text) as charge:
        charge.release("42")
    assert account.answer(digest) == (1, "42")
    assert account.price(tenth, query=digest).left == 0
    account.verify()


def test_a_dashboard_by_names_has_the_price_of_a_plan() -> None:
    """Ten ranges of 0.1: 0.6287 where queries are fixed, 0.6341 where answers choose them."""
    from quaestor.ledger import planned_epsilon

    texts = [f"SELECT {i}" for i in range(10)]
    ranges = (BoundedRange(epsilon=0.1),)
    fixed = Dashboard.of(dict.fromkeys(texts, ("patients", ranges)))
    named = Dashboard(queries=dict.fromkeys(texts, ("patients", ranges)))
    least, most = (planned_epsilon(definition(policy=policy)) for policy in (fixed, named))
    assert least is not None
    assert most is not None
    assert least < 0.62864
    assert 0.63415 < most < 0.6343
    assert fixed.by_digest
    assert not named.by_digest
    assert policy_from_dict(fixed.to_dict()) == fixed


def test_a_dashboard_is_made_of_texts() -> None:
    wrong: list[Any] = [{}, [], {"": ("a", ())}, {7: ("a", ())}]
    for nonsense in wrong:
        with pytest.raises(InvalidParameter):
            Dashboard.of(nonsense)


def test_the_plan_of_an_account_that_was_just_opened_is_not_checked_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Planned(releases={"patients": (PureDP(epsilon=0.1) * 3,)})
    ledger.open_account(definition(policy=plan))

    def never(_: object) -> None:
        raise TargetOutOfReach("asked again")

    monkeypatch.setattr("quaestor.ledger.account_view.plan_problem", never)
    monkeypatch.setattr("quaestor.ledger.journal.verification.plan_problem", never)
    account = ledger.account("trial")
    account.reserve(PureDP(epsilon=0.1))
    assert account.verify().problem is None
