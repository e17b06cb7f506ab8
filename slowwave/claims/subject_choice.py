"""The last way to find whom or what a statement is about: a model chooses among subjects that are known, where the settings ask it to.

It is asked when reference, name, alias and matching have found nobody or several, and about statements that are added alone: who replaces
or forgets says whom. A choice that is unsure, ambiguous or no candidate is none, and whatever fails leaves the plain answer with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from slowwave.claims.remember_request import RememberRequest
from slowwave.claims.subject_ref import Family, SubjectRef
from slowwave.claims.subjects import Resolution, Subject, subjects_of
from slowwave.config.settings import Settings
from slowwave.search.model_help import helper
from slowwave.search.namespace_settings import KnownNamespace
from slowwave.search.words import asked
from slowwave.store.connect import Connection

STEP: Final = "subject"
SURE: Final = 0.7
"""How sure a model must be of its choice."""

MOST: Final = 12
"""Candidates that it chooses from."""

_WORDS: Final = 16
_READ: Final = 2_000
"""Rows that hold one of the words, at most."""

_TASK: Final = (
    "A statement is about one subject. Choose which of the candidates it is about, by its reference. Where none is certainly meant, "
    "chosen_subject_ref is null; where two may be, ambiguous is true. confidence is from 0 to 1."
)

_SAYING: Final = """
WITH hit AS (
  SELECT t.id, t.kind, ts_rank(t.words, %(query)s::tsquery, 1) AS rank FROM memory.search_texts t
   WHERE t.namespace_id = %(namespace)s AND t.live AND t.kind IN ('entities', 'memories') AND t.words @@ %(query)s::tsquery LIMIT %(read)s),
about AS (
  SELECT h.id AS entity, h.rank FROM hit h WHERE h.kind = 'entities'
  UNION ALL SELECT (m.attributes->>'entity_id')::uuid, h.rank FROM hit h JOIN memory.memories m ON m.id = h.id AND m.kind = 'claim'
   WHERE h.kind = 'memories' AND m.attributes->>'entity_id' IS NOT NULL)
SELECT a.entity::text FROM about a GROUP BY a.entity ORDER BY max(a.rank) DESC, a.entity LIMIT %(limit)s"""


def chosen(
    connection: Connection, namespace_id: str, request: RememberRequest, found: Resolution, settings: Settings
) -> tuple[Resolution, str]:
    """The subject that a model chooses where ``found`` is in doubt, else ``found``; and a warning where it was asked in vain.

    ``request`` is screened. Without the step in ``search_steps`` nothing is looked up and nobody is asked.
    """
    plain = found.outcome == "known" or request.action != "write" or SubjectRef.read(request.subject) is not None
    if plain or STEP not in settings.search_steps:
        return found, ""
    searcher, problem = helper(connection, KnownNamespace(namespace_id, settings))
    if searcher is None:
        return found, problem
    candidates = _candidates(connection, namespace_id, request, found)
    if not candidates:
        return found, ""
    refs = {str(subject.ref): subject for subject in candidates}
    helped = searcher.ask(
        STEP,
        _TASK,
        {
            "subject": request.subject,
            "statement": request.content,
            "candidates": [{"ref": ref, "name": subject.name} for ref, subject in refs.items()],
        },
        {
            "chosen_subject_ref": {"type": ["string", "null"], "enum": [*refs, None]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "ambiguous": {"type": "boolean"},
            "reason": {"type": "string"},
        },
        most=300,
    )
    if helped.answer is None:
        return found, helped.warning
    return _judged(helped.answer, refs, found)


def _judged(answer: Mapping[str, Any], refs: Mapping[str, Subject], found: Resolution) -> tuple[Resolution, str]:
    ref, sure = answer["chosen_subject_ref"], answer["confidence"]
    if ref is None or answer["ambiguous"] is not False:
        return found, ""
    if not isinstance(ref, str) or ref not in refs:
        return found, "The model named a subject that was none of the candidates, so its choice was not followed."
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not SURE <= sure <= 1:
        return found, ""
    return replace(
        found,
        outcome="known",
        subject=refs[ref],
        new=None,
        matched_by="model",
        sureness="medium",
        candidates=(),
        learnt="",
    ), ""


def _candidates(
    connection: Connection, namespace_id: str, request: RememberRequest, found: Resolution
) -> Sequence[Subject]:
    """Those whom a name may mean, else the subjects that share most words with what is said; two of one reference are neither."""
    family: Family | None = request.scope
    if found.candidates:
        ids = [candidate.subject_id for candidate in found.candidates]
    else:
        told = list(dict.fromkeys([*asked(request.subject), *asked(request.content)]))[:_WORDS]
        if not told:
            return ()
        query = " | ".join(f"'{namespace_id[:8]}:{word}'" for word in told)
        values = {"namespace": namespace_id, "query": query, "read": _READ, "limit": MOST}
        ids = [str(id_) for (id_,) in connection.execute(_SAYING.encode(), values)]
    subjects = [s for s in subjects_of(connection, namespace_id, ids) if family is None or s.family == family]
    refs = [str(subject.ref) for subject in subjects]
    return [subject for subject in subjects if refs.count(str(subject.ref)) == 1][:MOST]
