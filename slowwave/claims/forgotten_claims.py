"""Claims that a plan forgets: what a request to forget comes to on a snapshot, as ``forget_rows`` takes it, and what else holds the words.

It is to a plan what ``slowwave.claims.forgetting`` is by day.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.claims.answer_text import unresolved
from slowwave.claims.claim import Claim
from slowwave.claims.forgetting import NO_REASON, chosen_claims, nothing_said, said_elsewhere, tombstone
from slowwave.claims.remember_request import RememberRequest, StillHeld
from slowwave.claims.screened_request import screened_request
from slowwave.claims.subjects import Subject, resolve
from slowwave.config.settings import Settings
from slowwave.corpus.corpora import EVIDENCE_ROOT
from slowwave.corpus.planned_page import PlannedPage, page_texts
from slowwave.errors import Refused
from slowwave.mutations.forget_rows import Forgetter, forget_claims
from slowwave.mutations.mutation import Mutation
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Connection

_KEPT: Final = """
SELECT (SELECT count(*) FROM memory.memory_versions v WHERE v.memory_id = ANY (%(claims)s::uuid[])),
  (SELECT count(*) FROM night.snapshots s WHERE s.namespace_id = %(namespace)s AND s.deleted_at IS NULL),
  cardinality(memory.plans_that_made(%(claims)s::uuid[]))"""


def claims_meant(connection: Connection, namespace_id: str, request: RememberRequest) -> tuple[Subject, list[Claim]]:
    """The subject of a request to forget, and the claims that it means. Raises ``Refused`` where nobody can tell whom it is about, or
    nothing is said of it.
    """
    found = resolve(connection, namespace_id, request.subject, request.scope)
    if found.subject is None or found.outcome == "ambiguous":
        raise Refused(unresolved(request, found).message)
    claims = chosen_claims(connection, namespace_id, found.subject, request)
    if not claims:
        raise Refused(nothing_said(request))
    return found.subject, claims


def forgotten_claims(
    connection: Connection,
    snapshot: Snapshot,
    settings: Settings,
    request: RememberRequest,
    *,
    agent: str = "",
    session_id: str = "",
    made_from: str = "",
) -> tuple[Mutation, StillHeld]:
    """The claims that a request means are forgotten, with what was said of them; and what will still hold their words.

    Raises ``Refused`` as ``claims_meant``, and for what screening refuses; what came since the snapshot is not forgotten.
    """
    asked = screened_request(snapshot.namespace, request, settings, snapshot.taken_at).request
    subject, claims = claims_meant(connection, snapshot.namespace_id, asked)
    there = snapshot.table("memories")["id"]
    known = set(there.filter(pc.is_in(there, value_set=pa.array([c.id for c in claims], pa.string()))).to_pylist())
    ids = [claim.id for claim in claims if claim.id in known]
    page = tombstone(asked, subject, len(ids), snapshot.taken_at)
    (text,) = page_texts(snapshot, settings, None, [PlannedPage(page.path, page.page, EVIDENCE_ROOT, made_from)])
    by = Forgetter(asked.reason or NO_REASON, asked.agent or agent, asked.session_id or session_id)
    mutation = forget_claims(snapshot, subject.ids, ids, text, by)
    return mutation, _held(connection, snapshot.namespace_id, mutation, [c for c in claims if c.id in known])


def _held(connection: Connection, namespace_id: str, mutation: Mutation, claims: Sequence[Claim]) -> StillHeld:
    ended = [w.cell for w in mutation.writes if w.cell.column == "invalidated_at"]
    values = {"claims": [claim.id for claim in claims], "namespace": namespace_id}
    row = connection.execute(_KEPT, values).fetchone() or (0, 0, 0)
    gone = [cell.row for cell in ended if cell.table in ("memories", "chunks")]
    memories, passages = said_elsewhere(connection, namespace_id, [claim.statement for claim in claims], gone)
    return StillHeld(
        versions=int(str(row[0])),
        evidence=sum(cell.table == "documents" for cell in ended),
        snapshots=int(str(row[1])),
        memories=memories,
        passages=passages,
        plans=int(str(row[2])),
    )
