"""A record of the OpenDP deployments registry, at its tier 3.

The fields are those of ``schemas/deployments-schema.yaml`` in the repository
opendp/deployments-registry-data at commit 057e5d81cf60150dd3307e0cf4504b957802fb3b. What stands as
TO BE FILLED IN must be replaced before the registry's own check accepts the record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from quaestor.curator.reports.deployment_facts import to_fill_in
from quaestor.curator.reports.yaml_text import yaml_text

if TYPE_CHECKING:
    from quaestor.curator.reports.deployment_facts import ReportFacts

__all__ = ["registry_record"]

_PRODUCTS = (
    "Summary statistics, Machine learning model, Dataset, Synthetic data, Interactive API, "
    "SQL queries"
)
_SECTORS = "Technology, Healthcare, Education, Government, Energy, Finance"


def registry_record(facts: ReportFacts) -> str:
    """The record as YAML."""
    slug = re.sub(r"[^a-z0-9]+", "-", facts.definition.name.lower()).strip("-") or "deployment"
    deployment = {
        "basic": _basic(facts),
        "dp_variant": _variant(facts),
        "privacy_loss": _privacy_loss(facts),
        "deployment_model": _model(facts),
        "implementation": _implementation(facts),
        "administrative": {
            "status": "Draft",
            "registry_authors": [to_fill_in("who wrote this record")],
            "tier": 3,
        },
    }
    return yaml_text({"url_slug": slug, "deployment": deployment})


def _basic(facts: ReportFacts) -> dict[str, Any]:
    curator = {
        "data_curator_name": to_fill_in("who publishes the data product"),
        "data_curator_type": to_fill_in("one of Government, Industry, Nonprofit"),
    }
    first = to_fill_in("the date of the first publication, YYYY-MM-DD")
    return {
        "name": facts.definition.name,
        "data_curators": [curator],
        "description": to_fill_in("what the data product is, in a few words"),
        "intended_use": to_fill_in("what the data product is for"),
        "data_product_type": to_fill_in(f"one of {_PRODUCTS}"),
        "data_product_region": to_fill_in("the region that the data describe"),
        "data_product_sector": to_fill_in(f"one of {_SECTORS}"),
        "publication_date": first if facts.first is None else facts.first[:10],
    }


def _variant(facts: ReportFacts) -> dict[str, Any]:
    datasets = ", ".join(facts.definition.datasets)
    columns = "; ".join(
        f"table {t.name} with {len(t.columns)} declared columns" for t in facts.tables
    )
    domain = f"Datasets {datasets}" + (f" ({columns})" if columns else "")
    return {
        "variant_name": "Approximate DP" if facts.definition.delta else "Pure DP",
        "data_domain": f"{domain}. {to_fill_in('which data these are')}",
        "unprotected_quantities": to_fill_in(
            "figures released without noise, if any; declared bounds, keys and catalogs are public"
        ),
    }


def _scope(facts: ReportFacts) -> str:
    calendar = facts.definition.policy.calendar
    if calendar is None:
        return "All answers of the account together are within these parameters."
    return f"The budget is by the {calendar.every}: {facts.target}. {facts.words}"


def _privacy_loss(facts: ReportFacts) -> dict[str, Any]:
    definition = facts.definition
    whole = definition.policy.in_all(definition)
    if whole is None:
        parameters: Any = to_fill_in("the account promises nothing in all, only for each block")
    else:
        parameters = {"epsilon": whole[0], **({"delta": whole[1]} if whole[1] else {})}
    units = facts.units or to_fill_in("the column that identifies a person, and what of it counts")
    known = (
        ""
        if definition.membership is None
        else f" Known of memberships: {definition.membership!r}."
    )
    return {
        "privacy_unit": to_fill_in("such as person, household or device-day")
        if not facts.tables
        else f"Person, by {', '.join(sorted({str(t.unit) for t in facts.tables}))}",
        "privacy_unit_details": f"{facts.adjacency}{known} {units}",
        "number_of_privacy_units": to_fill_in("about how many people, a whole number"),
        "privacy_parameters": parameters,
        "privacy_parameters_details": (
            f"{_scope(facts)} {facts.odometer} Is more lost to other accounts? {facts.beside}"
        ),
    }


def _model(facts: ReportFacts) -> dict[str, Any]:
    dashboard = facts.definition.policy.by_query
    once = facts.closed and facts.statuses["released"] == 1
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the data as collected and adds the noise.",
        "trust_assumptions": to_fill_in("whom people must trust, and why that is reasonable"),
        "actors": to_fill_in("who sees the data, the answers and the ledger"),
        "release_type": "One release" if once else "Many releases",
        "release_type_details": (
            f"Charges: {facts.entries}. The budget is fixed and is never set back; the account is "
            f"{'closed' if facts.closed else 'open'}."
        ),
        "data_source_type": to_fill_in("Static or Dynamic"),
        "data_source_type_details": to_fill_in("whether new data come in, and how often"),
        "access_type": "Non-interactive" if dashboard else "Interactive",
        "access_type_details": facts.quotas,
    }


def _implementation(facts: ReportFacts) -> dict[str, Any]:
    return {
        "preprocessing_and_hyperparameter_tuning": to_fill_in(
            "how data were prepared, how parameters were chosen, and whether that was accounted for"
        ),
        "mechanisms": (
            f"{facts.released} Accounted for by {facts.library}. "
            + to_fill_in(
                "what draws the noise; the security of the data, and who has access to them"
            )
        ),
        "composition": f"{facts.composition} {facts.words}",
        "post_processing": to_fill_in("what is done with answers afterwards, such as rounding"),
        "justification": to_fill_in("why these parameters, this unit and this budget"),
        "utility": to_fill_in("how accurate the data product is for its use"),
        "additional_information": f"Head of the account's chain of entries: {facts.head}",
    }
