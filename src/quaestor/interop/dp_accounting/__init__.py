"""Google's dp-accounting: its events as our releases, and our engine as one of its accountants.

>>> import dp_accounting
>>> event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
>>> accountant = QuaestorAccountant().compose(event, 1000)
>>> round(accountant.get_epsilon(target_delta=1e-6), 4)
2.1245

An event says how much noise there is for values of a bounded norm. What that is worth depends on
the neighbouring relation: a person who comes or goes moves a sum by that norm, one who is replaced
by another moves it by twice as much. Where a parameter has to be converted, it is rounded to the
side of more loss. What is not certain is refused.
"""

from __future__ import annotations

from quaestor.interop.dp_accounting.accountant import QuaestorAccountant
from quaestor.interop.dp_accounting.conversion import from_dp_event, to_dp_event
from quaestor.interop.dp_accounting.events import event_from_text

__all__ = ["QuaestorAccountant", "event_from_text", "from_dp_event", "to_dp_event"]
