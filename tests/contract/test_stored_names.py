"""Names that are stored for good, listed: whoever changes one makes old ledgers unreadable.

A name is free to be added here. To take one away, or to change one, is to lose the answers and the
accounts of everybody who has a ledger.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, get_args

import pytest

from quaestor.accounting.filters import FILTERS, filter_from_dict
from quaestor.accounting.membership import NEIGHBOURS
from quaestor.accounting.membership.facts import FACTS, fact_from_json
from quaestor.accounting.releases import RELEASES
from quaestor.accounting.releases.codec import release_from_json
from quaestor.curator.aggregates import AGGREGATES
from quaestor.curator.answers.answer import Answer, AnswerColumn
from quaestor.curator.language import expressions, query
from quaestor.curator.language.expressions import Column, Constant, Kind
from quaestor.curator.language.functions import FUNCTIONS
from quaestor.curator.language.query import Scan
from quaestor.curator.questions import stored_form as wire
from quaestor.curator.questions.stored_form import DRAWN, QUESTIONS, Wire, from_wire, to_wire
from quaestor.ledger import AccountDefinition
from quaestor.ledger.journal.events import COLUMNS, KINDS
from tests.contract.old_ledgers import ANSWERED

IN_FINGERPRINTS = {
    "Aggregate": ("function", "operand", "low", "high", "step", "probability"),
    "Aggregated": ("place",),
    "Arithmetic": ("operator", "left", "right"),
    "Beyond": ("rows", "totals", "most"),
    "Call": ("function", "arguments"),
    "Case": ("branches", "otherwise"),
    "Cast": ("operand", "kind"),
    "Chosen": ("histogram", "probability"),
    "Column": ("name",),
    "ColumnFacts": ("name", "kind", "low", "high", "granularity", "keys"),
    "Comparison": ("operator", "left", "right"),
    "Constant": ("value", "kind"),
    "Contribution": ("rows", "groups"),
    "CountedQuantile": ("probability", "low", "high", "epsilon", "rows"),
    "DiscreteGaussian": ("sigma", "sensitivity", "coordinates"),
    "Distinct": ("operand", "rows"),
    "Dropped": ("outer", "most", "times"),
    "Excess": ("inner", "outer", "low", "high", "times"),
    "Filtered": ("rows", "condition"),
    "Geometric": ("scale", "sensitivity"),
    "GroupTotal": ("operand", "by"),
    "Histogram": ("operand", "low", "high", "step", "rows"),
    "IsNull": ("operand",),
    "Join": ("left", "right", "on", "how", "unique"),
    "Joint": ("totals", "bound"),
    "Key": ("name", "expression", "kind", "values"),
    "Keyed": ("place",),
    "Like": ("operand", "pattern"),
    "Logic": ("operator", "operands"),
    "Member": ("operand", "values"),
    "NoisyMeasure": ("measure", "mechanism", "spread", "grain"),
    "NoisyQuantile": ("measure", "mechanism", "spread"),
    "NoisyReach": ("measure", "mechanism", "spread"),
    "NoisyTop": ("measure", "mechanism"),
    "NoisyUnits": ("measure", "mechanism"),
    "Not": ("operand",),
    "Output": ("name", "expression"),
    "OptimalSelection": ("epsilon", "delta", "contributions"),
    "PartitionSelection": ("scale", "threshold", "contributions"),
    "PerUnit": ("rows", "columns"),
    "Projected": ("rows", "columns"),
    "Query": (
        *("dataset", "rows", "unit", "contribution", "keys", "aggregates"),
        *("outputs", "having", "top", "order", "limit"),
    ),
    "QuantileReach": ("probability", "low", "high", "epsilon", "rows", "confidence"),
    "Reach": ("chosen",),
    "Rows": ("rows", "operand"),
    "Scan": ("table",),
    "TopGroups": ("count", "place"),
    "ShownGroups": ("measure", "mechanism"),
    "TopK": ("epsilon", "count", "sensitivity", "monotonic"),
    "Total": ("operand", "low", "high", "step", "rows"),
    "Union": ("parts",),
    "UnitBins": ("of", "edges", "keys"),
    "UnitFigure": ("function", "operand", "most", "low", "high", "step"),
    "Units": (),
}
IN_RELEASES = [
    '{"type": "PureDP", "epsilon": 0.5}',
    '{"type": "ApproxDP", "epsilon": 0.5, "delta": 1e-07}',
    '{"type": "Gaussian", "sigma": 4.0, "sensitivity": 1.0}',
    '{"type": "GaussianDP", "mu": 0.1}',
    '{"type": "ZeroConcentratedDP", "rho": 0.01}',
    '{"type": "Laplace", "scale": 10.0, "sensitivity": 0.5}',
    '{"type": "Geometric", "scale": 10.0, "sensitivity": 3}',
    '{"type": "DiscreteGaussian", "sigma": 10.0, "sensitivity": 3}',
    '{"type": "Staircase", "epsilon": 0.5, "sensitivity": 1.0, "gamma": null}',
    '{"type": "BoundedRange", "epsilon": 0.5}',
    (
        '{"type": "ExponentialMechanism", "epsilon": 0.5, "sensitivity": 2.0, "monotonic": false, '
        '"range": null}'
    ),
    '{"type": "RandomizedResponse", "epsilon": 0.5, "categories": 4}',
    (
        '{"type": "PoissonSampled", "release": {"type": "Gaussian", "sigma": 4.0, '
        '"sensitivity": 1.0}, "rate": 0.01}'
    ),
    (
        '{"type": "PoissonSampledReplaceOne", "release": {"type": "PureDP", "epsilon": 0.5}, '
        '"rate": 0.01}'
    ),
    (
        '{"type": "TruncatedPoissonGaussian", "sigma": 4.0, "rate": 0.01, "batch": 30, '
        '"population": 2000, "sensitivity": 1.0}'
    ),
    (
        '{"type": "MixtureOfGaussians", "sigma": 4.0, "sensitivities": [0.0, 1.0], '
        '"probabilities": [0.75, 0.25]}'
    ),
    '{"type": "RenyiDP", "orders": [2.0, 8.0], "epsilons": [0.25, 1.0]}',
    (
        '{"type": "RepeatAndSelect", "release": {"type": "PureDP", "epsilon": 0.5}, '
        '"mean": 4.0, "shape": 1.0}'
    ),
    (
        '{"type": "RepeatAndSelect", "release": {"type": "ReleaseSum", "releases": '
        '[{"type": "PureDP", "epsilon": 0.5}, {"type": "GaussianDP", "mu": 0.5}]}, '
        '"mean": 4.0, "shape": null}'
    ),
    '{"type": "PrivacyProfile", "epsilons": [0.5, 1.0], "deltas": [0.01, 0.001]}',
    '{"type": "GroupPrivacy", "release": {"type": "PureDP", "epsilon": 0.5}, "size": 3}',
    (
        '{"type": "SampledWithReplacement", "release": {"type": "GaussianDP", "mu": 0.5}, '
        '"sample": 10, "population": 1000}'
    ),
    '{"type": "RandomAllocation", "sigma": 2.0, "steps": 100, "sensitivity": 1.0}',
    '{"type": "ShuffledEpoch", "sigma": 2.0, "steps": 100, "sensitivity": 1.0}',
    (
        '{"type": "MatrixMechanism", "sigma": 4.0, "matrix": [[1.0, 0.0], [0.5, 1.0]], '
        '"participations": 2, "separation": 1, "periodic": true, "sensitivity": 1.0}'
    ),
    (
        '{"type": "ContinualCounting", "sigma": 4.0, "steps": 64, "strategy": "square_root", '
        '"bands": 8, "participations": 2, "separation": 8, "periodic": false, "sensitivity": 1.0}'
    ),
    '{"type": "DiscreteGaussianVector", "sigma": 9.0, "sensitivity": 2.5, "coordinates": 3}',
    (
        '{"type": "ToeplitzMechanism", "sigma": 4.0, "coefficients": [1.0, 0.5], '
        '"participations": 2, "separation": 3, "sensitivity": 1.0}'
    ),
    (
        '{"type": "SampledWithoutReplacement", "release": {"type": "PureDP", "epsilon": 0.5}, '
        '"sample": 10, "population": 1000}'
    ),
    '{"type": "GraphSketch", "rows": 4, "weight": 400.0, "sensitivity": 1.0}',
    '{"type": "MatrixSketch", "rows": 4, "weight": 400.0, "sensitivity": 1.0}',
    '{"type": "ProbabilityVectors", "p": [0.25, 0.75], "q": [0.5, 0.5]}',
    (
        '{"type": "DensityPair", "p": [0.25, 0.75], "q": [0.5, 0.5], "low": [-0.7, 0.4], '
        '"high": [-0.6, 0.5], "error": 0.0}'
    ),
    '{"type": "Repeated", "release": {"type": "PureDP", "epsilon": 0.5}, "count": 3}',
]
IN_FACTS = [
    '{"fact": "AtMost", "m": 2, "of": null}',
    '{"fact": "ExactlyOne", "of": ["a", "b"]}',
    '{"fact": "Exclusive", "a": ["a"], "b": ["b", "c"]}',
    '{"fact": "Implies", "a": ["a"], "b": ["b"]}',
    '{"fact": "Vectors", "vectors": [["a", "b"], ["c"]]}',
    '{"fact": "All", "facts": [{"fact": "AtMost", "m": 2, "of": null}]}',
]
IN_FILTERS: list[dict[str, Any]] = [
    {"filter": "basic", "epsilon": 3.0, "delta": 1e-5},
    {"filter": "whitehouse", "epsilon": 3.0, "delta": 1e-5, "reserved": 2e-6},
    {"filter": "range", "epsilon": 3.0, "delta": 1e-5, "reserved": 2e-6},
    {"filter": "zcdp", "epsilon": 3.0, "delta": 1e-5, "reserved": 2e-6},
    {"filter": "gdp", "epsilon": 3.0, "delta": 1e-5, "reserved": 2e-6},
    {"filter": "moment", "epsilon": 3.0, "delta": 1e-5, "order": 12.5, "reserved": 2e-6},
    {
        "filter": "weighted",
        "epsilon": 3.0,
        "delta": 1e-5,
        "orders": [[4.0, 0.5], [16.0, 0.5]],
        "reserved": 2e-6,
    },
]
METERS = {
    "basic": ["epsilon", "delta"],
    "whitehouse": ["delta", "epsilon", "squares"],
    "range": ["delta", "epsilon", "ranges"],
    "zcdp": ["delta", "epsilon", "rho"],
    "gdp": ["delta", "epsilon", "mu squared"],
    "moment": ["delta", "epsilon", "moment 12.5"],
    "weighted": ["delta", "epsilon", "moment 4.0", "moment 16.0"],
}
IN_POLICIES: list[dict[str, Any]] = [
    {"kind": "open", "filter": IN_FILTERS[0], "expected": [json.loads(IN_RELEASES[0])]},
    {"kind": "planned", "releases": {"people": [json.loads(IN_RELEASES[0])]}},
    {
        "kind": "dashboard",
        "queries": {"f00": {"dataset": "people", "releases": [json.loads(IN_RELEASES[0])]}},
    },
]
IN_CALLS = {
    *("abs", "ceil", "clamp", "coalesce", "day", "dow", "exp", "first_of_month", "first_of_year"),
    *("floor", "greatest", "least", "length", "ln", "log10", "lower", "month", "nullif", "quarter"),
    *("round", "sign", "sqrt", "substring", "upper", "year"),
}
IN_EVENTS = (
    *("account", "seq", "kind", "entry", "time", "analyst", "dataset", "purpose", "query"),
    *("releases", "detail", "answer", "previous", "hash"),
)
IN_ANSWERS = {
    *("version", "dataset", "columns", "confidence", "releases", "notes", "sql", "account"),
    *("receipt", "epsilon", "delta", "remaining"),
}
IN_ANSWER_COLUMNS = {
    *("name", "kind", "values", "standard_errors", "lower", "upper", "approximate"),
}


@dataclass(frozen=True)
class Moved:
    """A class that had another name once, and one field, called otherwise, only."""

    written: str
    added: bool = False


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class on the wire, as it should be when all this happened to it."""
    told = Wire(Moved, ("table",), renamed={"table": "written"}, later={"added": False})
    monkeypatch.setitem(QUESTIONS, "Scan", told)
    monkeypatch.setitem(wire._NAMES, Moved, ("Scan", told))


# Fingerprints.


def test_fingerprints_are_made_of_these_names_and_no_others() -> None:
    assert {name: wire.names for name, wire in (QUESTIONS | DRAWN).items()} == IN_FINGERPRINTS


def test_every_part_of_a_query_has_a_name() -> None:
    parts = {
        getattr(module, name)
        for module in (expressions, query)
        for name in module.__all__
        if is_dataclass(getattr(module, name))
    }
    assert {wire.kind for wire in QUESTIONS.values()} == parts


@pytest.mark.parametrize("name", IN_FINGERPRINTS)
def test_every_field_is_listed(name: str) -> None:
    told = (QUESTIONS | DRAWN)[name]
    assert not told.unlisted
    assert {told.renamed.get(each, each) for each in (*told.names, *told.later)} == {
        each.name for each in fields(told.kind)
    }


def test_the_frozen_questions_have_every_name_in_them() -> None:
    seen: dict[str, set[str]] = {"ColumnFacts": set(IN_FINGERPRINTS["ColumnFacts"])}  # in tables

    def look(told: Any) -> None:
        if isinstance(told, dict):
            seen.setdefault(told["is"], set()).update(set(told) - {"is"})
        for part in told.values() if isinstance(told, dict) else told:
            if isinstance(part, dict | list):
                look(part)

    for recorded in ANSWERED:
        look([recorded.told["query"], *filter(None, recorded.told["draws"])])
    younger = {
        "Beyond",
        "Dropped",
        "Excess",
        "GroupTotal",
        "Joint",
        "NoisyReach",
        "OptimalSelection",
        "PerUnit",
        "QuantileReach",
        "Reach",
        "ShownGroups",
        "Union",
        "UnitFigure",
        "UnitBins",
    }  # than the frozen questions
    assert seen == {
        name: set(names) for name, names in IN_FINGERPRINTS.items() if name not in younger
    }


@pytest.mark.usefixtures("moved")
def test_a_class_that_was_renamed_with_its_fields_is_written_as_before() -> None:
    assert to_wire(Moved("visits")) == to_wire(Scan("visits")) == {"is": "Scan", "table": "visits"}
    assert from_wire({"is": "Scan", "table": "visits"}) == Moved("visits")


@pytest.mark.usefixtures("moved")
def test_a_field_that_came_later_is_written_where_it_says_something_new() -> None:
    told = to_wire(Moved("visits", added=True))
    assert told == {"is": "Scan", "table": "visits", "added": True}
    assert from_wire(told) == Moved("visits", added=True)
    assert "added" in to_wire(Moved("visits", added=0))  # type: ignore[arg-type]  # is not False


def test_what_has_no_name_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrower(Column):
        """A class of somebody else."""

    for unknown in (Moved("visits"), Narrower("age"), object(), {"age": 1}, Column):
        with pytest.raises(TypeError):
            to_wire(unknown)
    monkeypatch.setitem(wire._NAMES, Moved, ("Scan", Wire(Moved, ("written",))))
    with pytest.raises(TypeError, match="fields of Scan are not listed: added"):
        to_wire(Moved("visits"))


def test_numbers_are_written_exactly() -> None:
    assert to_wire((Fraction(1, 3), 0.1, True, None, 7, "x")) == ["1/3", 0.1, True, None, 7, "x"]
    assert (
        json.dumps(to_wire(Constant(1.0, "real")))
        == '{"is": "Constant", "value": 1.0, "kind": "real"}'
    )


def test_functions_and_kinds_keep_their_names() -> None:
    assert set(FUNCTIONS) >= IN_CALLS
    assert set(get_args(Kind)) >= {"integer", "real", "text", "boolean", "date", "timestamp"}
    assert set(AGGREGATES) >= {
        *("count", "units", "distinct", "sum", "mean", "variance", "stddev", "quantile"),
    }


# The ledger.


@pytest.mark.parametrize("text", IN_RELEASES)
def test_a_release_is_written_letter_by_letter_as_it_was(text: str) -> None:
    assert release_from_json(text).to_json() == text


def test_every_release_is_among_them() -> None:
    assert {json.loads(text)["type"] for text in IN_RELEASES} == set(RELEASES)


@pytest.mark.parametrize("text", IN_FACTS)
def test_a_fact_is_written_letter_by_letter_as_it_was(text: str) -> None:
    assert fact_from_json(text).to_json() == text


def test_every_fact_is_among_them() -> None:
    assert {json.loads(text)["fact"] for text in IN_FACTS} == set(FACTS)


@pytest.mark.parametrize("told", IN_FILTERS, ids=lambda told: told["filter"])
def test_a_filter_is_written_as_it_was_and_has_the_same_meters(told: dict[str, Any]) -> None:
    made = filter_from_dict(told)
    assert made.to_dict() == told
    assert [meter.key for meter in made.meters] == METERS[told["filter"]]


def test_every_filter_is_among_them() -> None:
    assert [told["filter"] for told in IN_FILTERS] == list(FILTERS)


@pytest.mark.parametrize("policy", IN_POLICIES, ids=lambda policy: policy["kind"])
def test_an_account_is_written_as_it_was(policy: dict[str, Any]) -> None:
    told = {
        "name": "trial",
        "epsilon": 3.0,
        "delta": 1e-5,
        "datasets": ["people"],
        "policy": policy,
        "membership": json.loads(IN_FACTS[0]),
        "neighbours": "replace",
        "shares": [{"analyst": "*", "epsilon": 3.0, "delta": 1e-5, "filter": IN_FILTERS[0]}],
        "beside": True,
    }
    assert AccountDefinition.from_dict(told).to_dict() == told
    assert set(NEIGHBOURS) >= {"add_remove", "replace", "replace_record"}


def test_events_are_of_these_kinds_and_columns() -> None:
    assert KINDS == (
        "opened",
        "reserved",
        "imported",
        "released",
        "void",
        "closed",
        "clock",
        "restored",
        "drawing",
        "declared",
        "refreshed",
        "submitted",
        "approved",
        "declined",
    )
    assert COLUMNS == IN_EVENTS


def test_an_answer_is_written_as_it_was() -> None:
    column = AnswerColumn(name="n", kind="integer", values=(7,))
    told = json.loads(
        Answer(dataset="visits", columns=(column,), confidence=0.95, releases=()).to_json()
    )
    assert told["version"] == 1
    assert set(told) == IN_ANSWERS
    assert set(told["columns"][0]) == IN_ANSWER_COLUMNS
