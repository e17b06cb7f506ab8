"""Word of what was written to a store that is not ours, for whatever is kept beside it: a cache, an index, a compiled prompt.

A binding asks for it (``notify``). A notice is made in the transaction of the batch, so there is one for whatever was committed and for
nothing else; listeners of its channel get it with the commit, the address of ``SLOWWAVE_NOTIFY_URL`` after it, signed as webhooks are, at
least once and under one id, and again later where it did not answer. Whoever is told reads the rows; nobody is asked to write them.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Final

import httpx

from slowwave.bindings.binding import Notify
from slowwave.bindings.connected import connected_store
from slowwave.errors import SettingsError
from slowwave.reports.webhook import SECRET, Address, address, sign
from slowwave.reports.webhook import URL as EVENTS_URL
from slowwave.store.connect import Connection, Store
from slowwave.store.doctor import Diagnosis

URL: Final = "SLOWWAVE_NOTIFY_URL"
PATIENCE_DAYS: Final = 7
"""How long a notice is tried."""

_SECONDS: Final = 5.0
_MOST: Final = 500
_BATCH: Final = 50
_CLAIM_SECONDS: Final = 120
_POSTING_SECONDS: Final = 60.0
"""How long of a claim is posted: what is left of it is for the last post, each of whose steps may take ``_SECONDS``."""

_LOG: Final = logging.getLogger(__name__)

_NOTE: Final = """
INSERT INTO night.notices (id, namespace_id, store, run_id, undo, tables)
SELECT gen_random_uuid(), %(namespace)s, %(store)s, %(run)s, %(undo)s, jsonb_object_agg(t.table_name, t.keys)
FROM (SELECT j.table_name, jsonb_agg(DISTINCT j.row_key::jsonb) AS keys FROM night.journal j
  WHERE j.run_id = %(run)s AND j.item_id = ANY(%(items)s::uuid[]) AND j.table_name LIKE '%%.%%' AND j.table_name <> 'night.overlay'
  GROUP BY 1) t
HAVING count(*) > 0
RETURNING id::text
"""
_TELL: Final = "SELECT pg_notify(%s, %s)"
_CLAIM: Final = """
WITH claimed AS (
  UPDATE night.notices SET claim = %(claim)s, claimed_until = clock_timestamp() + make_interval(secs => %(seconds)s)
  WHERE id IN (SELECT id FROM night.notices WHERE delivered_at IS NULL AND given_up_at IS NULL
    AND (claimed_until IS NULL OR claimed_until < clock_timestamp()) ORDER BY recorded_at, id LIMIT %(most)s FOR UPDATE SKIP LOCKED)
  RETURNING *)
SELECT o.id::text, o.store, n.slug, o.run_id::text, o.undo, o.tables, o.recorded_at::text,
  o.recorded_at < now() - make_interval(days => %(days)s)
FROM claimed o JOIN memory.namespaces n ON n.id = o.namespace_id ORDER BY o.recorded_at, o.id
"""
_RELEASE: Final = "UPDATE night.notices SET claim = NULL, claimed_until = NULL WHERE claim = %s"
_DELIVERED: Final = "UPDATE night.notices SET delivered_at = now(), attempts = attempts + 1, error = '' WHERE id = %s"
_FAILED: Final = """
UPDATE night.notices SET attempts = attempts + 1, error = %s, given_up_at = CASE WHEN %s THEN now() END
WHERE id = %s AND claim = %s AND delivered_at IS NULL
"""
_LEFT: Final = """
SELECT store, count(*) FILTER (WHERE given_up_at IS NULL), count(*) FILTER (WHERE given_up_at > now() - interval '30 days'), max(error)
FROM night.notices WHERE delivered_at IS NULL GROUP BY 1 ORDER BY 1
"""


def notifier_of(connection: Connection, namespace_id: str) -> tuple[str, Notify] | None:
    """The store of a namespace, and who is told of what is written to it; None where nobody is."""
    found = connected_store(connection, namespace_id)
    if found is None or found[0].binding.notify is None:
        return None
    return found[0].name, found[0].binding.notify


def note(
    connection: Connection,
    of: tuple[str, Notify],
    namespace_id: str,
    run_id: str,
    items: Collection[str],
    *,
    undo: bool = False,
) -> None:
    """Note which rows of a store some items of a run wrote, in the transaction that journalled them."""
    store, to = of
    parameters = {"namespace": namespace_id, "store": store, "run": run_id, "undo": undo, "items": list(items)}
    made = connection.execute(_NOTE, parameters).fetchone()
    if made is None:
        return
    if to.channel:
        told = {"id": str(made[0]), "store": store, "namespace_id": namespace_id, "run_id": run_id, "undo": undo}
        connection.execute(_TELL, (to.channel, json.dumps(told)))
    if not to.hook:
        connection.execute(_DELIVERED, (made[0],))


def deliver(store: Store, environment: Mapping[str, str] = os.environ) -> int:
    """Send what waits, the oldest first; returns how many notices arrived. The first that does not arrive leaves the rest for the next
    time, and raises nothing: what was written stands. One that was refused, or is older than a week, is given up.
    """
    try:
        to = hook(environment)
    except SettingsError as problem:
        _LOG.warning("Notices wait: %s", problem)
        return 0
    if to is None:
        return 0
    arrived = 0
    with _without_addresses(), store.connect("applier") as connection, httpx.Client() as client:
        for _ in range(_MOST // _BATCH):
            came, goes_on = _deliver_batch(connection, client, to)
            arrived += came
            if not goes_on:
                break
    return arrived


def _deliver_batch(connection: Connection, client: httpx.Client, to: Address) -> tuple[int, bool]:
    """Claim the oldest that nobody has claimed, and send them; how many arrived, and whether to go on with the next batch."""
    claim, until = uuid.uuid4(), time.monotonic() + _POSTING_SECONDS
    asked = {"claim": claim, "seconds": _CLAIM_SECONDS, "most": _BATCH, "days": PATIENCE_DAYS}
    batch = connection.execute(_CLAIM, asked).fetchall()
    arrived = 0
    try:
        for id_, of, slug, run, undo, tables, when, late in batch:
            if time.monotonic() > until:
                return arrived, True
            content = {
                "type": "store.rows.written",
                "timestamp": when,
                "data": {"store": of, "namespace": slug, "run_id": run, "undo": undo, "tables": tables},
            }
            status = _posted(client, to, str(id_), content)
            if 200 <= status < 300:
                connection.execute(_DELIVERED, (id_,))
                arrived += 1
                continue
            refused = 300 <= status < 500 and status not in (408, 429)
            said = f"answered {status}" if status else "did not answer"
            connection.execute(_FAILED, (f"{to.shown()} {said}", refused or late, id_, claim))
            _LOG.warning("A notice to %s: it %s. What was written stands.", to.shown(), said)
            if not refused:
                return arrived, False
    finally:
        connection.execute(_RELEASE, (claim,))
    return arrived, bool(batch)


def hook(environment: Mapping[str, str] = os.environ) -> Address | None:
    """Where notices are sent; None where nowhere. The secret is that of the webhook. Raises ``SettingsError`` for what cannot be used."""
    url = environment.get(URL, "").strip()
    return address({EVENTS_URL: url, SECRET: environment.get(SECRET, "")}) if url else None


def diagnose_notices(store: Store, environment: Mapping[str, str] = os.environ) -> list[Diagnosis]:
    """Notices that wait or were given up, by store."""
    with store.connect("reader") as connection:
        rows = connection.execute(_LEFT).fetchall()
    found: list[Diagnosis] = []
    for name, waiting, lost, error in rows:
        why = f" {error}." if error else ""
        if int(str(waiting)):
            where = (
                f"See to {URL}."
                if environment.get(URL)
                else f"Set {URL} to the address that is to be told, and {SECRET}."
            )
            found.append(
                Diagnosis(f"{waiting} notices of what was written to the store {name} wait.{why}", where, problem=False)
            )
        if int(str(lost)):
            found.append(
                Diagnosis(
                    f"{lost} notices of what was written to the store {name} were given up.{why}",
                    "Let what is kept beside the store be made anew; night.notices says which rows.",
                    problem=False,
                )
            )
    return found


@contextmanager
def _without_addresses() -> Generator[None]:
    """httpx logs the address of every request, and this one may hold a token."""
    log, none = logging.getLogger("httpx"), logging.Filter("slowwave")
    log.addFilter(none)
    try:
        yield
    finally:
        log.removeFilter(none)


def _posted(client: httpx.Client, to: Address, id_: str, content: Mapping[str, object]) -> int:
    """The status that a notice was answered with; 0 where nobody answered."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    now, message = int(time.time()), f"notice_{id_.replace('-', '')}"
    headers = {
        "content-type": "application/json",
        "user-agent": "slowwave",
        "webhook-id": message,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(to.keys, message, now, body),
    }
    try:
        return client.post(to.url, content=body, headers=headers, timeout=_SECONDS).status_code
    except httpx.HTTPError:
        return 0
