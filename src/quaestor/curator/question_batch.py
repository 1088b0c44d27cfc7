"""Many questions at once: charged in order, measured together, answered or refused each by itself.

Prices, refusals and laws are those of asking one after the other. What a charge depends on is the
ledger, in which a question that is charged counts whether or not it is answered yet.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.answers.answer import Answer
from quaestor.curator.auto_bounds import answered_auto
from quaestor.curator.charged_questions import ChargedQuestion, released
from quaestor.curator.engines.stop import refuse_stopped
from quaestor.curator.inquiry import auto_of
from quaestor.curator.pipeline import charged, priced
from quaestor.errors import AnswerPending, QuaestorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.engines.engine import EnginePool
    from quaestor.curator.pipeline import Inquiry, Payers, Progress

__all__ = ["MOST_HELD", "QuestionBatch"]

MOST_HELD = 32
"""How many charges are held before their questions are measured: each renews a lease meanwhile."""


class QuestionBatch:
    """Asks questions in order; those that are charged one after the other are measured together.

    What cannot wait for others (a repetition of a question that is held, one that somebody else is
    asking just now, one whose bounds are chosen first) is asked by itself, after those before it
    are answered: two batches never wait for each other.
    """

    def __init__(  # whom questions pass on their way
        self,
        *,
        catalog: Catalog,
        accounts: Payers,
        engines: EnginePool,
        progress: Progress,
        time_step: float = 0.0,
    ) -> None:
        """Nothing is asked yet."""
        self._catalog, self._accounts, self._engines = catalog, accounts, engines
        self._progress, self._time_step = progress, time_step
        self._leases = ExitStack()
        self._held: list[tuple[int, ChargedQuestion]] = []
        self._outcomes: dict[int, Answer | Exception] = {}

    def outcomes(self, inquiries: Sequence[Inquiry]) -> list[Answer | QuaestorError]:
        """An answer, or the error that asking it alone would raise, for each question.

        An error that nobody has foreseen is raised once all other questions are answered.
        """
        found = dict(self.each(inquiries))
        known: list[Answer | QuaestorError] = []
        for at in range(len(inquiries)):
            outcome = found[at]
            if not isinstance(outcome, Answer | QuaestorError):
                raise outcome
            known.append(outcome)
        return known

    def each(self, inquiries: Sequence[Inquiry]) -> Iterator[tuple[int, Answer | Exception]]:
        """The place of a question and its outcome, as soon as that is known.

        Once the batch is stopped, nothing more is charged.
        """
        with self._leases:
            for at, inquiry in enumerate(inquiries):
                try:
                    refuse_stopped()
                    self._ask(at, inquiry)
                except QuaestorError as error:
                    self._outcomes[at] = error.with_traceback(None)
                except Exception as error:  # noqa: BLE001  # the others are answered all the same
                    self._outcomes[at] = error
                if len(self._held) >= MOST_HELD:
                    self._answer_held()
                yield from self._known()
            self._answer_held()
            yield from self._known()

    def _known(self) -> Iterator[tuple[int, Answer | Exception]]:
        while self._outcomes:
            yield self._outcomes.popitem()

    def _ask(self, at: int, inquiry: Inquiry) -> None:
        auto = auto_of(inquiry)
        if auto is not None:
            self._answer_held()
            self._outcomes[at] = answered_auto(
                auto,
                inquiry,
                catalog=self._catalog,
                accounts=self._accounts,
                engines=self._engines,
                progress=self._progress,
                time_step=self._time_step,
            )
            return
        payer, asked = priced(inquiry, catalog=self._catalog, accounts=self._accounts)
        same = (payer.name, asked.dataset, asked.fingerprint)
        held = [(q.payer.name, q.asked.dataset, q.asked.fingerprint) for _, q in self._held]
        if same in held and not inquiry.anew:
            self._answer_held()
        try:
            found = charged(
                asked,
                replace(inquiry, patience=0.0) if self._held else inquiry,
                payer=payer,
                accounts=self._accounts,
                engines=self._engines,
                progress=self._progress,
            )
        except AnswerPending:
            if not self._held:
                raise
            self._answer_held()
            self._ask(at, inquiry)
            return
        if isinstance(found, Answer):
            self._outcomes[at] = found
        else:
            self._leases.enter_context(found.charge)
            self._held.append((at, found))

    def _answer_held(self) -> None:
        """Measure, draw and settle all that is charged."""
        held, self._held = self._held, []
        if held:
            questions = [question for _, question in held]
            made: Sequence[Answer | Exception]
            try:
                made = released(questions, self._engines, self._progress, self._time_step)
            except Exception as error:  # noqa: BLE001  # each of them has an outcome
                made = [error] * len(held)
            self._leases.close()
            self._outcomes.update({at: one for (at, _), one in zip(held, made, strict=True)})
