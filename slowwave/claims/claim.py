"""Claims as rows: what is said of a subject, since when and until when it was so, and whether it still stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from slowwave.claims.succession import Period
from slowwave.search.words import asked
from slowwave.store.connect import Connection

Status = Literal["active", "replaced", "retired", "invalidated", "quarantined", "merged", "archived"]

COMPARED: Final = 8
"""Claims of a subject that a statement is compared with: those that share most words with it."""

_OF_SUBJECT: Final = """
m.namespace_id = %(namespace)s AND m.kind = 'claim' AND m.attributes->>'entity_id' = ANY (%(subjects)s::text[])"""

_STANDS: Final = "m.invalidated_at IS NULL AND m.state = 'active'"

_COLUMNS: Final = """
m.id::text, coalesce(m.attributes->>'claim_kind', ''), v.content, m.valid_from, m.valid_to, m.recorded_at, m.author, m.session_id,
m.confidence"""

_STATES: Final = "coalesce(jsonb_exists_any(m.attributes->'relations', %(relations)s), false)"

_NEAREST: Final = f"""
SELECT {_COLUMNS} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
  JOIN memory.search_texts t ON t.id = m.id
 WHERE {_OF_SUBJECT} AND {_STANDS} AND (t.words @@ %(query)s::tsquery OR {_STATES}
   OR %(states)s AND m.attributes->>'claim_kind' = 'state')
 ORDER BY {_STATES} DESC, ts_rank(t.words, %(query)s::tsquery, 0) DESC, m.recorded_at DESC, m.id LIMIT %(limit)s"""  # noqa: S608

_PERIODS: Final = f"""
SELECT m.id::text, m.valid_from, m.valid_to FROM memory.memories m
 WHERE {_OF_SUBJECT} AND {_STANDS} AND m.attributes->>'claim_kind' = %(kind)s AND m.valid_from IS NOT NULL"""  # noqa: S608

_NAMED: Final = f"""
SELECT m.id::text, m.valid_from, m.valid_to FROM memory.memories m
 WHERE {_OF_SUBJECT} AND {_STANDS} AND m.id = ANY (%(ids)s::uuid[]) AND m.valid_from IS NOT NULL"""  # noqa: S608

_TO_FORGET: Final = f"""
SELECT {_COLUMNS} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
 WHERE {_OF_SUBJECT} AND m.invalidated_at IS NULL AND (%(kind)s = 'note' OR m.attributes->>'claim_kind' = %(kind)s)
 ORDER BY m.valid_from, m.id"""  # noqa: S608


class Claim(NamedTuple):
    """A claim that stands, or has ended."""

    id: str
    kind: str
    statement: str
    since: datetime
    until: datetime | None
    recorded_at: datetime
    agent: str
    session_id: str | None
    confidence: float

    @property
    def period(self) -> Period:
        """When it held."""
        return Period(self.id, self.since, self.until)

    def holds(self, at: datetime) -> bool:
        """Whether it held, or holds, at an instant."""
        return self.since <= at and (self.until is None or self.until > at)


def nearest(
    connection: Connection,
    namespace_id: str,
    subject_ids: Sequence[str],
    statement: str,
    heading: str,
    relations: Sequence[str] = (),
    *,
    states: bool = False,
) -> list[Claim]:
    """The claims of a subject (by its ids), those that have ended among them, that are nearest to a statement: those that state one of its
    ``relations``, then those that share most words with it, and last, with ``states``, the newest states, which need share none.
    ``heading`` is the subject's name, whose words all of them share.
    """
    named = set(asked(heading))
    said = dict.fromkeys(asked(statement))
    told = [word for word in said if word not in named] or list(said)
    if not told:
        return []
    tag = namespace_id[:8]
    query = " | ".join(f"'{tag}:{word}'" for word in told)
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "query": query, "limit": COMPARED}
    return _claims(
        connection.execute(_NEAREST.encode(), values | {"relations": list(relations), "states": states}).fetchall()
    )


def periods(connection: Connection, namespace_id: str, subject_ids: Sequence[str], kind: str) -> list[Period]:
    """When the claims of a subject and kind held, or hold."""
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "kind": kind}
    rows: list[Any] = list(connection.execute(_PERIODS.encode(), values))
    return [Period(str(id_), since, until) for id_, since, until in rows]


def named_periods(
    connection: Connection, namespace_id: str, subject_ids: Sequence[str], ids: Sequence[str]
) -> list[Period]:
    """When those of the named claims that stand, and are of the subject, held."""
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "ids": list(ids)}
    rows: list[Any] = list(connection.execute(_NAMED.encode(), values))
    return [Period(str(id_), since, until) for id_, since, until in rows]


def to_forget(connection: Connection, namespace_id: str, subject_ids: Sequence[str], kind: str) -> list[Claim]:
    """The claims of a subject that were not forgotten, those that have ended or are quarantined among them; ``note``: of any kind."""
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "kind": kind}
    return _claims(connection.execute(_TO_FORGET.encode(), values).fetchall())


def _claims(rows: Sequence[Sequence[Any]]) -> list[Claim]:
    return [Claim(str(id_), str(kind), str(text), since or recorded, until, recorded, str(agent), session, float(sure))
            for id_, kind, text, since, until, recorded, agent, session, sure in rows]  # fmt: skip
