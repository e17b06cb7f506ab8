"""Which plan of a namespace is meant where none is named: the night's, unless it is decided and another one waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.texts.counted import counted

_PLANS: Final = """
SELECT p.plan_hash, p.recorded_at, r.parameters ? 'proposal' AS aside,
  p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND EXISTS (
    SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending') AS waits
  FROM night.plans p JOIN night.runs r ON r.id = p.run_id WHERE p.namespace_id = %s AND p.state <> 'empty'"""
_LATEST: Final = f"""
WITH plans AS ({_PLANS}), newest AS (
  (SELECT * FROM plans WHERE NOT aside ORDER BY recorded_at DESC LIMIT 1)
  UNION ALL (SELECT * FROM plans WHERE aside ORDER BY waits DESC, recorded_at DESC LIMIT 1))
SELECT plan_hash FROM newest ORDER BY waits DESC, aside LIMIT 1
"""  # noqa: S608 - names of this module
_WAITING: Final = f"WITH plans AS ({_PLANS}) SELECT plan_hash FROM plans WHERE waits ORDER BY aside, recorded_at DESC"  # noqa: S608
_LAST_NIGHT: Final = """
SELECT recorded_at, coalesce(summary ->> 'why_held_back', ''), (SELECT coalesce(sum(n.value::int), 0)
  FROM jsonb_each(coalesce(summary -> 'held_back', '{}')) o, jsonb_each_text(o.value) n)
FROM night.plans WHERE namespace_id = %s ORDER BY recorded_at DESC LIMIT 1
"""
_BY_PREFIX: Final = "SELECT plan_hash FROM night.plans WHERE namespace_id = %s AND starts_with(plan_hash, %s) LIMIT 2"


def latest_plan(connection: Connection, namespace: str) -> str | None:
    """Hash of the newest plan of a night that asked somebody. Where none is, or it is decided, a plan of a proposal that waits, or of a
    pass of its own, comes first.
    """
    found = connection.execute(_LATEST.encode(), (namespace_id(connection, namespace),)).fetchone()
    return str(found[0]) if found else None


def no_plan(connection: Connection, namespace: str) -> str:
    """Why a namespace has no plan that asks anybody, as a sentence: its nights found nothing, or there was none."""
    row = connection.execute(_LAST_NIGHT, (namespace_id(connection, namespace),)).fetchone()
    if row and isinstance(row[0], datetime):
        at, why, proposed = row[0], str(row[1]), int(str(row[2]))
        found = f"proposed {counted(proposed, 'change')} for no plan. {why}" if proposed else "found nothing new."
        return f"{namespace} has nothing to decide: its night of {at:%Y-%m-%d %H:%M} UTC {found}"
    return f"{namespace} has no plan yet: run `slowwave night {argument(namespace)}` first."


def find_plan(connection: Connection, namespace: str, prefix: str) -> str:
    """The full hash of a plan of the namespace by its first characters; none or several are refused."""
    found = [str(h) for (h,) in connection.execute(_BY_PREFIX, (namespace_id(connection, namespace), prefix))]
    if len(found) == 1 and prefix:
        return found[0]
    newest = latest_plan(connection, namespace)
    hint = f"Its latest plan is {newest[:12]}." if newest else no_plan(connection, namespace)
    what = "names more than one plan" if found else "is no plan"
    raise Refused(f"{prefix[:64]!r} {what} of {namespace}. {hint}")


def waiting_plans(connection: Connection, namespace: str) -> list[str]:
    """Hashes of all plans that wait for a person: the night's, then those of proposals and passes of their own, the newest first."""
    rows: Any = connection.execute(_WAITING.encode(), (namespace_id(connection, namespace),)).fetchall()
    return [str(hash_) for (hash_,) in rows]
