"""People, tokens, links, passwords and the trail, on both stores, as an attacker would try them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from quaestor.errors import (
    ChargeSettled,
    InvalidParameter,
    KeyReused,
    LedgerCorrupted,
    SignInFailed,
    TooManyJobs,
    TooManySignIns,
    UnknownJob,
    UnknownPerson,
)
from quaestor.ledger import Ledger, backup_ledger, restore_ledger
from quaestor.ledger.store.address import open_store
from quaestor.ledger.store.upgrade import downgrade
from tests.ledger.places import around, definition

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "correct horse battery staple"  # noqa: S105


def test_a_token_is_known_by_its_digest_alone(ledger: Ledger, location: str) -> None:
    ledger.people.add("ann", roles=["analyst", "auditor"], groups=["north"], by="olga")
    made, secret = ledger.people.create_token("ANN", scopes=["analyst"], by="olga")
    found = ledger.people.identify(secret, kind="token")
    assert found is not None
    assert (found.person.name, found.roles, found.person.groups) == (
        "ann",
        ("analyst",),
        ("north",),
    )
    assert ledger.people.identify(secret, kind="session") is None
    assert ledger.people.identify(secret[:-1], kind="token") is None
    with around(location) as run:
        kept = str(run("SELECT * FROM ledger_credentials") + run("SELECT * FROM ledger_trail"))
    assert secret not in kept
    assert made.id in kept


def test_a_token_ends_when_it_is_revoked_expires_or_its_person_is_shut_out(
    ledger: Ledger, location: str
) -> None:
    people = ledger.people
    people.add("olga", roles=["owner"], by="test")
    people.add("ann", roles=["analyst"], by="olga")
    secrets = [people.create_token("ann", by="olga") for _ in range(3)]
    people.revoke(secrets[0][0].id, kind="token", by="olga")
    with around(location) as run:
        run("UPDATE ledger_credentials SET expires = ? WHERE id = ?", "2020", secrets[1][0].id)
    assert [people.identify(s, kind="token") is not None for _, s in secrets] == [
        False,
        False,
        True,
    ]
    people.change("ann", active=False, by="olga")
    assert people.identify(secrets[2][1], kind="token") is None
    people.change("ann", active=True, by="olga")
    assert people.identify(secrets[2][1], kind="token") is None  # it stays ended


def test_roles_that_are_taken_away_are_taken_from_tokens_at_once(ledger: Ledger) -> None:
    ledger.people.add("ann", roles=["analyst", "auditor"], by="olga")
    _, secret = ledger.people.create_token("ann", by="olga")
    ledger.people.change("ann", roles=["auditor"], by="olga")
    found = ledger.people.identify(secret, kind="token")
    assert found is not None
    assert found.roles == ("auditor",)
    with pytest.raises(InvalidParameter, match="a role that ann has"):
        ledger.people.create_token("ann", scopes=["owner"], by="ann")


def test_a_link_signs_in_once_however_many_try_at_the_same_time(ledger: Ledger) -> None:
    ledger.people.add("ann", roles=["analyst"], by="olga")
    link = ledger.people.create_link("ann", by="olga")

    def attempt(number: int) -> bool:
        try:
            ledger.people.sign_in_by_link(link, place=f"10.0.0.{number}")
        except SignInFailed:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1


def test_a_link_that_is_too_old_signs_nobody_in(ledger: Ledger) -> None:
    ledger.people.add("ann", roles=["analyst"], by="olga")
    link = ledger.people.create_link("ann", seconds=-1, by="olga")
    with pytest.raises(SignInFailed):
        ledger.people.sign_in_by_link(link, place="here")


def test_passwords_are_hashed_and_failures_are_throttled(ledger: Ledger, location: str) -> None:
    people = ledger.people
    people.add("ann", roles=["analyst"], by="olga")
    with pytest.raises(SignInFailed):
        people.sign_in_by_password("ann", "", place="here")
    people.set_password("ann", PASSWORD, by="olga")
    people.sign_in_by_password("Ann", PASSWORD, place="here")
    with around(location) as run:
        assert PASSWORD not in str(run("SELECT * FROM ledger_people"))
    for _ in range(4):
        with pytest.raises(SignInFailed):
            people.sign_in_by_password("ann", "a wrong password", place="here")
    with pytest.raises(TooManySignIns):
        people.sign_in_by_password("ann", PASSWORD, place="here")
    people.sign_in_by_password("ann", PASSWORD, place="elsewhere")


def test_nobody_is_who_does_not_exist_and_a_name_is_one_persons(ledger: Ledger) -> None:
    with pytest.raises(UnknownPerson):
        ledger.people.get("eve")
    with pytest.raises(SignInFailed):
        ledger.people.sign_in_by_password("eve\0", "x" * 20, place="here")
    ledger.people.add("ann", roles=["analyst"], by="olga")
    with pytest.raises(InvalidParameter, match="this one is taken"):
        ledger.people.add("ANN", roles=["approver"], by="olga")


def test_an_owner_is_always_left(ledger: Ledger) -> None:
    ledger.people.add("olga", roles=["owner"], by="test")
    with pytest.raises(InvalidParameter, match="at least one owner remains"):
        ledger.people.change("olga", roles=["auditor"], by="olga")
    with pytest.raises(InvalidParameter, match="at least one owner remains"):
        ledger.people.change("olga", active=False, by="olga")


def test_the_trail_says_who_did_what_and_shows_changes(ledger: Ledger, location: str) -> None:
    people = ledger.people
    people.add("ann", roles=["analyst"], by="olga")
    people.change("ann", roles=["auditor"], by="olga")
    people.create_token("ann", by="ann")
    assert [(e.kind, e.actor, e.subject) for e in people.trail()] == [
        ("person_added", "olga", "ann"),
        ("person_changed", "olga", "ann"),
        ("token_created", "ann", "ann"),
    ]
    assert people.verify() == 3
    with around(location) as run:
        run("UPDATE ledger_trail SET actor = ? WHERE seq = 2", "eve")
    with pytest.raises(LedgerCorrupted, match="event 2 of the audit trail"):
        ledger.verify()


def test_credentials_of_a_backup_are_of_no_use(ledger: Ledger, tmp_path: Path) -> None:
    ledger.open_account(definition())
    ledger.people.add("ann", roles=["analyst"], by="olga")
    _, secret = ledger.people.create_token("ann", by="olga")
    key = ledger.people.signing_key()
    job, _ = ledger.questions.submit("ann", {"sql": "SELECT 1"})
    backup_ledger(ledger, tmp_path / "backup.db")
    restore_ledger(tmp_path / "backup.db", tmp_path / "restored.db", reason="a test")
    with Ledger(tmp_path / "restored.db") as restored:
        assert restored.people.identify(secret, kind="token") is None
        assert restored.people.signing_key() != key
        assert restored.questions.get(job.id).state == "cancelled"
        assert restored.people.verify() == 2


def test_a_ledger_of_the_revision_before_opens_and_keeps_its_heads(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(definition())
        heads = ledger.heads()
    store = open_store(location, create=False)
    with store.migrating() as connection:
        downgrade(connection, revision="0005")
    store.close()
    with Ledger(location) as ledger:
        assert ledger.people.all() == ()
        ledger.people.add("ann", roles=["analyst"], by="olga")
        ledger.verify(heads=heads)


# Questions of a service.


def test_a_question_is_kept_once_for_each_key(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = {"sql": "SELECT 1"}
        made = list(pool.map(lambda _: ledger.questions.submit("ann", asked, key="k"), range(8)))
    assert sum(new for _, new in made) == 1
    assert len({job.id for job, _ in made}) == 1
    with pytest.raises(KeyReused):
        ledger.questions.submit("ann", {"sql": "SELECT 2"}, key="k")
    assert ledger.questions.submit("bob", {"sql": "SELECT 2"}, key="k")[1]


def test_unfinished_questions_are_counted_by_analyst(ledger: Ledger) -> None:
    jobs = [ledger.questions.submit("ann", {"sql": str(n)}, most=2)[0] for n in range(2)]
    with pytest.raises(TooManyJobs):
        ledger.questions.submit("ann", {"sql": "x"}, most=2)
    ledger.questions.submit("bob", {"sql": "x"}, most=2)
    assert ledger.questions.cancel(jobs[0].id)
    assert not ledger.questions.cancel(jobs[0].id)
    ledger.questions.submit("ann", {"sql": "x"}, most=2)
    with pytest.raises(UnknownJob):
        ledger.questions.get(jobs[1].id, analyst="bob")


def test_a_batch_is_kept_once_for_each_key_and_whole(ledger: Ledger) -> None:
    questions, asked = ledger.questions, [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]
    batches = [asked, asked[:1], [*asked, {"sql": "SELECT 3"}]]

    def send(number: int) -> tuple[str, list[str], bool] | None:
        try:
            id_, jobs, new = questions.submit_batch("ann", batches[number % 3], key="k")
        except KeyReused:
            return None
        return id_, [job.id for job in jobs], new

    with ThreadPoolExecutor(6) as pool:
        made = [each for each in pool.map(send, range(12)) if each is not None]
    assert sum(new for *_, new in made) == 1
    assert len({(id_, *jobs) for id_, jobs, _ in made}) == 1
    id_, jobs, _ = made[0]
    assert [job.id for job in questions.batch(id_, analyst="ann")] == jobs
    assert len(questions.of("ann")) == len(jobs)
    for other, analyst in ((id_, "bob"), ("", "ann"), ("%" * 24, "ann"), ("x" * 24, "ann")):
        with pytest.raises(UnknownJob):
            questions.batch(other, analyst=analyst)


def test_a_batch_counts_as_one_and_no_other_key_passes_for_one_of_it(ledger: Ledger) -> None:
    questions = ledger.questions
    questions.submit_batch("ann", [{"sql": str(n)} for n in range(5)], most=2)
    questions.submit("ann", {"sql": "x"}, most=2)
    with pytest.raises(TooManyJobs):
        questions.submit_batch("ann", [{"sql": "y"}], most=2)
    with pytest.raises(TooManyJobs):
        questions.submit("ann", {"sql": "y"}, most=2)
    with pytest.raises(InvalidParameter):
        questions.submit("bob", {"sql": "y"}, key="batch:" + 24 * "a")
    with pytest.raises(InvalidParameter):
        questions.submit_batch("bob", [])
    assert questions.of("bob") == ()


def test_a_question_is_charged_once_and_not_after_it_was_cancelled(ledger: Ledger) -> None:
    from quaestor import PureDP

    account = ledger.open_account(definition())
    job, _ = ledger.questions.submit("ann", {"sql": "x"})
    charge = account.claim(PureDP(epsilon=0.1), query="f00", analyst="ann", question=job.id)
    assert ledger.questions.get(job.id).entry == 1
    with pytest.raises(ChargeSettled, match="not charged twice"):
        account.claim(PureDP(epsilon=0.1), query="f01", analyst="ann", question=job.id)
    with pytest.raises(ChargeSettled, match="not charged twice"):
        account.reserve(PureDP(epsilon=0.1), key="other", analyst="ann", question=job.id)
    del charge
    other, _ = ledger.questions.submit("ann", {"sql": "y"})
    ledger.questions.cancel(other.id)
    with pytest.raises(ChargeSettled, match="is over"):
        account.claim(PureDP(epsilon=0.1), query="f02", analyst="ann", question=other.id)
    assert [entry.number for entry in account.entries()] == [1]
    ledger.questions.fail(job.id, {"code": "engine_failed"})
    assert ledger.questions.get(job.id).state == "failed"


def test_what_was_left_behind_is_taken_by_one(ledger: Ledger, location: str) -> None:
    job, _ = ledger.questions.submit("ann", {"sql": "x"})
    assert ledger.questions.take_left() == ()
    ledger.questions.give_up([job.id])
    with ThreadPoolExecutor(4) as pool:
        taken = [
            each
            for found in pool.map(lambda _: ledger.questions.take_left(), range(4))
            for each in found
        ]
    assert [each.id for each in taken] == [job.id]
    del location
