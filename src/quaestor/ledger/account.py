"""An account of a ledger: charges, prices, balances, entries and answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from quaestor.errors import (
    AccountOverdrawn,
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupted,
)
from quaestor.ledger import stored_text as texts
from quaestor.ledger.account_limits import AccountLimits
from quaestor.ledger.account_view import AccountView
from quaestor.ledger.approvals import (
    Proposal,
    Submission,
    decide,
    read_submissions,
    submission,
    submit,
)
from quaestor.ledger.cashier import Cashier
from quaestor.ledger.charge import PATIENCE, Charge, claim, original
from quaestor.ledger.jobs import KeyedCharge, seen_answers
from quaestor.ledger.journal.data_versions import DataVersion, version_between
from quaestor.ledger.journal.declarations import declare
from quaestor.ledger.price import AnswerReader, chosen_audience
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.declarations import DatasetDigests
    from quaestor.ledger.price import Balance, Price, Request
    from quaestor.ledger.store.base import Store

__all__ = ["Account", "StoredAnswer"]


_STATE_IT = (
    "Without a statement, a history is charged by the sum of its epsilons and "
    "deltas; if the account's filter was fixed before it began, state so with "
    "fixed_before (--fixed-before)"
)


class _AnswerPair(NamedTuple):
    entry: int
    text: str


class StoredAnswer(_AnswerPair):  # a pair for those who take it apart
    """An answer as it was released, word for word, with the entry that paid for it.

    >>> stored = StoredAnswer(1, "42")
    >>> stored.entry, stored.text
    (1, '42')
    """

    version: str = ""
    """The version of the data that it is of; empty if no refresh was recorded before it."""
    blocks: tuple[str, ...] = ()
    """The blocks of time that it is of, where the account has a budget for each."""

    @classmethod
    def of(cls, entry: int, text: str, *, version: str, blocks: tuple[str, ...] = ()) -> Self:
        """An answer of that version, and of these blocks."""
        made = cls(entry, text)
        made.version, made.blocks = version, blocks
        return made


class Account(AccountView):
    """One account. Made by a :class:`Ledger`; it remembers nothing that its store does not know.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor import PureDP
    >>> from quaestor.ledger import AccountDefinition, Ledger
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     account = ledger.open_account(trial)
    ...     with account.reserve(PureDP(epsilon=0.25)) as charge:
    ...         charge.release("42")
    ...     account.price(PureDP(epsilon=0.875)).fits
    False
    """

    def __init__(self, store: Store, definition: AccountDefinition) -> None:
        """Keep the definition, which never changes."""
        self._store, self.definition = store, definition
        self._cashier = Cashier(store, AccountLimits(definition))

    def __repr__(self) -> str:
        """The name, the policy and the target."""
        d = self.definition
        return f"<account {d.name!r}, {d.policy.kind}, epsilon {d.epsilon:g}, delta {d.delta:g}>"

    @property
    def name(self) -> str:
        """What the account is called."""
        return self.definition.name

    def _relative(self, definition: AccountDefinition) -> Account:
        return Account(self._store, definition)

    def _refuse_broken_plan(self) -> None:
        if self.definition.policy.checked_again and (problem := self._plan_problem()) is not None:
            raise AccountOverdrawn(self.name, reason=problem)

    # Charging.

    def reserve(  # noqa: PLR0913  # what an entry says
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        key: str = "",
        blocks: Sequence[str] = (),
        approval: str = "",
        audience: str = "",
        member_of: Sequence[str] = (),
        question: str = "",
    ) -> Charge:
        """Charge for releases that are about to be made: one durable transaction, or an error.

        Args:
            releases: descriptions of what will be released.
            dataset: what it is about; may be left out where the account has one dataset.
            analyst: who asks; needed where the account has quotas.
            purpose: why, in one line.
            query: the question's fingerprint, under which its answer will be found again.
            query_text: the query itself, of which ``query`` is the SHA-256 and may be left out.
                A dashboard needs it: its queries are fixed by what they ask.
            key: a name of the caller's for this charge. The same key again, from any process and
                at any time, is the same charge and pays nothing: for whoever does not know
                whether an earlier attempt was charged.
            blocks: the blocks of time whose rows are read, such as ``2024-03``, where the account
                has a budget for each; every one of them pays.
            approval: what :meth:`submit` has returned, where the account demands approval.
            audience: who may see the stored answer: ``analyst``, ``everybody`` on the account or
                ``group:NAME``. If left out: the analyst where there are quotas, else everybody.
            member_of: the groups that the analyst is in, beside those that the account declares.
            question: the id of the service's question whose only charge this is, if it is one's;
                with a key.

        Raises:
            KeyReused: the key belongs to a charge that says something else.
            BudgetExceeded: it does not fit; nothing was charged, and the account goes on. Where
                there are quotas it has figures of the analyst's quota, or none at all.
            ApprovalNeeded: the account demands approval, and there is none for exactly this.
            AccountOverdrawn: by today's prices and theorems the account promised too much.
        """
        self._refuse_broken_plan()
        request = self._request(
            releases,
            dataset=dataset,
            analyst=analyst,
            purpose=purpose,
            query=query,
            query_text=query_text,
            blocks=blocks,
            approval=approval,
            reader=self._reader(analyst, member_of),
            audience=audience,
        )
        if not key:
            (entry,) = self._cashier.charge("reserved", [request])
            return Charge(self._cashier, request, entry=entry)
        once = KeyedCharge(self.name, request, key=key, question=question)
        job = self._cashier.charge_once(request, once)
        return Charge(self._cashier, request, entry=job.entry, job=job, repeated=not job.new)

    def _request(
        self,
        releases: Sequence[Release] | Release,
        *,
        query_text: str | None,
        reader: AnswerReader,
        audience: str,
        approval: str = "",
        **said: Any,
    ) -> Request:
        request = self.definition.request(releases, query_text=query_text, **said)
        if approval:
            with self._store.reading() as session:
                found = submission(session, self.name, approval)
            asked = found.question(request) or found  # what it is not is said under the lock
            purpose = request.purpose or asked.purpose
            request = replace(request, approval=asked.id, purpose=purpose)
        if audience:
            kept = chosen_audience(
                audience, analyst=reader.analyst, member_of=reader.member_of, quotas=reader.quotas
            )
            request = replace(request, audience=kept)
        if query_text is None and self.definition.policy.needs_query_text:
            valid = "given: a dashboard account needs the text of the query, not its digest"
            raise InvalidParameter("query_text", None, valid)
        return request

    def _reader(self, analyst: str, member_of: Sequence[str]) -> AnswerReader:
        """Whoever asks; who is in a group that the account declares is not for callers to say."""
        declared = {each.group for each in self.definition.groups}
        groups = [each.group for each in self.definition.groups_of(analyst)]
        groups += [each for each in member_of if each not in declared]
        quotas = bool(self.definition.shares)
        outside = quotas and self.definition.quota(analyst) is None
        return AnswerReader(analyst, tuple(groups), quotas, outside)

    def claim(  # noqa: PLR0913  # as for a reservation
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        audience: str = "",
        member_of: Sequence[str] = (),
        patience: float = PATIENCE,
        blocks: Sequence[str] = (),
        approval: str = "",
        question: str = "",
    ) -> Charge | StoredAnswer:
        """The stored answer to a question or, if it has none, a charge to answer it with.

        A question is answered once for one charge, however many ask it at the same time, in
        whatever process: whoever comes second waits for the answer of the first. A charge that
        was left behind before its noise was drawn is taken over and completed, and costs nothing
        more; see :mod:`quaestor.ledger.jobs`. Use the charge as a context manager: it is held
        meanwhile. Parameters are those of :meth:`reserve`; ``patience`` is how many seconds to
        wait for somebody else's answer.

        Raises:
            ChargeSettled: whoever was waited for has failed. A later repeat completes the charge.
            AnswerPending: somebody is still at work on the same question.
            BudgetExceeded: it does not fit; nothing was charged.
        """
        self._refuse_broken_plan()
        reader = self._reader(analyst, member_of)
        request = self._request(
            releases,
            dataset=dataset,
            analyst=analyst,
            purpose=purpose,
            query=query,
            query_text=query_text,
            blocks=blocks,
            approval=approval,
            reader=reader,
            audience=audience,
        )
        texts.name("query", request.query)

        def stored() -> StoredAnswer | None:
            return self.answer(
                request.query,
                dataset=request.dataset,
                analyst=analyst,
                member_of=member_of,
                blocks=request.blocks,
            )

        found = claim(
            self._cashier, request, stored, reader=reader, patience=patience, question=question
        )
        if isinstance(found, StoredAnswer):
            return found
        if not found.new:
            request = original(self._cashier, request, entry=found.entry)
        return Charge(self._cashier, request, entry=found.entry, job=found, repeated=not found.new)

    # Approval.

    def submit(  # noqa: PLR0913  # what a charge says
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        purpose: str = "",
        query: str = "",
        query_text: str | None = None,
        blocks: Sequence[str] = (),
    ) -> str:
        """Ask for approval of a charge; it costs nothing. The id under which it is decided about.

        Parameters are those of :meth:`reserve`. Somebody else approves it; then :meth:`reserve`
        or :meth:`claim`, with the same parameters and the id, charges for it once.
        """
        asked = Proposal(
            releases=releases,
            dataset=dataset,
            purpose=purpose,
            query=query,
            query_text=query_text,
            blocks=blocks,
        )
        return self.submit_plan([asked], analyst=analyst)

    def submit_plan(
        self, questions: Sequence[Proposal], *, analyst: str = "", purpose: str = ""
    ) -> str:
        """Ask for approval of several charges together; it costs nothing. One id for all of them.

        Somebody else approves the plan, or declines it, as a whole. Then :meth:`reserve` or
        :meth:`claim`, with the parameters of one of the questions and the id, charges for that
        question, once, in any order. ``purpose`` is for questions that say none themselves.
        """
        self._refuse_broken_plan()
        if not isinstance(questions, list | tuple) or not all(
            isinstance(each, Proposal) for each in questions
        ):
            raise InvalidParameter("questions", questions, "a list of Proposal(...)")
        requests = [
            self._request(
                each.releases,
                dataset=each.dataset,
                analyst=analyst,
                purpose=each.purpose or purpose,
                query=each.query,
                query_text=each.query_text,
                blocks=each.blocks,
                reader=self._reader(analyst, ()),
                audience="",
            )
            for each in questions
        ]
        for request in requests:
            self._cashier.limits.check(request)
        return submit(self._store, self.definition, requests)

    def approve(self, submitted: str, *, by: str, reason: str = "") -> None:
        """Let somebody else's submission be asked, once; of a plan, each question once."""
        decide(self._store, self.definition, submitted, by=by, reason=reason, approve=True)

    def decline(self, submitted: str, *, by: str, reason: str = "") -> None:
        """Do not let somebody else's submission be asked; this is recorded, and for good."""
        decide(self._store, self.definition, submitted, by=by, reason=reason, approve=False)

    def approvals(self, *, analyst: str = "") -> tuple[Submission, ...]:
        """What was submitted and what became of it: of one analyst or, for who decides, of all."""
        with self._store.reading() as session:
            found = read_submissions(session, self.name)
        return tuple(each for each in found if analyst in ("", each.analyst))

    def import_history(
        self,
        releases: Mapping[str, Sequence[Release]],
        *,
        purpose: str,
        analyst: str = "",
        fixed_before: str = "",
    ) -> tuple[int, ...]:
        """Charge for what was released elsewhere, by dataset: for all of it or, if need be, none.

        A history is a list that was *realised*: which releases it has may depend on their answers.
        The account's filter, or its plan, holds for it only if it was fixed before the history
        began. Without a statement that it was, an open account charges the basic sum, which holds
        for realised lists whenever the filter was chosen; other accounts take no history.

        Args:
            releases: what was released, of each dataset. All of it: what is left out is not
                covered.
            purpose: why, in one line.
            analyst: who asked; needed where the account has quotas.
            fixed_before: a statement, in one line, that the account's filter (or plan) was fixed
                before the first of these releases, by whom, and where that is written. It is
                kept in the chain and shown with the account's promise.

        Returns the numbers of the new entries, which are released from the start.
        """
        self._refuse_broken_plan()
        if not isinstance(releases, dict) or not releases:
            raise InvalidParameter("releases", releases, "lists of releases by dataset")
        statement = texts.line("fixed_before", fixed_before).strip()
        if not statement and not self.definition.policy.takes_realised:
            raise InvalidParameter(
                "fixed_before",
                fixed_before,
                (
                    "a statement that the plan was fixed before the history began, with who "
                    "fixed it and where that is documented. Without one, import the history into "
                    "an account with policy open"
                ),
            )
        requests = [
            replace(
                self.definition.request(listed, dataset=dataset, analyst=analyst, purpose=purpose),
                realised=not statement,
                statement=statement,
            )
            for dataset, listed in releases.items()
        ]
        try:
            return self._cashier.charge("imported", requests)
        except AccountOverdrawn:
            raise
        except BudgetExceeded as refused:
            raise refused if statement else refused.advise(_STATE_IT) from None

    def price_again(self) -> None:
        """Price the whole history by today's costs, if it was priced by those of another day.

        Accounts that are found by name are priced again by themselves.
        """
        self._cashier.price_again()

    def declare(self, dataset: str, declared: DatasetDigests) -> None:
        """Record in the chain what is declared of a dataset, if that has changed.

        Raises:
            SourceKnown: its source was paid for under another name: by another account, and this
                one was not opened beside it, or as another dataset of this one.
        """
        with self._store.reading() as session:
            rows = session.rows(sql.DECLARATIONS_OF, account=self.name)
        last = next((text for name, _, text in reversed(rows) if name == dataset), None)
        if last is None or last != getattr(declared, "text", None):
            declare(self._store, self.definition, dataset, declared)

    def close(self) -> None:
        """Take no further charges, for good; entries and answers can still be read."""
        self._cashier.close()

    def accept_clock(self, reason: str) -> None:
        """Go on at the present time, though the last event is of a later one: a clock was wrong.

        The reason is recorded in the chain.
        """
        self._cashier.accept_clock(reason)

    # Reading.

    def price(  # noqa: PLR0913  # what a charge says
        self,
        releases: Sequence[Release] | Release,
        *,
        dataset: str | None = None,
        analyst: str = "",
        query: str = "",
        query_text: str | None = None,
        blocks: Sequence[str] = (),
    ) -> Price:
        """What these releases would cost, and whether they fit; nothing is charged.

        Where the account has quotas, the answer to an analyst is about that analyst's quota only.
        What fits it may still be refused, if the account's total does not suffice; that is seen
        when it is charged. Without an analyst it is the owner who asks, about the total.
        """
        request = self.definition.request(
            releases,
            dataset=dataset,
            analyst=analyst,
            query=query,
            query_text=query_text,
            by_owner=not analyst,
            blocks=blocks,
        )
        self._refuse_broken_plan()
        self._cashier.limits.check(request)
        return self._cashier.limits.price(self._cashier.balances(request.analyst), request)

    def remaining(
        self, *, dataset: str | None = None, analyst: str = "", blocks: Sequence[str] = ()
    ) -> tuple[Balance, ...]:
        """How every meter stands: of the account's total or, for an analyst with a quota, of that.

        Where budgets are of blocks of time, it is of each of these blocks, or of all there are.
        Do not show the total to an analyst who has a quota: it tells what others have charged.
        """
        datasets = self.definition.datasets
        if dataset is not None:
            datasets = (self._known_dataset(dataset),)
        if analyst:
            texts.name("analyst", analyst)
        balances = self._cashier.balances(analyst)
        if not blocks:
            blocks = self.blocks() if self.definition.policy.by_blocks else ("",)
        return tuple(
            balance
            for each in datasets
            for block in blocks
            for balance in self._cashier.limits.balances(balances, each, analyst, block=block)
        )

    def _known_dataset(self, dataset: str) -> str:
        datasets = self.definition.datasets
        if dataset not in datasets:
            raise InvalidParameter("dataset", dataset, f"one of {', '.join(datasets)}")
        return dataset

    def data_versions(self, dataset: str | None = None) -> tuple[DataVersion, ...]:
        """Every refresh of the data that was recorded: of one dataset, or of all."""
        with self._store.reading() as session:
            found = map(DataVersion._make, session.rows(sql.VERSIONS, account=self.name))
        return tuple(each for each in found if dataset in (None, each.dataset))

    def version_of(self, entry: int, *, dataset: str) -> str:
        """The version of the data that an entry's answer is of; empty if none was recorded."""
        versions = self.data_versions(dataset)
        if not versions:
            return ""
        with self._store.reading() as session:
            places = session.row(sql.PLACES, account=self.name, entry=entry)
        return version_between(versions, *(places or (0, None)))

    def answer(
        self,
        query: str,
        *,
        dataset: str | None = None,
        analyst: str = "",
        member_of: Sequence[str] = (),
        blocks: Sequence[str] | None = None,
    ) -> StoredAnswer | None:
        """The stored answer to a question, if there is one: to read it again costs nothing.

        It is one that this analyst, who is in these groups, may see: where the account has quotas
        and nothing else was said with the charge, an answer of the analyst's own. Of several, it
        is the one that was paid for last. Where budgets are of blocks of time, the same query of
        other blocks is another question: name its ``blocks``. Without them, what was answered of
        any blocks counts, and the answer's own ``blocks`` say which.
        """
        said = {"dataset": dataset, "analyst": analyst, "member_of": member_of, "blocks": blocks}
        found = self._stored(query, last=True, **said)
        return found[0] if found else None

    def answers(
        self,
        query: str,
        *,
        dataset: str | None = None,
        analyst: str = "",
        member_of: Sequence[str] = (),
        blocks: Sequence[str] | None = None,
    ) -> tuple[StoredAnswer, ...]:
        """Every stored answer to a question, in the order in which they were paid for.

        There are several where it was asked anew. Otherwise it is like :meth:`answer`.
        """
        said = {"dataset": dataset, "analyst": analyst, "member_of": member_of, "blocks": blocks}
        return self._stored(query, last=False, **said)

    def answer_of(
        self, entry: int, *, analyst: str = "", member_of: Sequence[str] = ()
    ) -> StoredAnswer | None:
        """The stored answer of one entry, if it has one that this analyst may see."""
        reader = self._reader(analyst, member_of)
        with self._store.reading() as session:
            found = session.row(sql.ANSWER_LABEL, account=self.name, entry=entry)
            if found is None or not reader.sees(found[1]):
                return None
            row = session.row(sql.ANSWER, account=self.name, entry=entry)
        blocks = texts.parts_of(found[2] or "")[1] if self.definition.policy.by_blocks else ()
        return self._unchanged(row or (entry, None, None), dataset=found[0], blocks=blocks)

    def _stored(  # noqa: PLR0913  # which question, and who reads
        self, query: str, *, last: bool, dataset: Any, analyst: Any, member_of: Any, blocks: Any
    ) -> tuple[StoredAnswer, ...]:
        if dataset is None and len(self.definition.datasets) == 1:
            dataset = self.definition.datasets[0]
        if self.definition.shares:
            texts.name("analyst", analyst)
        policy, asked = self.definition.policy, texts.name("query", query)
        of: tuple[str, ...] | None = ()
        if policy.by_blocks:
            of = None if blocks is None else policy.checked_blocks(blocks)
        elif blocks:
            policy.checked_blocks(blocks)
        with self._store.reading() as session:
            seen = seen_answers(
                session,
                self.name,
                dataset=dataset,
                query=asked,
                blocks=of,
                reader=self._reader(analyst, member_of),
            )
            rows = [
                session.row(sql.ANSWER, account=self.name, entry=entry) or (entry, None, None)
                for entry, _ in (seen[-1:] if last else seen)
            ]
        blocks_of = dict(seen)
        return tuple(
            self._unchanged(row, dataset=str(dataset), blocks=blocks_of[row[0]]) for row in rows
        )

    def _unchanged(
        self, row: tuple[Any, ...], *, dataset: str, blocks: tuple[str, ...]
    ) -> StoredAnswer:
        entry, text, digest = row
        if not isinstance(text, str) or texts.digest(text) != digest:
            place = f"the answer of entry {entry} of account {self.name!r}"
            raise LedgerCorrupted(place, "it differs from the answer that was released")
        version = self.version_of(entry, dataset=dataset)
        return StoredAnswer.of(entry, text, version=version, blocks=blocks)
