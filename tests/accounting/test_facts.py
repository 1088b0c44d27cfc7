"""Facts and plans: values that print, travel and contradict each other only with an error."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from quaestor import (
    All,
    AtMost,
    ContradictoryFacts,
    ExactlyOne,
    Exclusive,
    Fact,
    Gaussian,
    Implies,
    InvalidParameter,
    InvalidPlan,
    PureDP,
    UnknownDatabase,
    Vectors,
    compose_across,
    fact_from_json,
)
from quaestor.accounting.membership.facts import FACTS
from quaestor.accounting.membership.plan_file import plan_from_toml
from quaestor.accounting.membership.rules import resolve

FACTS_THAT_PRINT: list[tuple[Fact, str]] = [
    (AtMost(365), "AtMost(365)"),
    (AtMost(0, of="a"), "AtMost(0, of=['a'])"),
    (AtMost(2, of=["a", "b", "c"]), "AtMost(2, of=['a', 'b', 'c'])"),
    (ExactlyOne(), "ExactlyOne()"),
    (ExactlyOne(of=("a", "b")), "ExactlyOne(of=['a', 'b'])"),
    (Exclusive("a", "b"), "Exclusive('a', 'b')"),
    (Exclusive(["a", "c"], "b"), "Exclusive(['a', 'c'], 'b')"),
    (Implies("a", ["b", "c"]), "Implies('a', ['b', 'c'])"),
    (Vectors([["a"], [], ["a", "b"]]), "Vectors([['a'], [], ['a', 'b']])"),
    (All(), "All()"),
    (All(AtMost(2), All(ExactlyOne(of=["a"]))), "All(AtMost(2), ExactlyOne(of=['a']))"),
]
THREE = {name: [PureDP(epsilon=0.1)] for name in "abc"}


@pytest.mark.parametrize(("fact", "shown"), FACTS_THAT_PRINT, ids=[s for _, s in FACTS_THAT_PRINT])
def test_a_fact_prints_as_it_is_written_and_travels(fact: Fact, shown: str) -> None:
    assert repr(fact) == str(fact) == shown
    names: dict[str, Any] = dict(FACTS)
    assert eval(shown, names) == fact  # noqa: S307  # our own text
    assert fact_from_json(fact.to_json()) == fact
    assert fact_from_json(json.dumps(fact.to_dict())) == fact
    assert pickle.loads(pickle.dumps(fact)) == fact  # noqa: S301  # our own bytes
    assert hash(fact) == hash(fact_from_json(fact.to_json()))


def test_every_kind_of_fact_is_printed_here() -> None:
    assert {type(fact).__name__ for fact, _ in FACTS_THAT_PRINT} == set(FACTS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtMost(-1), "m must be a whole number from 0"),
        (lambda: AtMost(1.5), "m must be a whole number"),  # type: ignore[arg-type]
        (lambda: AtMost(m=True), "m must be a whole number"),
        (lambda: AtMost(1, of=[]), "at least one name"),
        (lambda: AtMost(1, of=[1]), "of must be the name of a database"),  # type: ignore[list-item]
        (lambda: ExactlyOne(of=["a", "a"]), "different names"),
        (lambda: Exclusive("a", ["b", "a"]), "other databases than those of a"),
        (lambda: Implies([], "a"), "at least one name"),
        (lambda: Vectors([]), "at least one list of names"),
        (lambda: Vectors("ab"), "a list of lists of names"),
        (lambda: All(AtMost(1), 3), "membership must be a fact"),  # type: ignore[arg-type]
    ],
)
def test_a_fact_that_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", 'an object with a "fact"'),
        ("{", "JSON text"),
        ('{"fact": "AtLeast", "m": 1}', "fact must be one of AtMost, ExactlyOne"),
        ('{"fact": "AtMost"}', "given m too"),
        ('{"fact": "AtMost", "m": 1, "n": 2}', "given m and of only"),
        ('{"fact": "All", "facts": 3}', "a list of facts"),
        ('{"fact": "AtMost", "m": "1"}', "a whole number"),
    ],
)
def test_json_that_is_no_fact_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        fact_from_json(text)


@pytest.mark.parametrize(
    "fact",
    [
        All(ExactlyOne(), AtMost(0)),
        All(ExactlyOne(of=["a", "b"]), ExactlyOne(of=["c"]), AtMost(1)),
        All(ExactlyOne(of=["a"]), Implies("a", "b"), Exclusive("a", "b")),
        All(Vectors([["a"]]), ExactlyOne(of=["b"])),
        All(Vectors([["a"]]), Vectors([["b"]])),
    ],
    ids=repr,
)
def test_contradictions_are_named(fact: Fact) -> None:
    with pytest.raises(ContradictoryFacts, match="remove or weaken one of them") as caught:
        compose_across(THREE, membership=fact)
    assert caught.value.facts == repr(fact)


def test_contradictory_limits_are_found_among_thousands_of_databases() -> None:
    names = [f"d{i}" for i in range(5000)]
    two = All(ExactlyOne(of=names[:10]), ExactlyOne(of=names[10:20]), AtMost(1))
    with pytest.raises(ContradictoryFacts):
        resolve(two, names)
    with pytest.raises(ContradictoryFacts):
        resolve(All(ExactlyOne(of=names[:10]), AtMost(0, of=names[:10])), names)
    with pytest.raises(ContradictoryFacts):
        resolve(All(ExactlyOne(of=names[:10]), AtMost(0)), names)


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownDatabase, match="did you mean 'north'") as caught:
        compose_across({"north": [], "south": []}, membership=Exclusive("nroth", "south"))
    assert caught.value.fields() == {"name": "nroth", "near": "north"}
    with pytest.raises(UnknownDatabase, match="add it, or correct the name"):
        compose_across(THREE, membership=AtMost(1, of=["zzzzzz"]))


@pytest.mark.parametrize(
    ("databases", "message"),
    [
        ({}, "databases must be a dictionary"),
        ([PureDP(epsilon=1.0)], "databases must be a dictionary"),
        ({1: []}, "named by texts"),
        ({"a": 3}, "a must be a list of releases"),
        ({"a": [0.1]}, "a must be made of releases"),
    ],
)
def test_databases_that_are_none_are_refused(databases: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        compose_across(databases)


def test_neighbours_and_questions_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="add_remove, replace, replace_record"):
        compose_across(THREE, neighbours="bounded")
    with pytest.raises(InvalidParameter, match="membership must be a fact"):
        compose_across(THREE, membership=365)  # type: ignore[arg-type]
    answer = compose_across(THREE)
    for question in ({}, {"delta": 0.1, "epsilon": 0.1}):
        with pytest.raises(InvalidParameter, match="exactly one of delta and epsilon"):
            answer.worst(**question)
    with pytest.raises(InvalidParameter, match="delta must be"):
        answer.epsilon(delta=2.0)
    with pytest.raises(InvalidParameter, match="epsilon must be"):
        answer.delta(epsilon=-1.0)
    assert repr(answer) == (
        "compose_across({3 databases}, membership=All(), neighbours='add_remove')"
    )
    assert answer.databases == ("a", "b", "c")


# Plans.

PLAN = """
neighbours = "replace"
facts = [
  { fact = "AtMost", m = 2 },
  { fact = "AtMost", m = 1, of = ["clinic", "central"] },
]

[databases]
central = "PureDP(epsilon=0.5) * 2"
coast = ["PureDP(epsilon=0.25)", "Gaussian(sigma=10) + Gaussian(sigma=20)"]

[[many]]
name = "clinic"
count = 3
releases = "PureDP(epsilon=0.125)"
"""


def test_a_plan_is_what_it_says() -> None:
    plan = plan_from_toml(PLAN)
    clinics = [f"clinic {i}" for i in (1, 2, 3)]
    assert plan.databases == {
        "central": (PureDP(epsilon=0.5) * 2,),
        "coast": (PureDP(epsilon=0.25), Gaussian(sigma=10), Gaussian(sigma=20)),
        **{name: (PureDP(epsilon=0.125),) for name in clinics},
    }
    assert plan.membership == All(AtMost(2), AtMost(1, of=[*clinics, "central"]))
    assert plan.composed().neighbours == "replace"
    assert plan.composed(neighbours="add_remove").neighbours == "add_remove"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"plan, databases: none; write  \[databases\]"),
        ("a = ", "plan: this is not TOML"),
        ("colour = 1", "plan, colour: unknown; a plan has neighbours, facts, databases, many"),
        ("databases = 3", "plan, databases: expected a table"),
        ("[databases]\na = 3", "plan, database 'a': expected a release"),
        ("[databases]\na = 'PureDP(epsilon=-1)'", "plan, database 'a': column 8: epsilon must be"),
        ("facts = 3\n[databases]\na = []", "plan, facts: expected a list of tables"),
        ("facts = [{m = 1}]\n[databases]\na = []", "plan, fact 1: fact must be an object"),
        ("facts = [{fact = 'AtMost', m = -1}]\n[databases]\na = []", "plan, fact 1: m must be"),
        ("[[many]]\nname = 'a'\ncount = 3", "plan, many 1: 'releases' is missing"),
        ("[[many]]\nname = 'a'\ncount = 3\nreleases = []\nb = 1", "plan, many 1: 'b' is unknown"),
        ("[[many]]\nname = 3\ncount = 3\nreleases = []", "plan, many 1: the name is a text"),
        ("[[many]]\nname = 'a'\ncount = 0\nreleases = []", "plan, many 1: count must be"),
        (
            "[databases]\n'a 1' = []\n[[many]]\nname = 'a'\ncount = 1\nreleases = []",
            "two databases called 'a 1'",
        ),
    ],
)
def test_a_plan_that_makes_no_sense_says_where(text: str, message: str) -> None:
    with pytest.raises(InvalidPlan, match=message):
        plan_from_toml(text)


def test_a_fact_in_a_plan_may_list_vectors_of_groups() -> None:
    plan = plan_from_toml("""
facts = [{ fact = "Vectors", vectors = [["free"], ["paid", "extra"], []] }]
[databases]
extra = "PureDP(epsilon=1)"
[[many]]
name = "free"
count = 2
releases = "PureDP(epsilon=0.25)"
[[many]]
name = "paid"
count = 2
releases = "PureDP(epsilon=0.5)"
""")
    assert plan.membership == All(
        Vectors([["free 1", "free 2"], ["paid 1", "paid 2", "extra"], []])
    )
    assert plan.composed().epsilon(delta=0.0) == 2.0
