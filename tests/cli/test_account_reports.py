"""``account history`` and ``account report``: the ledger in pictures, tables and other's forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.reports.yaml_text import yaml_text
from tests.curator.hospital import write_hospital
from tests.oracles.yaml import read_yaml

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.cli.running import Run

OPEN = ("account", "open", "trial", "--epsilon", "2", "--delta", "1e-6", "--dataset", "patients")
QUOTAS = ("--quota", "ann=0.5", "--quota", "bob=2")
MARK = "TO BE FILLED IN: "
# the fields of the registry's schema: see quaestor.curator.reports.registry_record
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region "
    "data_product_sector publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type "
    "release_type_details data_source_type data_source_type_details access_type "
    "access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition "
    "post_processing justification utility additional_information",
    "administrative": "status registry_authors tier",
}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)


def charge(run: Run, epsilon: float, *more: str) -> None:
    assert run("account", "charge", "trial", f"PureDP(epsilon={epsilon})", *more).status == 0


def test_a_history_leads_with_epsilon_and_counts(quaestor: Run) -> None:
    quaestor(*OPEN)
    assert "no charges yet" in quaestor("account", "history", "trial").out
    for _ in range(3):
        charge(quaestor, 0.25)
    lines = quaestor("account", "history", "trial", "--last", "2").out.splitlines()
    assert lines[0] == "account trial: epsilon 2, delta 1e-6"
    assert lines[1] == "privacy loss so far: epsilon 0.75 at delta 1e-6; 62.5 % of the budget left"
    assert lines[2] == "changes: 3 charged, 0 imported, 0 void"
    assert lines[-1] == "and 1 earlier; --last 3 shows all"


def test_a_history_for_programs_has_every_point(quaestor: Run) -> None:
    quaestor(*OPEN)
    charge(quaestor, 0.25)
    charge(quaestor, 0.5)
    found = quaestor("account", "history", "trial", "--json").json
    assert [point["epsilon"] for point in found["points"]] == [0.25, 0.75]
    assert [point["used"] for point in found["points"]] == [0.125, 0.375]
    place = found["meters"].index("epsilon")
    assert [point["spent"][place] for point in found["points"]] == [0.25, 0.75]
    assert found["plot"] is None


def test_a_history_is_drawn(quaestor: Run, tmp_path: Path) -> None:
    quaestor(*OPEN)
    charge(quaestor, 0.25)
    done = quaestor("account", "history", "trial", "--plot", "burn.png")
    assert done.out.endswith("figure written to burn.png\n")
    assert (tmp_path / "burn.png").read_bytes().startswith(b"\x89PNG")
    refused = quaestor("account", "history", "trial", "--plot", "burn.txt", "--json")
    assert (refused.status, refused.error["code"]) == (2, "invalid_parameter")


def test_an_analyst_is_shown_the_own_quota_only(quaestor: Run) -> None:
    quaestor(*OPEN, *QUOTAS)
    for name, epsilon in (("bob", 0.75), ("ann", 0.25), ("bob", 0.125), ("ann", 0.125)):
        charge(quaestor, epsilon, "--analyst", name)
    found = quaestor("account", "history", "trial", "--analyst", "ann", "--json").json
    seen = [(point["number"], point["epsilon"], point["used"]) for point in found["points"]]
    assert seen == [(1, 0.25, 0.5), (2, 0.375, 0.75)]
    assert (found["analyst"], found["epsilon"]) == ("ann", 0.5)
    shown = quaestor("account", "history", "trial", "--analyst", "ann").out
    assert "receipt" in shown
    assert "bob" not in shown
    assert quaestor("account", "history", "trial", "--analyst", "eve").status != 0


def test_a_registry_record_has_the_fields_of_tier_3(quaestor: Run, tmp_path: Path) -> None:
    quaestor(*OPEN)
    charge(quaestor, 0.25, "--purpose", "a secret purpose", "--analyst", "ann")
    said = quaestor("account", "report", "trial", "--format", "registry", "--out", "trial.yaml").out
    text = (tmp_path / "trial.yaml").read_text(encoding="utf-8")
    assert said == f"written to trial.yaml; {text.count(MARK)} answers are TO BE FILLED IN\n"
    record = read_yaml(text)
    assert set(record) == {"url_slug", "deployment"}
    deployment: dict[str, Any] = record["deployment"]
    assert {name: " ".join(section) for name, section in deployment.items()} == FIELDS
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["administrative"]["tier"] == 3
    assert "PureDP (1)" in deployment["implementation"]["mechanisms"]
    assert deployment["basic"]["intended_use"].startswith(MARK)
    assert "epsilon 0.25 was lost" in deployment["privacy_loss"]["privacy_parameters_details"]
    assert "secret" not in text
    assert "ann" not in text.replace("cannot", "").split()


def test_a_worksheet_answers_from_the_ledger_and_marks_the_rest(quaestor: Run) -> None:
    quaestor(*OPEN)
    charge(quaestor, 0.25)
    quaestor("account", "open", "other", "-e", "1", "-d", "0", "--dataset", "patients", "--beside")
    text = quaestor("account", "report", "trial", "--format", "nist").out
    assert text.startswith("# Evaluating the differential privacy guarantee of trial\n")
    assert "**What is guaranteed?** epsilon 2.0, delta 1e-06" in text
    assert "At most epsilon 0.25 was lost so far" in text
    assert "**How many charges were made?** 1 released, 0 reserved, 0 void." in text
    assert "Yes, by other: people in the same datasets" in text
    described = quaestor("account", "report", "trial", "--format", "nist", "--json").json
    assert described == {
        "account": "trial",
        "format": "nist",
        "to_fill_in": text.count(MARK),
        "text": text,
    }


def test_a_report_takes_the_unit_from_the_catalog(quaestor: Run, tmp_path: Path) -> None:
    account = "[accounts.research]\nepsilon = 2.0\ndelta = 0\n"
    catalog = write_hospital(tmp_path, accounts=account)
    open_from_catalog(read_catalog(catalog), "research")
    text = quaestor("account", "report", "research", "--format", "registry").out
    loss = read_yaml(text)["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 2.0}
    assert not loss["privacy_unit"].startswith(MARK)
    assert "rows in each of" in loss["privacy_unit_details"]


@given(
    st.recursive(
        st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "b_c", "yes"]), inner, min_size=1)
        ),
        max_leaves=8,
    )
)
def test_yaml_is_read_back_as_it_was(value: Any) -> None:
    assert read_yaml(yaml_text({"value": value})) == {"value": value}
