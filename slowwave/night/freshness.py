"""Freshness: namespaces that nobody audits, plans that nobody reads, and applies that do nothing. Asked of the ledger.

Each answer is one query for all namespaces asked about, with how many were looked at. Nothing here repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.config.settings import Settings
from slowwave.night.gates import holds_back_audits
from slowwave.plans.commands import argument
from slowwave.store.connect import Connection

_NIGHTS: Final = """
SELECT n.slug, n.settings, extract(epoch FROM now() - coalesce(s.taken_at, n.recorded_at)) / 86400, s.taken_at
  FROM memory.namespaces n LEFT JOIN LATERAL (SELECT taken_at, change_counter FROM night.snapshots x WHERE x.namespace_id = n.id
  ORDER BY taken_at DESC LIMIT 1) s ON true WHERE n.slug = ANY(%s) AND (SELECT count(*) FROM memory.changes c
  WHERE c.namespace_id = n.id) > coalesce(s.change_counter, 0) ORDER BY n.slug
"""
_PLANS: Final = """
SELECT n.slug, n.settings, left(p.plan_hash, 12), extract(epoch FROM now() - p.recorded_at) / 86400, p.expires_at
  FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = ANY(%s) AND p.state = 'awaiting_approval'
  AND p.expires_at > now() ORDER BY p.recorded_at
"""
_APPLIES: Final = """
SELECT n.slug, n.settings, array_agg((a.counts ->> 'applied')::int ORDER BY a.recorded_at DESC) FROM night.applied a
  JOIN memory.namespaces n ON n.id = a.namespace_id WHERE n.slug = ANY(%s) GROUP BY n.slug, n.settings ORDER BY n.slug
"""


@dataclass(frozen=True, slots=True)
class Freshness:
    """``late`` has a sentence for each namespace that is; ``looked_at`` counts the namespaces."""

    looked_at: int
    late: tuple[str, ...]


def audited(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """A namespace that changed since its last snapshot, or never had one, was audited within ``freshness_audit_days``.

    One that nothing has changed in is not audited again, and is not late; nor is one that a gate keeps from its nights: it is switched
    off, read-only, or has too few new records.
    """
    rows = connection.execute(
        _NIGHTS,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, overlay, days, taken in rows:
        settings = _settings(overlay)
        limit = settings.freshness_audit_days
        if float(str(days)) > limit and not holds_back_audits(connection, str(slug), settings):
            since = (
                f"was last audited {float(str(days)):.0f} days ago and has changed since"
                if taken
                else "was never audited"
            )
            late.append(
                f"{slug} {since} (limit {limit} days). Look at the nightly schedule, or run `slowwave night {argument(str(slug))}`."
            )
    return Freshness(len(namespaces), tuple(late))


def decided(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """No plan waits for a person longer than ``freshness_plan_days``."""
    rows = connection.execute(
        _PLANS,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, overlay, short, days, expires in rows:
        limit = _settings(overlay).freshness_plan_days
        if float(str(days)) > limit:
            late.append(
                f"Plan {short} of {slug} has waited {float(str(days)):.0f} days (limit {limit}) and expires on {expires:%Y-%m-%d}. "
                f"Read it with `slowwave plans show {argument(str(slug))}`; approve or reject it."
            )
    return Freshness(len(namespaces), tuple(late))


def effective(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Of the last ``freshness_idle_nights`` applies at least one changed something; fewer applies prove nothing."""
    rows = connection.execute(
        _APPLIES,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, overlay, applied in rows:
        limit = _settings(overlay).freshness_idle_nights
        last = applied[:limit] if isinstance(applied, list) else []
        if len(last) == limit and not any(last):
            late.append(
                f"The last {limit} applies in {slug} changed nothing: all of their items were stale or failed. "
                f"Memory changes faster than plans are approved, or something refuses the writes: "
                f"`slowwave runs tail {argument(str(slug))}`."
            )
    return Freshness(len(namespaces), tuple(late))


def _settings(overlay: object) -> Settings:
    return Settings.for_namespace(overlay if isinstance(overlay, dict) else {})
