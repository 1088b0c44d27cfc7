"""A worksheet after NIST SP 800-226, filled in as far as a ledger can.

The publication (Near, Darais, Lefkovitz, Howarth, March 2025) names what a guarantee depends on,
from epsilon and the unit of privacy down to the collection of the data. The worksheet asks about
each of these in our own words; it is not a form of NIST's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.reports.deployment_facts import to_fill_in

if TYPE_CHECKING:
    from quaestor.curator.reports.deployment_facts import ReportFacts

__all__ = ["nist_worksheet"]


def nist_worksheet(facts: ReportFacts) -> str:
    """The worksheet as Markdown."""
    name = facts.definition.name
    lines = [
        f"# Evaluating the differential privacy guarantee of {_plain(name)}",
        "",
        (
            "After NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees "
            "(March 2025, https://doi.org/10.6028/NIST.SP.800-226). Figures come from the ledger; "
            "what only a person can say is marked TO BE FILLED IN."
        ),
    ]
    for title, answers in _sections(facts):
        lines += ["", f"## {title}", ""]
        lines += [f"- **{question}** {_plain(answer)}" for question, answer in answers]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """On one line, and without markup of its own."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _sections(facts: ReportFacts) -> list[tuple[str, list[tuple[str, str]]]]:
    definition = facts.definition
    units = facts.units or to_fill_in("the column that identifies a person in each table")
    kind = "pure" if not definition.delta else "approximate"
    return [
        (
            "Privacy parameters",
            [
                (
                    "What is guaranteed?",
                    f"{facts.target} ({kind} differential privacy). {facts.words}",
                ),
                ("How much was used so far?", facts.odometer),
                ("Why is this epsilon strong enough?", to_fill_in("the reasons, and who decided")),
                ("Is delta small beside one over the number of people?", to_fill_in("the number")),
            ],
        ),
        (
            "Unit of privacy",
            [
                ("Whose data are protected?", f"{units}."),
                ("Which worlds are compared?", facts.adjacency),
                (
                    "Can one person be several units?",
                    to_fill_in("such as several devices or accounts of one person"),
                ),
            ],
        ),
        (
            "Composition, and other releases of the same data",
            [
                ("How do losses add up?", facts.composition),
                ("How many charges were made?", f"{facts.entries}."),
                ("Is the same data covered by another budget?", facts.beside),
                (
                    "Are the data released in any other way?",
                    to_fill_in("releases without differential privacy, or outside this ledger"),
                ),
            ],
        ),
        (
            "Algorithms, accuracy and bias",
            [
                ("Which mechanisms are used?", f"{facts.released} Library: {facts.library}."),
                (
                    "Are answers accurate enough for their use?",
                    to_fill_in("for which use, how it was checked"),
                ),
                (
                    "Whom do noise and bounds hurt most?",
                    to_fill_in("systemic, human and statistical bias; small groups"),
                ),
            ],
        ),
        (
            "Trust model and query model",
            [
                (
                    "Who holds the data as collected?",
                    "A curator, who is trusted: the central model.",
                ),
                ("Who may ask, and how is the budget divided?", facts.quotas),
                ("Whom must people trust, and why?", to_fill_in("the actors and the assumptions")),
            ],
        ),
        (
            "Implementation, security and access",
            [
                (
                    "Are floating point, timing and other side channels closed?",
                    f"Where {facts.library} draws the noise, see its guide to attacks. "
                    + to_fill_in("what of your own deployment adds to it"),
                ),
                (
                    "Who can read the data before noise?",
                    to_fill_in("access control, storage, logs"),
                ),
                (
                    "Can charges be changed afterwards?",
                    f"Entries are chained by hashes; the head is {facts.head}. "
                    + to_fill_in("where heads are noted outside the ledger"),
                ),
            ],
        ),
        (
            "Collection of the data",
            [
                (
                    "Are only the data collected that are needed?",
                    to_fill_in("what is collected, and for how long"),
                ),
                ("What were people told?", to_fill_in("notice, consent, legal basis")),
            ],
        ),
    ]
