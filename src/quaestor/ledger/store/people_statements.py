"""The statements about people, their credentials, the audit trail and questions of a service."""

from __future__ import annotations

__all__ = [
    "ADD_CREDENTIAL",
    "ADD_IDENTITY",
    "ADD_PERSON",
    "ADD_QUESTION",
    "ADD_SECRET",
    "ADD_TRAIL",
    "CANCEL_QUESTION",
    "CANCEL_QUESTIONS",
    "CREDENTIAL",
    "CREDENTIALS_OF",
    "END_CREDENTIAL",
    "END_CREDENTIALS",
    "END_CREDENTIALS_OF",
    "END_SESSIONS_OF",
    "FINISH_QUESTION",
    "HOLD_QUESTION",
    "LEFT_QUESTIONS",
    "LINK_QUESTION",
    "OPEN_QUESTIONS_OF",
    "PEOPLE",
    "PERSON",
    "QUESTION",
    "QUESTIONS_OF",
    "QUESTIONS_OF_BATCH",
    "QUESTION_CHARGE",
    "QUESTION_OF_TOKEN",
    "SECRET",
    "SET_PERSON",
    "TRAIL",
    "TRAIL_COUNT",
    "TRAIL_END",
    "USE_LINK",
]

_PERSON = "SELECT name, roles, groups, password, created, ended FROM ledger_people"

PEOPLE = f"{_PERSON} ORDER BY folded"

PERSON = f"{_PERSON} WHERE folded = :folded"

ADD_PERSON = """
INSERT INTO ledger_people (name, folded, roles, groups, password, created, ended)
VALUES (:name, :folded, :roles, :groups, :password, :created, :ended)
"""

SET_PERSON = """
UPDATE ledger_people SET roles = :roles, groups = :groups, password = :password, ended = :ended
WHERE name = :name
"""

_CREDENTIAL = "SELECT id, kind, person, scopes, note, created, expires, ended, digest"

CREDENTIAL = f"{_CREDENTIAL} FROM ledger_credentials WHERE digest = :digest"

CREDENTIALS_OF = f"""{_CREDENTIAL} FROM ledger_credentials
WHERE (:person = '' OR person = :person) AND kind = :kind ORDER BY created, id
"""

ADD_CREDENTIAL = """
INSERT INTO ledger_credentials (digest, id, kind, person, scopes, note, created, expires, ended)
VALUES (:digest, :id, :kind, :person, :scopes, :note, :created, :expires, '')
"""

# An identity is linked with one person at a time; one that was unlinked can be linked again.
ADD_IDENTITY = """
INSERT INTO ledger_credentials (digest, id, kind, person, scopes, note, created, expires, ended)
VALUES (:digest, :id, 'identity', :person, '[]', :note, :created, :expires, '')
ON CONFLICT (digest) DO UPDATE SET id = excluded.id, person = excluded.person,
note = excluded.note, created = excluded.created, expires = excluded.expires, ended = ''
WHERE ledger_credentials.kind = 'identity' AND ledger_credentials.ended <> ''
RETURNING id
"""

END_CREDENTIAL = """
UPDATE ledger_credentials SET ended = :time WHERE id = :id AND ended = ''
"""

# A link is used once, whoever is first: the second finds nothing that was changed.
USE_LINK = """
UPDATE ledger_credentials SET ended = :time
WHERE digest = :digest AND kind = 'link' AND ended = '' AND expires > :time
RETURNING person
"""

END_CREDENTIALS_OF = """
UPDATE ledger_credentials SET ended = :time WHERE person = :person AND ended = ''
"""

END_SESSIONS_OF = """
UPDATE ledger_credentials SET ended = :time
WHERE person = :person AND kind IN ('session', 'link') AND ended = ''
"""

END_CREDENTIALS = "UPDATE ledger_credentials SET ended = :time WHERE ended = ''"

CANCEL_QUESTIONS = """
UPDATE ledger_questions SET state = 'cancelled', finished = :time, lease = '' WHERE state = 'open'
"""

SECRET = "SELECT secret FROM ledger_secrets WHERE name = :name"  # noqa: S105

ADD_SECRET = """
INSERT INTO ledger_secrets (name, secret) VALUES (:name, :secret) ON CONFLICT (name) DO NOTHING
"""  # noqa: S105

TRAIL_END = "SELECT seq, hash FROM ledger_trail ORDER BY seq DESC LIMIT 1"

ADD_TRAIL = """
INSERT INTO ledger_trail (seq, time, kind, actor, subject, detail, previous, hash)
VALUES (:seq, :time, :kind, :actor, :subject, :detail, :previous, :hash)
"""

TRAIL = """
SELECT seq, time, kind, actor, subject, detail, previous, hash FROM ledger_trail
WHERE seq > :after ORDER BY seq LIMIT :page
"""

# An empty subject or detail stands for all of them.
TRAIL_COUNT = """
SELECT COUNT(*) FROM ledger_trail WHERE kind = :kind AND time > :since
AND (:subject = '' OR subject = :subject) AND (:detail = '' OR detail = :detail)
"""

_QUESTION = """
SELECT id, analyst, token, request, inquiry, created, account, entry, state, problem, answered,
repeated, holder, lease, finished FROM ledger_questions
"""

QUESTION = f"{_QUESTION} WHERE id = :id"

QUESTION_OF_TOKEN = f"{_QUESTION} WHERE analyst = :analyst AND token = :token AND token <> ''"

QUESTIONS_OF = f"{_QUESTION} WHERE analyst = :analyst ORDER BY created DESC, id LIMIT :page"

OPEN_QUESTIONS_OF = """
SELECT COUNT(DISTINCT
CASE WHEN substr(token, 1, 6) = 'batch:' THEN substr(token, 1, 30) ELSE id END)
FROM ledger_questions WHERE analyst = :analyst AND state = 'open'
"""

QUESTIONS_OF_BATCH = f"""
{_QUESTION} WHERE analyst = :analyst AND substr(token, 1, 30) = :batch AND token <> ''
ORDER BY token
"""

LEFT_QUESTIONS = f"{_QUESTION} WHERE state = 'open' AND lease <= :now ORDER BY created LIMIT :page"

ADD_QUESTION = """
INSERT INTO ledger_questions (id, analyst, token, request, inquiry, created, account, entry, state,
problem, answered, repeated, holder, lease, finished)
VALUES (:id, :analyst, :token, :request, :inquiry, :created, '', 0, 'open', '', 0, 0, :holder,
:lease, '') ON CONFLICT DO NOTHING
"""

HOLD_QUESTION = """
UPDATE ledger_questions SET holder = :holder, lease = :lease
WHERE id = :id AND state = 'open' AND lease = :before
RETURNING id
"""

FINISH_QUESTION = """
UPDATE ledger_questions SET state = :state, problem = :problem, account = :account,
answered = :answered, repeated = :repeated, finished = :finished, lease = ''
WHERE id = :id AND state = 'open'
RETURNING id
"""

CANCEL_QUESTION = """
UPDATE ledger_questions SET state = 'cancelled', finished = :finished, lease = ''
WHERE id = :id AND state = 'open'
RETURNING id
"""

QUESTION_CHARGE = "SELECT state, account, entry FROM ledger_questions WHERE id = :id"

LINK_QUESTION = """
UPDATE ledger_questions SET account = :account, entry = :entry WHERE id = :id AND state = 'open'
"""
