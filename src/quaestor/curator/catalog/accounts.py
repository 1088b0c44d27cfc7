"""Who pays: accounts (how much may be lost, of which datasets, by which policy), and membership.

Membership is what is known of the datasets that one person can be in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.accounting.expressions import parse_releases
from quaestor.accounting.membership.facts import All, Fact, fact_from_dict
from quaestor.accounting.membership.rules import resolve
from quaestor.accounting.membership.time_blocks import span_of
from quaestor.accounting.releases.base import LARGEST_EPSILON
from quaestor.curator.catalog.model import AccountPlan, BlockPlan, DashboardQuery
from quaestor.curator.catalog.sections import nearest, shown
from quaestor.errors import ContradictoryFacts, InvalidParameter
from quaestor.ledger.group_quotas import GroupQuota
from quaestor.ledger.stored_text import utc

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Table
    from quaestor.curator.catalog.sections import Section

__all__ = ["NEIGHBOURS", "POLICIES", "read_accounts", "read_membership"]

POLICIES = ("open", "planned", "dashboard", "blocks")
_KEYS = ("epsilon", "delta", "datasets", "policy", "expected", "plan", "queries", "quotas")
_OF_BLOCKS = ("first", "most", "enforced", "predecessor")
_OF_POLICY = {
    "expected": ("open", "blocks"),
    "plan": ("planned",),
    "queries": ("dashboard",),
    **dict.fromkeys(_OF_BLOCKS, ("blocks",)),
}
_FIRST = 'write  first = "2024-01",  the first month (or "2024-Q1", "2024") whose rows may be read'
_MOST = "write  most = 3  if a person is in 3 blocks at most"
_PREDECESSOR = 'write  predecessor = "research",  the name of a closed account'
_ENFORCED = "write  enforced = true  if only a person's earliest blocks are to count"
_ONE_DATED = (
    "remove  blocks  from all but one table, and let questions join the others "
    "to it; or remove  enforced,  so that  most  is assumed without a check"
)
_LONGEST_SQL = 20_000
_MOST_BLOCKS = 1200
_HEADER = "write  [accounts.research]  and the keys of the account below it"
_EPSILON = "write  epsilon = 1.0"
_DELTA = "write  delta = 1e-6,  well below one over the number of people"
_CLOSES = "write  closes = 2027-01-31  or, in UTC,  closes = 2027-01-31T12:00:00Z"
_RELEASE = 'releases are written as  "Laplace(scale=50) * 12"'
NEIGHBOURS = ("add_remove", "replace", "replace_record")
_FACT = 'write  facts = [{ fact = "AtMost", m = 1, of = ["north", "south"] }]'
_MEMBERSHIP = f"write  [membership]  and below it {_FACT.removeprefix('write')}"
_QUERY = 'write  queries = [{ sql = "SELECT COUNT(*) FROM visits", epsilon = 0.1 }]'


def read_accounts(document: Section, tables: tuple[Table, ...]) -> tuple[AccountPlan, ...]:
    """Every account under ``[accounts]``."""
    datasets = tuple(dict.fromkeys(t.dataset for t in tables if t.dataset is not None))
    accounts = document.section("accounts", title="", remedy=_HEADER)
    read: list[AccountPlan] = []
    for name, section in accounts.sections(kind="account", remedy=_HEADER):
        if not name.strip() or not name.isprintable() or len(name) > 100:
            problem = f"{shown(name)} cannot be the name of an account"
            raise accounts.wrong(name, problem, "use up to 100 printable characters")
        account = _account(section, name, datasets)
        if account.policy == "blocks":
            account = replace(account, blocks=_block_plan(section, account.datasets, tables))
        if not account.beside:
            _refuse_second(section, account, read)
        read.append(account)
    return tuple(read)


def _account(section: Section, name: str, known: tuple[str, ...]) -> AccountPlan:
    section.only(
        *_KEYS, *_OF_BLOCKS, "beside", "closes", "succeeds", "groups", "approval", "shares"
    )
    policy = section.choice("policy", POLICIES, remedy=f"policies are {', '.join(POLICIES)}")
    policy = policy or "open"
    for key, others in _OF_POLICY.items():
        if policy not in others and key in section.values:
            problem = (
                f"{key} belongs to the policy {' or '.join(others)}, but this account has "
                f"policy {policy}"
            )
            raise section.wrong(key, problem, f'write  policy = "{others[0]}"  or remove {key}')
    epsilon, delta = _epsilon(section), _delta(section)
    datasets = _datasets(section, known)
    shares = _quotas(section, epsilon=epsilon, delta=delta)
    return AccountPlan(
        name=name,
        epsilon=epsilon,
        delta=delta,
        datasets=datasets,
        policy=policy,
        expected=_releases(section, "expected"),
        shares=shares,
        groups=_groups(section, tuple(analyst for analyst, *_ in shares)),
        plan=_plan(section, datasets) if policy == "planned" else (),
        queries=_queries(section) if policy == "dashboard" else (),
        beside=section.truth("beside", remedy="write  beside = true  if losses may add up"),
        closes=_closes(section),
        approval=_approval(section),
        succeeds=section.text("succeeds", remedy='write  succeeds = "the account before"'),
    )


def _block_plan(
    section: Section, datasets: tuple[str, ...], tables: tuple[Table, ...]
) -> BlockPlan:
    """How time is divided: as the tables are, of which there is one if blocks are to be kept."""
    dated = [t for t in tables if t.dataset in datasets and t.blocks is not None]
    if len(datasets) > 1 or not dated or dated[0].blocks is None:
        problem = "it needs exactly one dataset, with a table whose rows are divided by time"
        remedy = 'write  blocks = { date = "visited", every = "month" }  under  [tables.NAME]'
        raise section.wrong("policy", problem, remedy)
    every = dated[0].blocks.every
    enforced = section.truth("enforced", remedy=_ENFORCED)
    most = section.whole("most", largest=_MOST_BLOCKS, remedy=_MOST)
    if enforced and most is None:
        raise section.wrong("enforced", "the number of blocks that count is missing", _MOST)
    if enforced and len(dated) > 1:
        listed = ", ".join(table.name for table in dated)
        problem = f"enforced blocks need exactly one table with dates, and there are {listed}"
        raise section.wrong("enforced", problem, _ONE_DATED)
    first = section.text("first", remedy=_FIRST)
    if first is None:
        raise section.wrong(None, "first is missing", _FIRST)
    try:
        span_of(first, every)
    except InvalidParameter as problem:
        raise section.wrong("first", str(problem), _FIRST) from None
    before = section.text("predecessor", remedy=_PREDECESSOR)
    return BlockPlan(
        every=every, first=first, most=most, enforced=enforced, predecessor=before or ""
    )


def _approval(section: Section) -> bool | float | None:
    given = section.values.get("approval")
    if given is None or isinstance(given, bool):
        return given or None
    return _epsilon(section, "approval")


def _closes(section: Section) -> str | None:
    given = section.values.get("closes")
    if given is None:
        return None
    try:
        return utc("closes", given)
    except InvalidParameter:
        problem = f"closes must be a date, or a time with its zone, not {shown(given)}"
        raise section.wrong("closes", problem, _CLOSES) from None


def _epsilon(section: Section, key: str = "epsilon") -> float:
    valid = f"a number above 0, at most {LARGEST_EPSILON:.0f}"
    remedy = _EPSILON.replace("epsilon", key)
    value = section.number(key, valid=valid, remedy=remedy)
    if value is None:
        raise section.wrong(None, f"{key} is missing", remedy)
    if not 0.0 < value <= LARGEST_EPSILON:
        raise section.wrong(key, f"{key} must be {valid}, not {value!r}", remedy)
    return value


def _delta(section: Section, *, default: float | None = None) -> float:
    valid = "a number from 0, below 1"
    value = section.number("delta", valid=valid, remedy=_DELTA)
    if value is None and default is None:
        raise section.wrong(None, "delta is missing", _DELTA)
    delta = default if value is None else value
    if delta is None or not 0.0 <= delta < 1.0:
        raise section.wrong("delta", f"delta must be {valid}, not {delta!r}", _DELTA)
    return delta


def _datasets(section: Section, known: tuple[str, ...]) -> tuple[str, ...]:
    example = f'write  datasets = ["{known[0] if known else "visits"}"]'
    if "datasets" not in section.values:
        if len(known) == 1:
            return known
        raise section.wrong(None, "datasets is missing", example)
    datasets = section.texts("datasets", remedy=example)
    if not datasets or len(set(datasets)) < len(datasets):
        raise section.wrong("datasets", "datasets must be one or more, each once", example)
    for dataset in datasets:
        _check_dataset(section, "datasets", dataset, known)
    return datasets


def _check_dataset(section: Section, key: str, dataset: str, known: tuple[str, ...]) -> None:
    if dataset not in known:
        near = nearest(dataset, known)
        remedy = f"did you mean {near!r}?" if near else "declare a table of it, or correct the name"
        raise section.wrong(
            key, f"no private table belongs to the dataset {shown(dataset)}", remedy
        )


def _releases(section: Section, key: str) -> tuple[str, ...]:
    texts = section.texts(key, remedy=_RELEASE)
    for text in texts:
        try:
            parse_releases(text)
        except InvalidParameter as problem:
            words = f"in {key}: {problem}"
            raise section.wrong(key, words, _RELEASE) from None
    return texts


def _plan(section: Section, datasets: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    remedy = 'write  plan = ["Laplace(scale=50) * 12"]  or, of several datasets,  plan.NAME = [...]'
    given = section.values.get("plan")
    if given is None:
        raise section.wrong(None, "a planned account needs a plan", remedy)
    if not isinstance(given, dict):
        releases = _releases(section, "plan")
        if not releases or len(datasets) > 1:
            raise section.wrong("plan", "the plan must name releases for each dataset", remedy)
        return ((datasets[0], releases),)
    plan = section.section("plan", title=f"{section.title}, plan", remedy=remedy)
    if not plan.values:
        raise section.wrong("plan", "the plan must name releases for each dataset", remedy)
    for dataset in plan.values:
        _check_dataset(plan, dataset, dataset, datasets)
    return tuple((dataset, _releases(plan, dataset)) for dataset in plan.values)


def _queries(section: Section) -> tuple[DashboardQuery, ...]:
    entries = section.entries("queries", kind="query", remedy=_QUERY)
    if not entries:
        key = "queries" if "queries" in section.values else None
        raise section.wrong(key, "a dashboard needs its queries", _QUERY)
    return tuple(map(_query, entries))


def _query(entry: Section) -> DashboardQuery:
    entry.only("sql", "epsilon", "rho", "delta")
    sql = entry.values.get("sql")
    if not isinstance(sql, str) or not sql.strip() or len(sql) > _LONGEST_SQL:
        problem = f"sql must be a text of up to {_LONGEST_SQL} characters"
        raise entry.wrong("sql" if "sql" in entry.values else None, problem, _QUERY)
    if ("epsilon" in entry.values) == ("rho" in entry.values):
        raise entry.wrong(None, "give exactly one of epsilon and rho", _QUERY)
    return DashboardQuery(
        sql=sql,
        epsilon=_epsilon(entry) if "epsilon" in entry.values else None,
        rho=_epsilon(entry, "rho") if "rho" in entry.values else None,
        delta=_delta(entry, default=0.0),
    )


def _quotas(
    section: Section, *, epsilon: float, delta: float
) -> tuple[tuple[str, float, float], ...]:
    """The analysts' quotas; ``shares`` is the key's earlier name, and means the same."""
    key = "shares" if "shares" in section.values else "quotas"
    remedy = f'write  "ada" = {{ epsilon = 0.5, delta = 5e-7 }}  under  [accounts.NAME.{key}]'
    if key == "shares" and "quotas" in section.values:
        problem = "quotas and shares are the same key"
        raise section.wrong("shares", problem, "keep  quotas  and move all analysts there")
    quotas = section.section(key, title=f"{section.title}, {key}", remedy=remedy)
    read: list[tuple[str, float, float]] = []
    for analyst, quota in quotas.sections(kind=f"{section.title}, quota of", remedy=remedy):
        quota.only("epsilon", "delta")
        if not analyst.strip() or not analyst.isprintable() or len(analyst) > 100:
            problem = f"{shown(analyst)} cannot be the name of an analyst"
            raise quotas.wrong(analyst, problem, "use up to 100 printable characters")
        own = _epsilon(quota), _delta(quota, default=0.0)
        if own[0] > epsilon or own[1] > delta:
            problem = "a quota cannot be more than the whole account"
            raise quota.wrong(None, problem, f"stay within epsilon {epsilon!r} and delta {delta!r}")
        read.append((analyst, *own))
    return tuple(read)


def _groups(
    section: Section, analysts: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...], float, float], ...]:
    """Quotas of groups, whose members have quotas of their own."""
    remedy = (
        'write  team = { members = ["ada", "bob"], epsilon = 0.5, delta = 5e-7 }  under  '
        "[accounts.NAME.groups]"
    )
    groups = section.section("groups", title=f"{section.title}, groups", remedy=remedy)
    read = []
    for name, group in groups.sections(kind=f"{section.title}, group", remedy=remedy):
        group.only("members", "epsilon", "delta")
        members = group.texts("members", remedy=remedy)
        for member in members:
            if member not in analysts and "*" not in analysts:
                problem = f"{shown(member)} has no quota, and every member of a group needs one"
                raise group.wrong("members", problem, "add one, or one for  *,  under quotas")
        try:
            made = GroupQuota(
                group=name,
                members=members,
                epsilon=_epsilon(group),
                delta=_delta(group, default=0.0),
            )
        except InvalidParameter as problem:
            raise group.wrong(None, str(problem), remedy) from None
        read.append((made.group, made.members, made.epsilon, made.delta))
    return tuple(read)


def _refuse_second(section: Section, account: AccountPlan, others: list[AccountPlan]) -> None:
    before = "" if account.blocks is None else account.blocks.predecessor
    line = _line(account, others)
    for other in others:
        if other.name == before:
            continue  # what it allows is charged here
        if other.name in line:
            continue
        both = [dataset for dataset in account.datasets if dataset in other.datasets]
        if both:
            problem = f"the account {other.name!r} already pays for the dataset {both[0]!r}"
            remedy = (
                "the losses of both would add up: write  beside = true  to accept that or, "
                f'if that account is closed,  succeeds = "{other.name}"'
            )
            raise section.wrong("datasets", problem, remedy)


def _line(account: AccountPlan, others: list[AccountPlan]) -> set[str]:
    """The names of the accounts that it succeeds, as far as the catalog knows them."""
    known = {other.name: other.succeeds for other in others}
    line, last = set[str](), account.succeeds
    while last is not None and last not in line:
        line.add(last)
        last = known.get(last)
    return line


# Membership


def read_membership(document: Section, datasets: tuple[str, ...]) -> tuple[Fact | None, str]:
    """The facts, all of which hold, and which worlds are compared; facts speak of datasets."""
    section = document.section("membership", title="membership", remedy=_MEMBERSHIP)
    section.only("facts", "neighbours")
    neighbours = section.choice(
        "neighbours", NEIGHBOURS, remedy=f"neighbours are {', '.join(NEIGHBOURS)}"
    )
    facts = [
        _fact(entry, datasets) for entry in section.entries("facts", kind="fact", remedy=_FACT)
    ]
    if not facts:
        return None, neighbours or NEIGHBOURS[0]
    try:
        resolve(All(*facts), datasets)
    except ContradictoryFacts as problem:
        raise section.wrong(
            "facts", str(problem), "the facts leave no possible membership"
        ) from None
    return All(*facts), neighbours or NEIGHBOURS[0]


def _fact(entry: Section, datasets: tuple[str, ...]) -> Fact:
    try:
        fact = fact_from_dict(dict(entry.values))
        resolve(fact, datasets)
    except InvalidParameter as problem:
        remedy = "use names of datasets; " + _FACT
        raise entry.wrong(None, str(problem), remedy) from None
    return fact
