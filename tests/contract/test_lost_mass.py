"""An old account with sampled releases whose law had lost its mass: it is overdrawn.

Each of the 401 releases has a delta of 0.01, since the noise of sigma 0.1 hides nothing of a change
of 8: whoever is in the sample is seen. At epsilon 1 one of them is already beyond a delta of 1e-6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.expressions import parse_releases
from quaestor.errors import AccountOverdrawn, BudgetExceeded
from quaestor.ledger import AccountDefinition, Ledger
from tests.contract.old_promises import ACCOUNTS, copied, loaded

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = "PoissonSampled(release=DiscreteGaussian(sigma=0.1, sensitivity=8), rate=0.01)"


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_account_that_was_charged_too_little_is_overdrawn(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    location = (
        copied(tmp_path) if store == "sqlite" else loaded(request.getfixturevalue("database"))
    )
    with Ledger(location, create=False) as old:
        account = old.account("lost mass")
        assert "overdrawn" in str(account.problem())
        assert account.verify().head == ACCOUNTS["lost mass"]["head"]
        assert "overdrawn" in str(account.verify().problem)
        with pytest.raises(AccountOverdrawn):
            account.reserve(parse_releases("PureDP(epsilon=0.0001)"))
        stored = account.answer("f00")
        assert stored is not None
        assert stored.text == "answer of lost mass"


def test_a_new_account_takes_none_of_them(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = ledger.open_account(
            AccountDefinition(name="new", epsilon=1.0, delta=1e-6, datasets=("people",))
        )
        with pytest.raises(BudgetExceeded):
            account.reserve(parse_releases(RELEASE))
