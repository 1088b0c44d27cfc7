"""Accounts that the catalog plans: opened once, as planned, and found when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import Geometric, Laplace
from quaestor.curator import Curator
from quaestor.curator.accounts import definition_of, open_from_catalog
from quaestor.curator.catalog.catalog_file import catalog_from_toml, read_catalog
from quaestor.errors import (
    AccountExists,
    ApprovalNeeded,
    InvalidParameter,
    NotPlanned,
    UnknownAccount,
)
from quaestor.ledger import Dashboard, Open, Planned
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
OPEN = (
    '[accounts.research]\nepsilon = 1.0\ndelta = 1e-6\nexpected = ["Geometric(scale=100) * 50"]\n'
)
WITH_QUOTAS = OPEN + (
    '[accounts.research.shares]\nann = { epsilon = 0.25 }\n"*" = { epsilon = 0.2 }\n'
)
DASHBOARD = f"""
[accounts.wall]
epsilon = 1.0
delta = 1e-7
policy = "dashboard"
queries = [{{ sql = "{COUNT}", epsilon = 0.1 }}, {{ sql = "{BY_WARD}", rho = 0.005 }}]
"""
PLANNED = """
[accounts.yearbook]
epsilon = 2.0
delta = 1e-6
policy = "planned"
plan = ["Laplace(scale=50) * 12", "Geometric(scale=20)"]
"""


def test_an_account_that_is_not_open_yet_is_refused_with_the_command_that_opens_it(
    tmp_path: Path,
) -> None:
    path = write_hospital(tmp_path)
    with Curator.from_file(path) as curator:
        for account in (None, "research"):
            with pytest.raises(UnknownAccount, match="quaestor account open research"):
                curator.ask(COUNT, epsilon=0.1, account=account)
        opened = open_from_catalog(read_catalog(path), "research")
        assert (opened.epsilon, opened.datasets) == (1000.0, ("visits",))
        assert curator.ask(COUNT, epsilon=0.1).receipt == 1
        with pytest.raises(AccountExists):
            curator.open_account("research")
        with pytest.raises(UnknownAccount):
            curator.ask(COUNT, epsilon=0.1, account="reserach")
        with pytest.raises(InvalidParameter, match="research"):
            curator.open_account("reserach")


def test_without_any_account_the_error_says_how_to_plan_one(tmp_path: Path) -> None:
    with (
        Curator.from_file(write_hospital(tmp_path, "")) as curator,
        pytest.raises(InvalidParameter, match=r"\[accounts.NAME\].*quaestor account open"),
    ):
        curator.preview(COUNT, epsilon=0.1)


def test_of_several_accounts_one_must_be_named(tmp_path: Path) -> None:
    both = OPEN + DASHBOARD + "beside = true\n"
    with Curator.from_file(write_hospital(tmp_path, both)) as curator:
        curator.open_account("research")
        curator.open_account("wall")
        with pytest.raises(InvalidParameter, match="research, wall"):
            curator.ask(COUNT, epsilon=0.1)
        assert curator.ask(COUNT, epsilon=0.1, account="wall").account == "wall"
        assert curator.ask(COUNT, epsilon=0.1, account="research").account == "research"


def test_policies_become_what_the_catalog_says(tmp_path: Path) -> None:
    catalog = read_catalog(write_hospital(tmp_path, OPEN))
    policy = definition_of(catalog, "research").policy
    assert isinstance(policy, Open)
    assert policy.expected == (Geometric(scale=100.0) * 50,)
    catalog = read_catalog(write_hospital(tmp_path, PLANNED))
    policy = definition_of(catalog, "yearbook").policy
    assert isinstance(policy, Planned)
    assert policy.releases == {"visits": (Laplace(scale=50.0) * 12, Geometric(scale=20.0))}
    catalog = read_catalog(write_hospital(tmp_path, DASHBOARD))
    policy = definition_of(catalog, "wall").policy
    assert isinstance(policy, Dashboard)
    assert {dataset for dataset, _ in policy.queries.values()} == {"visits"}
    assert len(policy.queries) == 2


def test_a_dashboard_answers_what_it_declares_at_its_price_and_nothing_else(
    tmp_path: Path,
) -> None:
    with Curator.from_file(write_hospital(tmp_path, DASHBOARD)) as curator:
        account = curator.open_account("wall")
        first = curator.ask(COUNT, epsilon=0.1)
        assert curator.ask(COUNT, epsilon=0.1) == first
        assert curator.ask(BY_WARD, rho=0.005).receipt == 2
        for sql, epsilon in ((COUNT, 0.2), (BY_WARD, 0.1)):
            with pytest.raises(NotPlanned):
                curator.ask(sql, epsilon=epsilon)
        standing = account.standing_on("visits")
        assert standing.left == 0.0


def test_with_quotas_each_analyst_pays_for_an_answer(tmp_path: Path) -> None:
    with Curator.from_file(write_hospital(tmp_path, WITH_QUOTAS)) as curator:
        account = curator.open_account("research")
        ann = curator.ask(COUNT, epsilon=0.1, analyst="ann")
        bob = curator.ask(COUNT, epsilon=0.1, analyst="bob")
        assert (ann.receipt, bob.receipt) == (1, 1)  # each counts the own charges
        assert curator.ask(COUNT, epsilon=0.1, analyst="ann").to_json() == ann.to_json()
        quota = account.standing_on("visits", analyst="ann")
        assert quota.holder == "ann's quota"
        assert quota.left == pytest.approx(0.6, abs=0.001)
        whole = account.standing_on("visits")  # the owner looks
        assert whole.holder == "account research"
        assert whole.left == pytest.approx(0.8, abs=0.001)
        with pytest.raises(InvalidParameter, match="analyst"):
            curator.ask(COUNT, epsilon=0.1)


TWO = """
[tables.a]
file = "a.parquet"
unit = "u"
rows = 1
groups = 1
columns = { u = "integer" }
[tables.b]
file = "b.parquet"
unit = "u"
rows = 1
groups = 1
columns = { u = "integer" }
[membership]
facts = [{ fact = "AtMost", m = 1 }]
[accounts.one]
epsilon = 1.0
delta = 1e-6
datasets = DATASETS
"""


def test_facts_about_memberships_are_believed_only_of_all_datasets_together() -> None:
    """Facts of two datasets say nothing sure of one of them alone."""
    both = catalog_from_toml(TWO.replace("DATASETS", '["a", "b"]'))
    assert definition_of(both, "one").membership == both.membership is not None
    assert "AtMost" in str(both.membership)
    alone = catalog_from_toml(TWO.replace("DATASETS", '["a"]'))
    assert definition_of(alone, "one").membership is None


def test_a_closing_date_in_the_catalog_is_that_of_the_account(tmp_path: Path) -> None:
    dated = OPEN.replace("delta", "closes = 2031-01-31\ndelta", 1)
    catalog = read_catalog(write_hospital(tmp_path, dated))
    assert definition_of(catalog, "research").closes == "2031-01-31T00:00:00.000000Z"


def test_the_successor_pays_where_no_account_is_named(tmp_path: Path) -> None:
    line = OPEN + OPEN.replace("accounts.research", "accounts.later") + 'succeeds = "research"\n'
    with Curator.from_file(write_hospital(tmp_path, line)) as curator:
        curator.open_account("research").close()
        curator.open_account("later")
        assert curator.ask(COUNT, epsilon=0.1).account == "later"


def test_groups_in_the_catalog_are_those_of_the_account(tmp_path: Path) -> None:
    team = '[accounts.research.groups]\nteam = { members = ["ann", "bob"], epsilon = 0.3 }\n'
    catalog = read_catalog(write_hospital(tmp_path, WITH_QUOTAS + team))
    (group,) = definition_of(catalog, "research").groups
    assert (group.group, group.members) == ("team", ("ann", "bob"))
    assert (group.epsilon, group.delta) == (0.3, 0.0)
    with Curator.from_file(write_hospital(tmp_path, WITH_QUOTAS + team)) as curator:
        curator.open_account("research")
        curator.ask(COUNT, epsilon=0.2, analyst="ann")
        seen = curator.preview("SELECT AVG(age) FROM visits", epsilon=0.2, analyst="bob")
        assert not seen.fits
        assert "epsilon of group team's quota" in {meter.name for meter in seen.meters}


def test_a_question_that_was_approved_is_asked_with_its_own_purpose(tmp_path: Path) -> None:
    strict = OPEN.replace("delta", "approval = true\ndelta", 1)
    with Curator.from_file(write_hospital(tmp_path, strict)) as curator:
        account = curator.open_account("research")
        assert account.definition.approval is True
        with pytest.raises(ApprovalNeeded):
            curator.ask(COUNT, epsilon=0.1, analyst="ann")
        name, made = curator.submit(COUNT, epsilon=0.1, analyst="ann", purpose="annual")
        assert name == "research"
        account.approve(made, by="bob")
        with pytest.raises(ApprovalNeeded, match="a different request"):
            curator.ask("SELECT AVG(age) FROM visits", epsilon=0.1, analyst="ann", approval=made)
        answer = curator.ask(COUNT, epsilon=0.1, analyst="ann", approval=made)
        assert not answer.repeated
        assert curator.ask(COUNT, epsilon=0.1, analyst="ann").repeated
        assert [entry.purpose for entry in account.entries()] == ["annual"]
        account.verify()
