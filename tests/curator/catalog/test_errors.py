"""What a catalog says when it is wrong: the file, the line, the problem and a remedy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quaestor import InvalidCatalog
from quaestor.curator.catalog import catalog_from_toml, read_catalog
from quaestor.curator.catalog.columns import MOST_KEYS
from tests.curator.catalog.examples import PAGE, VISITS, documented, with_column, with_line

if TYPE_CHECKING:
    from pathlib import Path

OTHER = """
[tables.stays]
file = "stays.parquet"
unit = "patient"
rows = 1
groups = 1
columns = { patient = "integer" }
"""  # lines 14 to 19, after line 12 and an empty one
ACCOUNT = "[accounts.a]\nepsilon = 1\ndelta = 1e-6\n"  # lines 13 to 15

# A catalog, the line of the error (None: not known), and parts of its problem and remedy.
WRONG: list[tuple[str, int | None, str, str]] = [
    # The file.
    ("a = [", 1, "this is not TOML", "correct the line"),
    ("ledger = 'x'\n\nrows 3\n", 3, "this is not TOML", "correct the line"),
    ("a = 1\na = 2\n", 2, "this is not TOML", "correct the line"),
    (f"a = {'9' * 5000}", None, "this is not TOML", "correct the line"),
    (
        f"a = {'[' * 5000}{']' * 5000}",
        None,
        "nested too deeply",
        "simplify the nested lists and tables",
    ),
    (
        ".".join("a" * 5000) + " = 1",
        None,
        "nested too deeply",
        "simplify the nested lists and tables",
    ),
    ("table = 1", 1, "unknown key 'table'", "did you mean 'tables'?"),
    ("xyz = 1", 1, "unknown key 'xyz'", "known keys are ledger, tables"),
    ("\nledger = 3", 2, "ledger must be a text, not 3", "LEDGER_DATABASE"),
    ("ledger = ''", 1, "ledger must be a printable text", "ledger.db"),
    ("ledger = 'sqlite:///x.db'", 1, "must be a file here", "environment"),
    ("[ledger]\nenviron = 'X'", 2, "unknown key 'environ'", "did you mean 'environment'?"),
    ("[ledger]\nenvironment = 'two words'", 2, "name of an environment variable", "CLINIC"),
    ("ledger = {}", 1, "name of an environment variable", "CLINIC"),
    # Tables.
    ("tables = 3", 1, "tables must be a table, not 3", "[tables.visits]"),
    ("tables.visits = 3", 1, "visits must be a table, not 3", "[tables.visits]"),
    ("[tables.'2nd']", 1, "'2nd' cannot be the name of a table", "not starting with a digit"),
    (f"[tables.{'x' * 64}]", 1, "cannot be the name of a table", "at most 63"),
    ("[tables.Select]", 1, "the name 'Select' is reserved", "'Select_table'"),
    ("[tables.quaestor_x]", 1, "reserved", "'x_table'"),
    (VISITS + "[tables.Visits]\n", 13, "'visits' and 'Visits' differ only in case", "rename"),
    (with_line(5, "units = 'patient'"), 5, "unknown key 'units'", "did you mean 'unit'?"),
    (with_line(5, ""), 3, "the privacy unit is missing", "public = true"),
    (with_line(5, "unit = 3"), 5, "unit must be a text, not 3", 'unit = "patient"'),
    (with_line(5, "unit = 'Patient'"), 5, "not among the columns", "did you mean 'patient'?"),
    (with_line(5, "unit = 'doctor'"), 5, "not among the columns", 'doctor = "integer"'),
    (
        with_line(5, "public = true"),
        6,
        "a public table has no rows",
        "remove it, or remove  public = true",
    ),
    (with_line(5, "public = 'yes'"), 5, "public must be true or false", "public = true"),
    (with_line(6, ""), 3, "rows is missing", "rows = 20"),
    (with_line(6, "rows = 0"), 6, "rows must be a whole number from 1 to 1000000, not 0", "20"),
    (with_line(6, "rows = true"), 6, "not true", "rows = 20"),
    (with_line(6, "rows = 2.0"), 6, "not 2.0", "rows = 20"),
    (with_line(6, "rows = 1_000_001"), 6, "not 1000001", "rows = 20"),
    (with_line(7, ""), 3, "groups is missing", "groups = 5"),
    (with_line(7, "groups = -1"), 7, "groups must be a whole number", "groups = 5"),
    (with_line(7, "groups = 5\ndataset = []"), 8, "dataset must be a text", 'dataset = "clinic"'),
    (with_line(10, 'patient = "real"'), 5, "the unit 'patient' is of kind real", "an integer"),
    (
        with_line(10, 'patient = { kind = "integer", keys = [1] }'),
        5,
        "the unit 'patient' has bounds or keys",
        'patient = "integer"',
    ),
    (
        VISITS + OTHER.replace("stays.parquet", "./visits.parquet"),
        14,
        "table 'stays': table 'visits' already has these rows, with",
        '"visits"',
    ),
    (
        VISITS + "[tables.v]\nfile = 'visits.parquet'\npublic = true\ncolumns = { a = 'text' }",
        13,
        "table 'visits' already has these rows",
        "cannot be public and private",
    ),
    (
        VISITS + OTHER.replace('"integer" }', '"text" }') + 'dataset = "visits"\n',
        16,
        "of kind text, but of kind integer in table 'visits'",
        "another dataset",
    ),
    # Where tables live.
    (with_line(4, ""), 3, "the place of the table is missing", 'file = "visits.parquet"'),
    (with_line(4, "file = 'x.xlsx'"), 4, "are not supported", ".parquet"),
    (with_line(4, "file = 'https://x.org/a.csv'"), 4, "on this machine", "Spark"),
    (with_line(4, "file = 3"), 4, "file must be a text", "visits.csv"),
    (with_line(4, "file = 'a.csv'\ntable = 'x'"), 5, "cannot be combined", "remove one of them"),
    (with_line(4, "file = 'a.csv'\ndatabase = 'x'"), 4, "cannot be combined", "remove one of them"),
    (with_line(4, "database = 'md://x'"), 4, "on this machine", "mount"),
    (with_line(4, "database = 'x'\ntable = 'a b'"), 5, "not the name of a table", "clinic.visits"),
    (
        with_line(4, "environment = 'A'\nfile = 'a.csv'"),
        5,
        "cannot be combined",
        "remove one of them",
    ),
    (with_line(4, "environment = 'a b'"), 4, "name of an environment variable", "CLINIC"),
    (with_line(4, "master = 'laptop'"), 4, "must be where Spark is", "local[2]"),
    (
        with_line(4, "master = 'local'\ndatabase = 'x'"),
        5,
        "cannot be combined",
        "remove one of them",
    ),
    (
        with_line(4, "master = 'local'\nfile = 'x.csv'\ntable = 'x'"),
        6,
        "table 'visits': table cannot be combined with a file",
        "remove one of them",
    ),
    (with_line(4, "engine = 'duckd'\nfile = 'a.csv'"), 4, "one of duckdb", "mean 'duckdb'?"),
    (with_line(4, "engine = 7\nfile = 'a.csv'"), 4, "engine must be one of", "engines are"),
    (with_line(4, "engine = 'spark'\nfile = 'a.csv'"), 4, "spark needs master", "local[2]"),
    (with_line(4, "engine = 'duckdb'\nmaster = 'local'"), 5, "not for the engine duckdb", "file"),
    # Columns.
    ("[tables.t]\nfile = 'a.csv'\npublic = true", 1, "no columns", "[tables.t.columns]"),
    ("[tables.t]\nfile = 'a.csv'\npublic = true\ncolumns = {}", 4, "no columns", "age"),
    ("[tables.t]\nfile = 'a.csv'\npublic = true\ncolumns = 1", 4, "must be a table", "age"),
    (with_column("x = 3"), 13, "column 'x' must have a kind, not 3", 'age = "integer"'),
    (with_column("x = {}"), 13, "the kind is missing", "integer, real, text"),
    (with_column("x = 'number'"), 13, "kind must be one of", "kinds are integer, real"),
    (with_column("x = 'texts'"), 13, "kind must be one of", "did you mean 'text'?"),
    (with_column("x = { kind = 'text', key = [1] }"), 13, "unknown key 'key'", "mean 'keys'?"),
    (with_column("x.kind = 'text'\nx.key = [1]"), 14, "unknown key 'key'", "mean 'keys'?"),
    (
        with_column("'' = 'text'"),
        13,
        "'' cannot be the name of a column",
        "omit it, or rename it in its database: at most 63 printable",
    ),
    (with_column("'a\"b' = 'text'"), 13, "cannot be the name of a column", "double quotes"),
    (with_column("quaestor_x = 'text'"), 13, "reserved", "omit the column"),
    (with_column("Age = 'text'"), 13, "'age' and 'Age' differ only in case", "rename this column"),
    (with_column("x = { kind = 'text', low = 0 }"), 13, "of kind text", "remove it"),
    (with_column("x = { kind = 'real', low = 0 }"), 13, "high is missing", "low = 0, high = 120"),
    (with_column("x = { kind = 'real', granularity = 1 }"), 13, "low and high are missing", "both"),
    (with_column("x = { kind = 'real', low = 1, high = 1 }"), 13, "must be below high", "correct"),
    (with_column("x = { kind = 'real', low = nan, high = 1 }"), 13, "not nan", "both"),
    (with_column("x = { kind = 'real', low = 0, high = inf }"), 13, "not inf", "both"),
    (with_column("x = { kind = 'real', low = 0, high = 2e15 }"), 13, "from -1e15 to 1e15", "both"),
    (with_column(f"x = {{ kind = 'real', low = 0, high = {'9' * 400} }}"), 13, "1e15", "both"),
    (with_column("x = { kind = 'integer', low = 0.5, high = 1 }"), 13, "whole number", "both"),
    (with_column("x = { kind = 'integer', low = '0', high = 1 }"), 13, "not '0'", "both"),
    (
        with_column("x = { kind = 'real', low = 0, high = 1, granularity = 1e-13 }"),
        13,
        "granularity must be a number from 2**-40",
        "granularity = 1",
    ),
    (
        with_column("x = { kind = 'integer', low = 0, high = 1, granularity = 0.5 }"),
        13,
        "granularity must be a whole number",
        "granularity = 1",
    ),
    (
        with_column("x = { kind = 'integer', low = 18, high = 99, granularity = 10 }"),
        13,
        "must be whole multiples of the granularity (10)",
        "low = 10, high = 100, granularity = 10",
    ),
    (
        with_column("x = { kind = 'real', low = 0.25, high = 1, granularity = 0.1 }"),
        13,
        "must be whole multiples of the granularity (0.1)",
        "low = 0.2, high = 1, granularity = 0.1",
    ),
    (
        with_column("x = { kind = 'integer', low = 0, high = 1_000_000_000 }"),
        13,
        "could overflow in sums",
        "low = 0, high = 1000000000, granularity = 64",
    ),
    # Keys.
    (
        with_column("x = { kind = 'text', keys = 'a' }"),
        13,
        "must be a list of values",
        '["F", "M"]',
    ),
    (with_column("x = { kind = 'text', keys = [] }"), 13, "must be a list of values", "leave keys"),
    (with_column("x = { kind = 'text', keys = [\n'a',\n1] }"), 15, "the key 1 is not of", "F"),
    (
        with_column("x = { kind = 'text', keys = ['a', 'a'] }"),
        13,
        "'a' is listed twice",
        "remove one of them",
    ),
    (with_column("x = { kind = 'integer', keys = [1.0] }"), 13, "the key 1.0 is not", "[1, 2, 3]"),
    (with_column("x = { kind = 'integer', keys = [true] }"), 13, "the key true is not", "[1, 2"),
    (
        with_column("x = { kind = 'real', keys = [1, 1.0] }"),
        13,
        "1.0 is listed twice",
        "remove one of them",
    ),
    (with_column("x = { kind = 'real', keys = [nan] }"), 13, "nan is not of kind real", "0.5"),
    (with_column("x = { kind = 'boolean', keys = [1] }"), 13, "1 is not of kind boolean", "false"),
    (with_column("x = { kind = 'date', keys = ['31.1.26'] }"), 13, "not of kind date", "2026-01"),
    (with_column("x = { kind = 'date', keys = [2026-01-31T00:00:00] }"), 13, "not of kind", "20"),
    (with_column("x = { kind = 'text', missing = true }"), 13, "there are no keys", "too"),
    (
        with_column("x = { kind = 'text', keys = ['a'], missing = 1 }"),
        13,
        "true or false",
        "missing",
    ),
    (
        with_column("x = { kind = 'integer', low = 0, high = 9, keys = [10] }"),
        13,
        "the key 10 cannot be read from the column",
        "between low and high",
    ),
    (
        with_column(f"x = {{ kind = 'integer', keys = {list(range(MOST_KEYS + 1))} }}"),
        13,
        "there are 100001 keys, more than 100000",
        "omit keys: then only groups with enough people are shown",
    ),
    # Membership.
    ("membership = 1", 1, "membership must be a table", "[membership]"),
    ("[membership]\nfact = []", 2, "unknown key 'fact'", "did you mean 'facts'?"),
    ("[membership]\nfacts = 'AtMost'", 2, "must be a list of tables", "AtMost"),
    ("[membership]\nneighbours = 'remove'", 2, "must be one of add_remove", "add_remove"),
    (
        VISITS + "[membership]\nfacts = [\n{ fact = 'AtMost', m = 1 },\n{ fact = 'AtMots' }]",
        16,
        "membership, fact 2: fact must be one of AtMost",
        "use names of datasets",
    ),
    (
        VISITS + "[[membership.facts]]\nfact = 'AtMost'\nm = 1\nof = ['visit']",
        13,
        "there is no database 'visit' among 1: did you mean 'visits'?",
        "use names of datasets",
    ),
    (
        VISITS
        + OTHER
        + "[membership]\nfacts = [{ fact = 'AtMost', m = 0 }, { fact = 'ExactlyOne' }]\n",
        21,
        "the facts contradict each other",
        "the facts leave no possible membership",
    ),
    # Accounts.
    ("accounts = []", 1, "accounts must be a table", "[accounts.research]"),
    (
        VISITS + "[accounts.' ']",
        13,
        "cannot be the name of an account",
        "use up to 100 printable characters",
    ),
    (VISITS + "[accounts.a]\ndelta = 0", 13, "epsilon is missing", "epsilon = 1.0"),
    (VISITS + "[accounts.a]\nepsilon = 1", 13, "delta is missing", "delta = 1e-6"),
    (VISITS + ACCOUNT.replace("= 1\n", "= 0\n"), 14, "epsilon must be a number above 0", "1.0"),
    (VISITS + ACCOUNT.replace("= 1\n", "= '1'\n"), 14, "epsilon must be a number above", "1.0"),
    (VISITS + ACCOUNT.replace("1e-6", "1"), 15, "delta must be a number from 0, below 1", "1e-6"),
    (VISITS + ACCOUNT + "budget = 1", 16, "unknown key 'budget'", "known keys are epsilon"),
    (VISITS + ACCOUNT + "datasets = []", 16, "one or more, each once", '["visits"]'),
    (VISITS + ACCOUNT + "datasets = 1", 16, "must be a list of texts", '["visits"]'),
    (VISITS + ACCOUNT + "datasets = ['visit']", 16, "no private table belongs", "mean 'visits'?"),
    (VISITS + ACCOUNT + "datasets = ['x']", 16, "no private table belongs to", "declare a table"),
    (VISITS + OTHER + ACCOUNT, 20, "datasets is missing", '["visits"]'),
    (VISITS + ACCOUNT + "policy = 'opn'", 16, "policy must be one of", "did you mean 'open'?"),
    (VISITS + ACCOUNT + "plan = ['PureDP(epsilon=1)']", 16, "to the policy planned", "policy = "),
    (VISITS + ACCOUNT + "expected = ['PureDP(']", 16, "in expected: column 8", "Laplace(scale"),
    (VISITS + ACCOUNT + "policy = 'planned'", 13, "a planned account needs a plan", "plan = ["),
    (VISITS + ACCOUNT + "policy = 'planned'\nplan = []", 17, "releases for each dataset", "plan"),
    (VISITS + ACCOUNT + "policy = 'planned'\nplan = {}", 17, "releases for each dataset", "plan"),
    (
        VISITS + ACCOUNT + "policy = 'planned'\nplan.visit = 'PureDP(epsilon=1)'",
        17,
        "no private table belongs to the dataset 'visit'",
        "did you mean 'visits'?",
    ),
    (VISITS + ACCOUNT + "policy = 'dashboard'", 13, "a dashboard needs its queries", "sql = "),
    (
        VISITS + ACCOUNT + "policy = 'dashboard'\nqueries = [{ sql = '' }]",
        17,
        "query 1: sql must be a text of up to 20000",
        "SELECT COUNT(*)",
    ),
    (
        VISITS
        + ACCOUNT
        + "policy = 'dashboard'\nqueries = [\n{ sql = 'x', epsilon = 1, rho = 1 }]",
        18,
        "exactly one of epsilon and rho",
        "epsilon = 0.1",
    ),
    (
        VISITS + ACCOUNT + "policy = 'dashboard'\nqueries = [{ sql = 'x', rho = -1 }]",
        17,
        "rho must be a number above 0",
        "rho = 1.0",
    ),
    (VISITS + ACCOUNT + "shares = 3", 16, "shares must be a table", "[accounts.NAME.shares]"),
    (VISITS + ACCOUNT + "quotas = 3", 16, "quotas must be a table", "[accounts.NAME.quotas]"),
    (
        VISITS + ACCOUNT + "quotas.ada = { epsilon = 0.5 }\nshares.bob = { epsilon = 0.5 }",
        17,
        "account 'a': quotas and shares are the same key",
        "keep  quotas",
    ),
    (VISITS + ACCOUNT + "shares.ada = 0.5", 16, "ada must be a table", "epsilon = 0.5"),
    (
        VISITS + ACCOUNT + "shares.'' = { epsilon = 1 }",
        16,
        "name of an analyst",
        "use up to 100 printable characters",
    ),
    (VISITS + ACCOUNT + "shares.ada = {}", 16, "quota of 'ada': epsilon is missing", "epsilon"),
    (
        VISITS + ACCOUNT + "[accounts.a.shares]\nada = { epsilon = 2 }",
        17,
        "a quota cannot be more than the whole account",
        "epsilon 1.0 and delta 1e-06",
    ),
    (
        VISITS + ACCOUNT + ACCOUNT.replace("accounts.a", "accounts.b"),
        16,
        "the account 'a' already pays for the dataset 'visits'",
        "beside = true",
    ),
    (VISITS + ACCOUNT + 'closes = "soon"', 16, "closes must be a date", "closes = 2027-01-31"),
    (VISITS + ACCOUNT + "beside = 1", 16, "beside must be true or false", "beside = true"),
]


def refusal(text: str) -> InvalidCatalog | None:
    """The error that a text is, if it is none that can be read; any other error is a failure."""
    try:
        catalog_from_toml(text)
    except InvalidCatalog as error:
        return error
    return None


@pytest.mark.parametrize(("text", "line", "problem", "remedy"), WRONG)
def test_an_error_names_the_file_the_line_the_problem_and_a_remedy(
    text: str, line: int | None, problem: str, remedy: str
) -> None:
    with pytest.raises(InvalidCatalog) as caught:
        catalog_from_toml(text, file="here/quaestor.toml")
    error = caught.value
    assert (error.file, error.line) == ("here/quaestor.toml", line)
    assert problem in error.problem
    assert remedy in error.remedy
    where = "here/quaestor.toml" if line is None else f"here/quaestor.toml, line {line}"
    assert str(error) == f"{where}: {error.problem}; {error.remedy}"


# Credentials.

SECRET = "tr0ub4dor"  # noqa: S105  # the point of these tests


@pytest.mark.parametrize(
    "line",
    [
        f"environment = 'postgresql://reader:{SECRET}@host/clinic'",
        f"file = 's3://key:{SECRET}@bucket/a.parquet'",
        f"environment = 'host=db user=reader password={SECRET}'",
        f"master = 'sc://host/;token={SECRET}'",
        f"password = '{SECRET}'",
        f"file = 'a.csv'\nToken = '{SECRET}'",
        f"options = {{ nested = [{{ secret = '{SECRET}' }}] }}",
    ],
)
def test_credentials_are_refused_and_not_repeated(line: str) -> None:
    with pytest.raises(InvalidCatalog) as caught:
        catalog_from_toml(with_line(4, line))
    error = caught.value
    assert error.line == 4 + line.count("\n")
    assert "this file must not contain credentials" in error.problem
    assert "environment variable" in error.remedy
    assert SECRET not in f"{error}{error.fields()}{error.args}{vars(error)}"


def test_an_address_of_a_ledger_is_refused_too() -> None:
    with pytest.raises(InvalidCatalog, match="credentials") as caught:
        catalog_from_toml(f"\nledger = 'postgresql://a:{SECRET}@host/ledger'")
    assert caught.value.line == 2
    assert SECRET not in str(caught.value)


def test_columns_analysts_and_questions_may_be_called_as_they_are() -> None:
    column = with_column("password = { kind = 'text', keys = ['token=1', 'a://b@c'] }")
    query = """queries = [{ sql = "SELECT COUNT(*) FROM visits WHERE password='x'", rho = 0.1 }]"""
    account = f"{ACCOUNT}policy = 'dashboard'\nshares.secret = {{ epsilon = 0.5 }}\n{query}\n"
    catalog = catalog_from_toml(column + account)
    assert catalog.tables[0].column("password") is not None
    assert catalog.accounts[0].shares == (("secret", 0.5, 0.0),)


# Remedies.


@given(
    low=st.integers(-(10**15), 10**15 - 1),
    size=st.integers(1, 10**15),
    granularity=st.none() | st.integers(1, 10**6),
)
@example(low=0, size=10**15, granularity=None)
@example(low=999_999_986_991_104, size=1, granularity=None)
@example(low=-(10**15), size=1, granularity=None)
def test_facts_that_an_error_proposes_are_accepted(
    low: int, size: int, granularity: int | None
) -> None:
    high = min(low + size, 10**15)
    facts = f"low = {low}, high = {high}"
    facts += "" if granularity is None else f", granularity = {granularity}"
    for _ in range(3):
        error = refusal(with_column(f"x = {{ kind = 'integer', {facts} }}"))
        if error is None:
            return
        assert error.remedy.startswith("write  low = ")
        facts = error.remedy.removeprefix("write  ")
    pytest.fail(f"still wrong: {facts}")


# Anything at all.


def test_the_error_on_the_page_is_the_error_there_is() -> None:
    shown = re.search(r"```text\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    with pytest.raises(InvalidCatalog) as caught:
        catalog_from_toml("\n[tables.visits]\nfile = 'a.csv'\nunits = 'patient'\n")
    assert str(caught.value) == shown[1]


TOKENS = st.sampled_from(
    [
        *"[]{}=,.\"'#\n \t\\",
        *("[[", "]]", "tables", "visits", "columns", "unit", "rows", "kind", "keys", "low", "high"),
        *("'text'", "'integer'", "1", "-0.5", "nan", "inf", "1e400", "true", "2026-01-31", '"""'),
        *("accounts", "shares", "membership", "facts", "ledger", "\x00", "é", "\ud7ff", "9" * 500),
    ]
)


@given(text=st.text(max_size=60) | st.lists(TOKENS, max_size=40).map("".join))
def test_garbage_is_a_catalog_or_an_error_and_nothing_else(text: str) -> None:
    error = refusal(text)
    if error is not None:
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
        assert error.remedy


@given(data=st.data())
def test_a_right_catalog_with_something_wrong_in_it_is_an_error_and_nothing_else(
    data: st.DataObject,
) -> None:
    words = re.split(r"(\s+|[=\[\]{},.\"'])", documented())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place] = data.draw(TOKENS | st.text(max_size=5) | st.sampled_from(words))
    error = refusal("".join(words))
    assert error is None or error.remedy


# A value of every shape under every key: types are never taken on trust.
VALUES = [
    "1",
    "-1.5",
    "'text'",
    "''",
    "true",
    "[]",
    "[1]",
    "['a']",
    "{}",
    "{ a = 1 }",
    "2026-01-31",
]
VALUES += ["[{}]", "[[1], {}]", "nan", "'\\u0000'", '"\\u0000"', "07:00:00", "{ kind = [] }"]
KEYS = [
    *("ledger", "tables", "tables.t", "membership", "membership.facts", "membership.neighbours"),
    *(f"tables.t.{key}" for key in ("engine", "file", "database", "environment", "master")),
    *(f"tables.t.{key}" for key in ("table", "unit", "rows", "groups", "dataset", "public")),
    *("tables.t.columns", "tables.t.columns.a", "tables.t.columns.a.kind", "accounts.a"),
    *(f"tables.t.columns.a.{key}" for key in ("low", "high", "granularity", "keys", "missing")),
    *(f"accounts.a.{key}" for key in ("epsilon", "delta", "datasets", "policy", "expected")),
    *(f"accounts.a.{key}" for key in ("plan", "queries", "shares", "shares.ada", "beside")),
    *("membership.facts.fact", "accounts.a.plan.t", "accounts.a.shares.ada.epsilon", "accounts"),
]


@pytest.mark.parametrize("key", KEYS)
def test_no_value_of_a_wrong_shape_is_a_traceback(key: str) -> None:
    base = {
        "tables.t.file": "'a.csv'",
        "tables.t.unit": "'u'",
        "tables.t.rows": "1",
        "tables.t.groups": "1",
        "tables.t.columns.u": "'text'",
        "tables.t.columns.a.kind": "'real'",
        "accounts.a.epsilon": "1",
        "accounts.a.delta": "0",
    }
    for value in VALUES:
        for policy in ("open", "planned", "dashboard"):
            lines = {**base, "accounts.a.policy": f"'{policy}'"}
            kept = {k: v for k, v in lines.items() if k != key and not k.startswith(f"{key}.")}
            text = "\n".join(f"{k} = {v}" for k, v in {**kept, key: value}.items())
            error = refusal(text)
            assert error is None or error.remedy


# Files.


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidCatalog, match=r"No such file or directory.*quaestor init"):
        read_catalog(tmp_path)
    (tmp_path / "quaestor.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidCatalog, match="it is not UTF-8 text"):
        read_catalog(tmp_path)
    with pytest.raises(InvalidCatalog, match="this is not a valid file name"):
        read_catalog(tmp_path / "a\0b")
    with (tmp_path / "large.toml").open("wb") as stream:
        stream.truncate(64 * 1024 * 1024)
    with pytest.raises(InvalidCatalog, match="larger than"):
        read_catalog(tmp_path / "large.toml")
