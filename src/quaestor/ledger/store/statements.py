"""Every statement that the ledger makes, as text: the hot path is not compiled anew each time.

Parameters are written ``:name``; :mod:`quaestor.ledger.store.base` writes them as the driver wants.
"""

from __future__ import annotations

__all__ = [
    "ACCOUNTS",
    "ADD_ACCOUNT",
    "ADD_ANSWER",
    "ADD_EVENT",
    "ADD_JOB",
    "ADD_STATE",
    "ANSWER",
    "ANSWERS",
    "ANSWERS_TO",
    "ANSWER_LABEL",
    "BALANCES",
    "BALANCES_OF",
    "CHANGES",
    "CHARGED_PAIRS",
    "CHARGES_OF",
    "CHARGE_OF",
    "CLEAR_BALANCES",
    "DECLARATIONS",
    "DECLARATIONS_OF",
    "DEFINITION",
    "ENTRIES",
    "EVENTS",
    "EVENT_KINDS",
    "HASH",
    "HEADS",
    "HISTORY",
    "HOLD_JOB",
    "IDENTITY",
    "JOBS",
    "JOB_ATTEMPT",
    "JOB_OF_QUESTION",
    "JOB_OF_TOKEN",
    "LAST_CHARGES",
    "MARKS",
    "OPENED",
    "PENDING",
    "PLACES",
    "SET_BALANCE",
    "SET_IDENTITY",
    "SET_STATE",
    "STATE",
    "STATEMENTS",
    "STRAYS",
    "SUBMISSIONS",
    "SUBMITTED",
    "UNDRAWN",
    "VERSION",
    "VERSIONS",
]

VERSION = "SELECT version_num FROM ledger_version"

IDENTITY = "SELECT id, kind FROM ledger_identity"

SET_IDENTITY = "UPDATE ledger_identity SET id = :id, kind = :kind"

ACCOUNTS = "SELECT name, definition FROM ledger_accounts ORDER BY name"

DEFINITION = "SELECT definition FROM ledger_accounts WHERE name = :name"

ADD_ACCOUNT = "INSERT INTO ledger_accounts (name, definition) VALUES (:name, :definition)"

# What changes with every charge is apart from the definition, which may be long.
STATE = """
SELECT events, entries, time, head, closed, pricing FROM ledger_heads WHERE account = :account
"""

HEADS = "SELECT account, events, time, head FROM ledger_heads ORDER BY account"

HASH = "SELECT hash FROM ledger_events WHERE account = :account AND seq = :seq"

ADD_STATE = """
INSERT INTO ledger_heads (account, events, entries, time, head, closed, pricing)
VALUES (:account, :events, :entries, :time, :head, :closed, :pricing)
"""

SET_STATE = """
UPDATE ledger_heads SET events = :events, entries = :entries, time = :time, head = :head,
closed = :closed, pricing = :pricing WHERE account = :account
"""

ADD_EVENT = """
INSERT INTO ledger_events (account, seq, kind, entry, time, analyst, dataset, purpose, query,
releases, detail, answer, previous, hash)
VALUES (:account, :seq, :kind, :entry, :time, :analyst, :dataset, :purpose, :query,
:releases, :detail, :answer, :previous, :hash)
"""

EVENTS = """
SELECT account, seq, kind, entry, time, analyst, dataset, purpose, query,
releases, detail, answer, previous, hash
FROM ledger_events WHERE account = :account AND seq > :after ORDER BY seq LIMIT :page
"""

BALANCES = "SELECT dataset, analyst, totals FROM ledger_balances WHERE account = :account"

# Everybody's, those of one analyst, and those of groups, which have a blank before their names.
BALANCES_OF = """
SELECT dataset, analyst, totals FROM ledger_balances
WHERE account = :account AND (analyst IN ('*', :analyst) OR substr(analyst, 1, 1) = ' ')
"""

SET_BALANCE = """
INSERT INTO ledger_balances (account, dataset, analyst, totals)
VALUES (:account, :dataset, :analyst, :totals)
ON CONFLICT (account, dataset, analyst) DO UPDATE SET totals = excluded.totals
"""

CLEAR_BALANCES = "DELETE FROM ledger_balances WHERE account = :account"

OPENED = "SELECT purpose FROM ledger_events WHERE account = :account AND seq = 1"

# What was declared of datasets, by a partial index.
DECLARATIONS = """
SELECT account, dataset, detail FROM ledger_events
WHERE kind IN ('declared', 'refreshed') AND kind = 'declared' ORDER BY account, seq
"""

DECLARATIONS_OF = """
SELECT dataset, time, detail FROM ledger_events
WHERE account = :account AND kind IN ('declared', 'refreshed') AND kind = 'declared' ORDER BY seq
"""

VERSIONS = """
SELECT dataset, detail, time, seq FROM ledger_events
WHERE account = :account AND kind IN ('declared', 'refreshed') AND kind = 'refreshed' ORDER BY seq
"""

# Where in the chain a charge was made, and where it was settled.
PLACES = """
SELECT c.seq, s.seq FROM ledger_events c LEFT JOIN ledger_events s
ON s.account = c.account AND s.entry = c.entry AND s.kind IN ('released', 'void')
WHERE c.account = :account AND c.seq > :entry AND c.entry = :entry AND c.kind = 'reserved'
ORDER BY c.seq LIMIT 1
"""

STATEMENTS = """
SELECT entry, detail FROM ledger_events
WHERE account = :account AND kind = 'imported' ORDER BY entry
"""

# What was submitted in a part of the chain, with what was decided about it, and the charges for it
# that were not given back. Their details begin with the first digits of its hash.
SUBMISSIONS = """
SELECT kind, time, analyst, dataset, purpose, query, releases, detail, hash FROM ledger_events e
WHERE account = :account AND seq >= :first AND ((kind = 'submitted' AND seq <= :last)
OR (kind IN ('approved', 'declined', 'reserved') AND substr(detail, 1, 16) IN (
SELECT substr(s.hash, 1, 16) FROM ledger_events s
WHERE s.account = :account AND s.kind = 'submitted' AND s.seq BETWEEN :first AND :last)
AND NOT EXISTS (
SELECT 1 FROM ledger_events v WHERE v.account = e.account AND v.entry = e.entry AND e.entry > 0
AND v.kind IN ('released', 'void') AND v.kind = 'void'))) ORDER BY seq
"""

SUBMITTED = """
SELECT seq, detail FROM ledger_events
WHERE account = :account AND kind = 'submitted' AND substr(hash, 1, 16) = :id
"""

# How a charge stands: settled, or marked since its noise may have been drawn.
MARKS = """
SELECT kind FROM ledger_events
WHERE account = :account AND entry = :entry AND kind IN ('released', 'void')
UNION ALL SELECT kind FROM ledger_events
WHERE account = :account AND entry = :entry AND kind = 'drawing'
"""

# All that changes a balance, in its order: what was charged, and what was given back.
CHANGES = """
SELECT kind, entry, time, analyst, dataset, query, releases, detail FROM ledger_events
WHERE account = :account AND kind IN ('reserved', 'imported', 'void') ORDER BY seq
"""

CHARGES_OF = """
SELECT COUNT(*) FROM ledger_events
WHERE account = :account AND analyst = :analyst AND entry <= :entry
AND kind IN ('reserved', 'imported')
"""

ENTRIES = """
SELECT c.seq, c.entry, c.kind, c.time, c.analyst, c.dataset, c.purpose, c.query, c.releases,
c.detail, s.kind, s.time, s.detail, s.answer, c.answer
FROM ledger_events c LEFT JOIN ledger_events s
ON s.account = c.account AND s.entry = c.entry AND s.kind IN ('released', 'void')
WHERE c.account = :account AND c.seq > :seq AND c.entry > :after
AND c.kind IN ('reserved', 'imported')
ORDER BY c.seq LIMIT :page
"""

# How many events there are of each kind.
EVENT_KINDS = "SELECT kind, COUNT(*) FROM ledger_events WHERE account = :account GROUP BY kind"

# Who was charged, and on what: each pair once, with the places of its first and its last charge.
CHARGED_PAIRS = """
SELECT dataset, analyst, MIN(seq), MAX(seq) FROM ledger_events
WHERE account = :account AND kind IN ('reserved', 'imported') GROUP BY dataset, analyst
"""

LAST_CHARGES = """
SELECT releases FROM ledger_events WHERE account = :account AND kind IN ('reserved', 'imported')
ORDER BY seq DESC LIMIT :page
"""

# What was charged and not given back, each different charge once with how often it was made. The
# query matters only where queries themselves are declared. A history that was imported without a
# statement is priced apart; so are charges to other blocks of time.
HISTORY = """
SELECT c.dataset, c.analyst, CASE WHEN :each = 1 THEN c.query ELSE '' END, c.releases,
CASE WHEN c.kind = 'imported' THEN 1 ELSE 0 END, c.detail, COUNT(*)
FROM ledger_events c
WHERE c.account = :account AND c.kind IN ('reserved', 'imported') AND NOT EXISTS (
SELECT 1 FROM ledger_events v WHERE v.account = c.account AND v.entry = c.entry
AND v.kind IN ('released', 'void') AND v.kind = 'void')
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
"""

ADD_ANSWER = """
INSERT INTO ledger_answers (account, entry, dataset, query, analyst, answer)
VALUES (:account, :entry, :dataset, :query, :analyst, :answer)
"""

# Whose the answers to a question are, and what their charges keep: who may see them is decided by
# ``ledger.price``. Where budgets are of blocks of time, the blocks belong to the question. An
# entry's event comes later in the chain than its number says.
ANSWERS_TO = """
SELECT a.entry, a.analyst, CASE WHEN :blocks = 0 THEN '' ELSE (
SELECT e.detail FROM ledger_events e WHERE e.account = a.account AND e.seq > a.entry
AND e.entry = a.entry AND e.kind = 'reserved' ORDER BY e.seq LIMIT 1) END
FROM ledger_answers a
WHERE a.account = :account AND a.dataset = :dataset AND a.query = :query ORDER BY a.entry
"""

ANSWER_LABEL = """
SELECT a.dataset, a.analyst, (
SELECT e.detail FROM ledger_events e WHERE e.account = a.account AND e.seq > a.entry
AND e.entry = a.entry AND e.kind = 'reserved' ORDER BY e.seq LIMIT 1)
FROM ledger_answers a WHERE a.account = :account AND a.entry = :entry
"""

ANSWER = """
SELECT a.entry, a.answer, e.answer FROM ledger_answers a LEFT JOIN ledger_events e
ON e.account = a.account AND e.entry = a.entry
AND e.kind IN ('released', 'void') AND e.kind = 'released'
WHERE a.account = :account AND a.entry = :entry
"""

ANSWERS = """
SELECT entry, dataset, query, analyst, answer FROM ledger_answers
WHERE account = :account AND entry > :after ORDER BY entry LIMIT :page
"""

STRAYS = """
SELECT account FROM ledger_events UNION SELECT account FROM ledger_balances
UNION SELECT account FROM ledger_answers UNION SELECT account FROM ledger_heads
UNION SELECT account FROM ledger_jobs
EXCEPT SELECT name FROM ledger_accounts
"""

ADD_JOB = """
INSERT INTO ledger_jobs (account, entry, attempt, token, request, question, holder, lease)
VALUES (:account, :entry, :attempt, :token, :request, :question, :holder, :lease)
"""

JOB_ATTEMPT = "SELECT attempt FROM ledger_jobs WHERE account = :account AND entry = :entry"

# Only whoever has the attempt before may go on, or hand it to somebody else.
HOLD_JOB = """
UPDATE ledger_jobs SET attempt = :attempt, holder = :holder, lease = :lease
WHERE account = :account AND entry = :entry AND attempt = :before
"""

_JOB = """
SELECT j.entry, j.attempt, j.request, j.holder, j.lease, s.kind, d.kind FROM ledger_jobs j
LEFT JOIN ledger_events s
ON s.account = j.account AND s.entry = j.entry AND s.kind IN ('released', 'void')
LEFT JOIN ledger_events d
ON d.account = j.account AND d.entry = j.entry AND d.kind = 'drawing'
"""

JOB_OF_TOKEN = f"""{_JOB}
WHERE j.account = :account AND j.token = :token AND j.token <> ''
"""

JOB_OF_QUESTION = f"""{_JOB}
WHERE j.account = :account AND j.question = :question AND j.question <> ''
ORDER BY j.entry DESC LIMIT 1
"""

# An entry's event comes later in the chain than its number says.
CHARGE_OF = """
SELECT analyst, purpose FROM ledger_events
WHERE account = :account AND seq > :entry AND entry = :entry AND kind = 'reserved'
ORDER BY seq LIMIT 1
"""

JOBS = """
SELECT entry, attempt FROM ledger_jobs
WHERE account = :account AND entry > :after ORDER BY entry LIMIT :page
"""

UNDRAWN = """
SELECT j.entry FROM ledger_jobs j WHERE j.account = :account AND NOT EXISTS (
SELECT 1 FROM ledger_events s WHERE s.account = j.account AND s.entry = j.entry
AND s.kind IN ('released', 'void')) AND NOT EXISTS (
SELECT 1 FROM ledger_events d WHERE d.account = j.account AND d.entry = j.entry
AND d.kind = 'drawing') ORDER BY j.entry
"""

# What was charged and neither released nor given back.
PENDING = """
SELECT c.entry, c.time, c.analyst, c.dataset, c.purpose, c.query,
j.attempt, j.token, j.question, j.holder, j.lease, d.kind
FROM ledger_events c
LEFT JOIN ledger_jobs j ON j.account = c.account AND j.entry = c.entry
LEFT JOIN ledger_events d
ON d.account = c.account AND d.entry = c.entry AND d.kind = 'drawing'
WHERE c.account = :account AND c.kind = 'reserved' AND NOT EXISTS (
SELECT 1 FROM ledger_events s WHERE s.account = c.account AND s.entry = c.entry
AND s.kind IN ('released', 'void'))
ORDER BY c.seq
"""
