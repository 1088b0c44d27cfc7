"""Plans: several questions submitted under one id, decided about as a whole, asked one by one."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    AccountClosed,
    ApprovalNeeded,
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupted,
)
from quaestor.ledger import Charge, Ledger, Proposal, StoredAnswer
from quaestor.ledger.journal.events import COLUMNS, Event
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.queues import SimpleQueue

    from quaestor.ledger import Account

TENTH = PureDP(epsilon=0.125)
QUERIES = ("a count", "a mean", "a sum")
PLAN = [Proposal(releases=TENTH, query=query) for query in QUERIES]
FORK = multiprocessing.get_context("fork")


def strict(ledger: Ledger, **more: Any) -> Account:
    """An account that demands approval for everything."""
    return ledger.open_account(definition(**{"approval": True, **more}))


def approved(account: Account, plan: list[Proposal] | None = None, **said: Any) -> str:
    """Ann's plan, approved by bob."""
    made = account.submit_plan(plan or PLAN, **{"analyst": "ann", "purpose": "annual", **said})
    account.approve(made, by="bob", reason="agreed")
    return made


def ask(account: Account, question: str, made: str, **changes: Any) -> Charge:
    """Charge for one question of a plan."""
    asked = {"releases": TENTH, "analyst": "ann", "query": question, **changes}
    return account.reserve(asked.pop("releases"), approval=made, **asked)


def events(location: str) -> list[Event]:
    with around(location) as run:
        return [
            Event(*row)
            for row in run(f"SELECT {', '.join(COLUMNS)} FROM ledger_events ORDER BY seq")  # noqa: S608
        ]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_plan_is_submitted_approved_and_asked_in_any_order(
    ledger: Ledger, order: tuple[int, ...]
) -> None:
    account = strict(ledger)
    made = account.submit_plan(PLAN, analyst="ann", purpose="annual")
    assert account.state().entries == 0
    for query in QUERIES:
        with pytest.raises(ApprovalNeeded, match="is submitted"):
            ask(account, query, made)
    account.approve(made, by="bob", reason="agreed")
    for used, place in enumerate(order, start=1):
        ask(account, QUERIES[place], made).release("42")
        (plan,) = account.approvals()
        assert (plan.id, plan.used, len(plan.questions)) == (made, used, 3)
        assert plan.status == ("used" if used == 3 else "approved")
        assert [each.status == "used" for each in plan.questions] == [
            number in order[:used] for number in range(3)
        ]
        with pytest.raises(ApprovalNeeded, match="is used"):
            ask(account, QUERIES[place], made)
    assert (plan.analyst, plan.decided_by, plan.purpose) == ("ann", "bob", "annual")
    assert {each.purpose for each in account.entries()} == {"annual"}
    account.verify()


def test_a_plan_says_what_it_is_in_json(ledger: Ledger) -> None:
    account = strict(ledger)
    made = approved(account)
    alone = account.submit(TENTH, analyst="ann", query="alone")
    ask(account, "a mean", made)
    plan, single = (each.to_dict() for each in account.approvals())
    assert [each["status"] for each in plan["questions"]] == ["approved", "used", "approved"]
    assert {each["plan"] for each in plan["questions"]} == {made}
    assert plan["releases"] == [str(TENTH)] * 3
    assert single["id"] == alone
    assert not {"questions", "plan", "blocks"} & set(single)  # as it ever was


@pytest.mark.parametrize(
    "changes",
    [
        {"releases": PureDP(epsilon=0.25)},
        {"releases": [TENTH, TENTH]},
        {"query": "another"},
        {"analyst": "cid"},
        {"purpose": "something else"},
        {"dataset": "staff"},
    ],
)
def test_nothing_is_asked_that_is_not_in_the_plan(ledger: Ledger, changes: dict[str, Any]) -> None:
    account = strict(ledger, datasets=("patients", "staff"))
    plan = [Proposal(releases=TENTH, query=query, dataset="patients") for query in QUERIES]
    made = approved(account, plan)
    with pytest.raises(ApprovalNeeded, match="a different request"):
        ask(account, "a mean", made, **{"dataset": "patients", **changes})
    assert account.state().entries == 0
    ask(account, "a mean", made, dataset="patients", purpose="annual")
    account.verify()


def test_parts_of_two_questions_are_no_question(ledger: Ledger) -> None:
    """The query of one with the releases, or the dataset, of another."""
    account = strict(ledger, datasets=("patients", "staff"))
    half = PureDP(epsilon=0.5)
    plan = [
        Proposal(releases=TENTH, query="a count", dataset="patients"),
        Proposal(releases=half, query="a mean", dataset="staff", purpose="other"),
    ]
    made = approved(account, plan)
    for mixed in (
        {"releases": half, "dataset": "patients"},
        {"releases": TENTH, "dataset": "staff"},
        {"releases": half, "dataset": "staff"},
        {"releases": TENTH, "dataset": "patients", "purpose": "other"},
    ):
        with pytest.raises(ApprovalNeeded):
            ask(account, "a count", made, **mixed)
    assert account.state().entries == 0


def test_a_plan_is_decided_about_as_a_whole_by_somebody_else(location: str, ledger: Ledger) -> None:
    account = strict(ledger)
    made = account.submit_plan(PLAN, analyst="ann")
    (plan,) = account.approvals()
    *others, last = plan.questions
    assert last.id == made  # its hash stands for all before it
    for each in others:
        for decide in (account.approve, account.decline):
            with pytest.raises(ApprovalNeeded, match=f"give {made}"):
                decide(each.id, by="bob")
    for own in ("ann", "ANN"):
        with pytest.raises(ApprovalNeeded, match="another person"):
            account.approve(made, by=own)
    account.decline(made, by="bob", reason="too much")
    for decide in (account.approve, account.decline):
        with pytest.raises(ApprovalNeeded, match="declined already"):
            decide(made, by="cid")
    for query in QUERIES:
        with pytest.raises(ApprovalNeeded, match="is declined"):
            ask(account, query, made)
    assert [e.kind for e in events(location)] == ["opened", *["submitted"] * 3, *["declined"] * 3]
    account.verify()


def test_a_question_is_known_by_its_own_id_too_and_is_still_asked_once(ledger: Ledger) -> None:
    account = strict(ledger)
    made = approved(account)
    (plan,) = account.approvals()
    first = plan.questions[0].id
    with pytest.raises(ApprovalNeeded, match="a different request"):
        ask(account, "a mean", first)
    ask(account, "a count", first)
    with pytest.raises(ApprovalNeeded, match="is used"):
        ask(account, "a count", made)
    account.verify()


def test_what_was_given_back_can_be_asked_again_and_nothing_else(ledger: Ledger) -> None:
    account = strict(ledger)
    made = approved(account)
    ask(account, "a mean", made)
    ask(account, "a count", made).void("the engine was down")
    ask(account, "a count", made).release("42")
    for query in ("a count", "a mean"):
        with pytest.raises(ApprovalNeeded, match="is used"):
            ask(account, query, made)
    ask(account, "a sum", made)
    account.verify()


def test_keys_claims_and_stored_answers_work_with_plans(ledger: Ledger) -> None:
    account = strict(ledger)
    made = approved(account)
    charge = ask(account, "a count", made, key="one")
    assert ask(account, "a count", made, key="one").entry == charge.entry
    taken = account.claim(TENTH, analyst="ann", query="a mean", approval=made)
    assert isinstance(taken, Charge)
    with taken:
        taken.release("42")
    again = account.claim(TENTH, analyst="ann", query="a mean", approval=made)
    assert again == StoredAnswer(2, "42")
    assert account.state().entries == 2
    account.verify()


def test_a_plan_is_no_budget_and_ends_with_the_account(ledger: Ledger) -> None:
    account = strict(ledger, epsilon=0.25)
    made, waiting = approved(account), account.submit_plan(PLAN, analyst="ann")
    for query in QUERIES[:2]:
        ask(account, query, made)
    with pytest.raises(BudgetExceeded):
        ask(account, "a sum", made)
    assert account.approvals()[0].used == 2
    account.close()
    for attempt in (
        lambda: account.submit_plan(PLAN, analyst="ann"),
        lambda: account.approve(waiting, by="bob"),
        lambda: ask(account, "a sum", made),
    ):
        with pytest.raises(AccountClosed):
            attempt()
    account.decline(waiting, by="bob")
    account.verify()


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [PLAN[0], PLAN[0]],
        [PLAN[0], Proposal(releases=TENTH, query="a count", purpose="for another reason")],
        [PLAN[0], Proposal(releases=TENTH)],
        [PLAN[0], "a mean"],
        "a mean",
        [Proposal(releases=TENTH, query=f"{n}") for n in range(501)],
    ],
)
def test_what_is_no_plan_is_refused_and_nothing_is_written(ledger: Ledger, wrong: Any) -> None:
    account = strict(ledger)
    with pytest.raises(InvalidParameter):
        account.submit_plan(wrong, analyst="ann")
    assert account.approvals() == ()
    with pytest.raises(InvalidParameter, match="requires approval"):
        ledger.open_account(definition("free", datasets=("staff",))).submit_plan(
            PLAN, analyst="ann"
        )


def test_analysts_see_their_own_plans(ledger: Ledger) -> None:
    account = strict(ledger, shares=(share("ann", 0.5), share("bob", 0.5)))
    made = account.submit_plan(PLAN, analyst="ann")
    account.submit_plan(PLAN, analyst="bob")
    assert [each.id for each in account.approvals(analyst="ann")] == [made]
    account.approve(made, by="bob")
    with pytest.raises(ApprovalNeeded, match="a different request"):
        ask(account, "a count", made, analyst="bob")
    account.verify()


# Races.


def asking(location: str, made: str, seed: int, outcomes: SimpleQueue[list[str]]) -> None:
    """Ask every question of a plan, in an order of one's own; what was charged."""
    charged, order = [], list(QUERIES)
    random.Random(seed).shuffle(order)
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        for query in order:
            try:
                ask(account, query, made)
            except ApprovalNeeded:
                continue
            charged.append(query)
    outcomes.put(charged)


def test_processes_that_use_one_plan_at_once_charge_each_question_once(location: str) -> None:
    with Ledger(location) as ledger:
        made = approved(strict(ledger))
    outcomes: SimpleQueue[list[str]] = FORK.SimpleQueue()
    children = [
        FORK.Process(target=asking, args=(location, made, seed, outcomes)) for seed in range(4)
    ]
    for child in children:
        child.start()
    found = Counter(query for _ in children for query in outcomes.get())
    for child in children:
        child.join(timeout=600)
        assert child.exitcode == 0
    assert found == Counter(QUERIES)
    with Ledger(location) as ledger:
        assert ledger.account("trial").state().entries == 3
        ledger.verify()


def at_once(works: Sequence[Callable[[], Any]]) -> list[str]:
    """Do all of this in threads, at once: what each came to."""
    start, done = threading.Barrier(len(works)), []

    def attempt(work: Callable[[], Any]) -> None:
        start.wait()
        try:
            work()
        except ApprovalNeeded as error:
            done.append(error.problem)
        else:
            done.append("done")

    threads = [threading.Thread(target=attempt, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def test_threads_of_one_process_charge_each_question_once(ledger: Ledger) -> None:
    """Their charges may go into one transaction."""
    account = strict(ledger)
    made = approved(account)
    done = at_once([partial(ask, account, query, made) for query in QUERIES * 4])
    assert done.count("done") == 3
    assert Counter(entry.query for entry in account.entries()) == Counter(QUERIES)
    account.verify()


def test_of_two_who_decide_at_once_one_decides(ledger: Ledger) -> None:
    account = strict(ledger)
    for _ in range(4):
        made = account.submit_plan(PLAN, analyst="ann")
        works = [
            partial(account.approve, made, by="bob"),
            partial(account.decline, made, by="cid"),
        ]
        assert at_once(works * 2).count("done") == 1
        plan = account.approvals()[-1]
        assert len({(each.status, each.decided_by) for each in plan.questions}) == 1
    account.verify()


def test_plans_and_charges_of_many_at_once_stay_whole(location: str) -> None:
    """Submissions of several people in one transaction do not get between each other's."""
    with Ledger(location) as ledger:
        account = strict(ledger, approval=0.5)
        names = [f"analyst {number}" for number in range(6)]
        at_once(
            [partial(account.submit_plan, PLAN, analyst=name) for name in names]
            + [partial(account.reserve, PureDP(epsilon=0.0625)) for _ in names]
        )
        found = account.approvals()
        assert {each.analyst for each in found} == set(names)
        assert {len(each.questions) for each in found} == {3}
        account.verify()


# By rules that know nothing of plans, and by a model.


def test_by_the_rules_for_single_questions_a_plan_is_so_many_of_them(location: str) -> None:
    """Readers that know no plans: every charge has a submission and an approval of its own."""
    with Ledger(location) as ledger:
        account = strict(ledger)
        made = approved(account)
        ask(account, "a sum", made).void("a test")
        for query in reversed(QUERIES):
            ask(account, query, made)
    submitted: dict[str, tuple[str, ...]] = {}
    ready: dict[str, tuple[str, ...]] = {}
    used: dict[int, str] = {}
    for event in events(location):
        asked = (event.analyst, event.dataset, event.query, event.purpose, event.releases)
        match event.kind:
            case "submitted":
                submitted[event.hash[:16]] = asked
            case "approved":
                assert submitted[event.detail][0] != event.analyst
                ready[event.detail] = submitted[event.detail]
            case "reserved":
                assert ready.pop(event.detail) == asked
                used[event.entry] = event.detail
            case "void":
                ready[used[event.entry]] = submitted[used[event.entry]]
    assert not ready


def test_random_decisions_and_charges_are_those_of_a_model(ledger: Ledger) -> None:
    account, draw = strict(ledger, epsilon=50.0), random.Random(11)  # a test's
    plans: dict[str, dict[str, str]] = {}
    for number in range(60):
        step = draw.random()
        if step < 0.2 or not plans:
            names = [f"q{number}-{k}" for k in range(draw.randint(1, 4))]
            listed = [Proposal(releases=TENTH, query=name) for name in names]
            made = account.submit_plan(listed, analyst="ann")
            plans[made] = dict.fromkeys(names, "submitted")
            continue
        made = draw.choice(list(plans))
        questions = plans[made]
        if step < 0.5:
            decide, status = draw.choice(
                [(account.approve, "approved"), (account.decline, "declined")]
            )
            if set(questions.values()) == {"submitted"}:
                decide(made, by="bob")
                plans[made] = dict.fromkeys(questions, status)
            else:
                with pytest.raises(ApprovalNeeded):
                    decide(made, by="bob")
            continue
        query = draw.choice([*questions, "stranger"])
        if questions.get(query) == "approved":
            charge = ask(account, query, made)
            if draw.random() < 0.3:
                charge.void("a test")
            else:
                questions[query] = "used"
        else:
            with pytest.raises(ApprovalNeeded):
                ask(account, query, made)
    for found in account.approvals():
        listed_now = {each.query: each.status for each in found.questions or (found,)}
        assert listed_now == plans[found.id]
    account.verify()


# Tampering. Events: 1 opened, 2-4 submitted, 5-7 approved, 8 reserved.


def rewritten(location: str, change: Callable[[list[Event]], list[Event]]) -> None:
    """Another chain in the store, well sealed."""
    changed, previous = [], "0" * 64
    for seq, event in enumerate(change(events(location)), start=1):
        sealed = event._replace(seq=seq, previous=previous).sealed()
        changed.append(sealed)
        previous = sealed.hash
    with around(location) as run:
        run("DELETE FROM ledger_events")
        marks = ", ".join("?" for _ in COLUMNS)
        for event in changed:
            run(f"INSERT INTO ledger_events ({', '.join(COLUMNS)}) VALUES ({marks})", *event)  # noqa: S608
        run(
            "UPDATE ledger_heads SET head = ?, events = ?, entries = ?, time = ?",
            previous,
            len(changed),
            max(event.entry for event in changed),
            changed[-1].time,
        )


def swapped(listed: list[Event], *order: int) -> list[Event]:
    return [listed[place - 1] for place in order]


def with_(listed: list[Event], seq: int, **changes: Any) -> list[Event]:
    return [event._replace(**changes) if event.seq == seq else event for event in listed]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda listed: swapped(listed, 1, 2, 3, 4, 5, 7, 6, 8), r"event [67]"),
        (lambda listed: swapped(listed, 1, 2, 3, 4, 5, 6, 8), "event 7"),  # not all of it
        (lambda listed: swapped(listed, 1, 2, 3, 4, 6, 7, 8), "event 5"),  # not its first
        (lambda listed: swapped(listed, 1, 2, 3, 4, 7, 8), "event 5"),  # its last alone
        (lambda listed: swapped(listed, 1, 2, 3, 4, 5, 6), "middle of a plan"),
        (lambda listed: swapped(listed, 1, 2, 3), "middle of a plan"),
        (lambda listed: swapped(listed, 1, 2, 4, 5, 6, 7, 8), "event 3"),
        (lambda listed: swapped(listed, 1, 3, 4, 5, 6, 7, 8), "event 2"),
        (lambda listed: with_(listed, 6, kind="declined"), "event 6"),
        (lambda listed: with_(listed, 6, analyst="cid"), "event 6"),
        (lambda listed: with_(listed, 6, analyst="ann"), "event 6"),
        (lambda listed: with_(listed, 3, analyst="cid"), "event 3"),
        (lambda listed: with_(listed, 3, detail=""), "event 3"),
        (lambda listed: with_(listed, 3, detail="3/3"), "event 3"),
        (lambda listed: with_(listed, 4, detail="3/4"), "event 4"),
        (lambda listed: with_(listed, 2, detail="01/3"), "event 2"),
        (lambda listed: with_(listed, 2, detail="nothing"), "event 2"),
        (lambda listed: with_(listed, 8, query="a mean"), "event 8"),
        (lambda listed: with_(listed, 8, releases="[]"), "event 8"),
    ],
)
def test_a_plan_that_is_not_whole_does_not_verify(
    location: str, change: Callable[[list[Event]], list[Event]], place: str
) -> None:
    with Ledger(location) as ledger:
        account = strict(ledger)
        ask(account, "a count", approved(account))
        account.verify()

    def named(listed: list[Event]) -> list[Event]:
        """Decisions and charges by the ids that the questions have in the changed chain."""
        ids: dict[str, str] = {}
        found, previous = [], "0" * 64
        for seq, event in enumerate(change(listed), start=1):
            detail = ids.get(event.detail, event.detail)
            sealed = event._replace(seq=seq, previous=previous, detail=detail).sealed()
            previous = sealed.hash
            if event.kind == "submitted":
                ids[event.hash[:16]] = sealed.hash[:16]
            found.append(sealed)
        return found

    rewritten(location, named)
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match=place):
        ledger.verify()


def test_the_way_to_rewrite_a_chain_is_not_what_fails(location: str) -> None:
    with Ledger(location) as ledger:
        account = strict(ledger)
        ask(account, "a count", approved(account))
    rewritten(location, lambda listed: listed)
    with Ledger(location) as ledger:
        ledger.verify()
