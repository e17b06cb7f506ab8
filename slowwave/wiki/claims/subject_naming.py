"""The subject of a statement that names none that is known: a model's choice among subjects, and names of new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from slowwave.search.model_help import helper
from slowwave.search.request import KnownNamespace
from slowwave.search.words import asked
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.wiki.claims.request import Family, RememberRequest, SubjectRef
from slowwave.wiki.claims.subjects import Resolution, Subject, subjects_of

# The last step of resolution: a model chooses among known subjects, if the settings enable it.
#
# It is only called if reference, name, alias and matching found nothing or several subjects, and only for statements that are added: a
# request to replace or forget must name its subject. A choice that is uncertain, ambiguous or not a candidate is ignored. Any failure
# leaves the plain result, with a warning.

STEP: Final = "subject"
SURE: Final = 0.7
"""Minimum confidence of a model in its choice."""

MOST: Final = 12
"""Candidates that the model chooses from."""

_WORDS: Final = 16
_READ: Final = 2_000
"""Maximum number of rows with one of the words."""

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
    """Let a model choose the subject if ``found`` is in doubt; return the resolution and a warning if the model failed.

    ``request`` is screened. Without the step in ``search_steps``, nothing is looked up and no model is called.
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
    """Return the subjects that a name may refer to, else those that share the most words with the request.

    Subjects that share a reference with another one are left out.
    """
    family: Family | None = request.scope
    if found.candidates:
        ids = [candidate.subject_id for candidate in found.candidates]
    else:
        words = list(dict.fromkeys([*asked(request.subject), *asked(request.content)]))[:_WORDS]
        if not words:
            return ()
        query = " | ".join(f"'{namespace_id[:8]}:{word}'" for word in words)
        values = {"namespace": namespace_id, "query": query, "read": _READ, "limit": MOST}
        ids = [str(id_) for (id_,) in connection.execute(_SAYING.encode(), values)]
    subjects = [s for s in subjects_of(connection, namespace_id, ids) if family is None or s.family == family]
    refs = [str(subject.ref) for subject in subjects]
    return [subject for subject in subjects if refs.count(str(subject.ref)) == 1][:MOST]


# The name of a new subject, the subject on whose page a statement belongs, and the relations in a statement.


def target_of(request: RememberRequest, found: Resolution) -> SubjectRef:
    """Return the subject on whose page the statement belongs; a decision about another subject has a separate page."""
    ref = found.subject.ref if found.subject is not None else found.new
    if ref is None:
        raise AssertionError
    return (
        SubjectRef("decision", ref.slug)
        if request.kind == "decision" and ref.family not in ("decision", "core")
        else ref
    )


def name_of(request: RememberRequest, found: Resolution) -> str | None:
    """Return the name of a new subject: as given in the request, or derived from its reference."""
    if found.new is None:
        return None
    if found.name:
        return found.name
    read = SubjectRef.read(request.subject)
    if read is None:
        return request.subject
    return read.slug if read.family == "core" else read.slug.replace("-", " ").title()


def relations_of(said: str) -> list[str]:
    """Return the relations in a statement that take one object."""
    from slowwave.text.relations import stated_relations
    from slowwave.wiki.claims.nearness import LONGEST

    return sorted({s.relation for s in stated_relations(said)}) if len(said) <= LONGEST else []
