"""Subjects: resolution of a name to one entity, several or none, and the names of new subjects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from slowwave.search.words import words
from slowwave.store.logins import Connection
from slowwave.wiki.claims.request import (
    CORE,
    FAMILIES,
    Family,
    Matched,
    SubjectCandidate,
    SubjectRef,
    Sureness,
    family_of,
    slug_of,
    undated,
)

# Subjects: resolution of a name to one entity, to several candidates, or to none.
#
# Look-ups go by reference, then by name, by alias and by slug, each through an index, then by title, alias and file name among the pages
# about a person, a project, a concept or a decision. If that finds nothing, the name is compared with names that begin alike
# (``slowwave.matching``). Of several equally good matches none is chosen. A merged entity resolves to the one it was merged into.

NEAR: Final = 50
"""Maximum number of names that an unknown name is compared with."""

SHOWN: Final = 5
"""Candidates that a response lists."""

_NO_NAMES: Final = frozenset(("state", "index", "readme", "overview", "notes"))
"""File names that do not describe the subject of a page."""
_BEGINNING: Final = 3  # letters that two names must share at the start to be compared
_SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_LIVE: Final = "e.invalidated_at IS NULL AND e.state = 'active' AND e.merged_into IS NULL"
_REF: Final = "CASE WHEN e.source = 'semantic' THEN e.external_id END"
_COLUMNS: Final = f"e.id::text, e.name, e.entity_type, {_REF}, memory.merged_with(e.id)::text[]"

_SURVIVORS: Final = f"""
WITH RECURSIVE found AS (
  SELECT e.id, e.merged_into FROM memory.entities e WHERE e.namespace_id = %(namespace)s AND {{which}}
  UNION SELECT e.id, e.merged_into FROM memory.entities e JOIN found f ON e.id = f.merged_into)
SELECT DISTINCT {_COLUMNS} FROM found JOIN memory.entities e USING (id) WHERE {_LIVE} AND e.namespace_id = %(namespace)s"""  # noqa: S608

_BY_ID: Final = _SURVIVORS.format(which="e.id = %(key)s::uuid")
_BY_IDS: Final = _SURVIVORS.format(which="e.id = ANY (%(key)s::uuid[])")
_BY_REF: Final = _SURVIVORS.format(which="e.source = 'semantic' AND e.external_id = %(key)s")
_BY_SLUG: Final = _SURVIVORS.format(
    which="e.source = 'semantic' AND e.external_id = ANY (string_to_array(%(key)s, ' '))"
)
_BY_NAME: Final = _SURVIVORS.format(which='memory.name_key(e.name) COLLATE "C" = %(key)s')
_BY_ALIAS: Final = _SURVIVORS.format(
    which="e.id IN (SELECT a.entity_id FROM memory.entity_aliases a WHERE a.namespace_id = %(namespace)s "
    'AND memory.name_key(a.alias) COLLATE "C" = %(key)s)'
)

_BEGIN_ALIKE: Final = f"""
SELECT {_COLUMNS} FROM unnest(%(beginnings)s::text[]) AS b (key) CROSS JOIN LATERAL (
  SELECT * FROM memory.entities e WHERE e.namespace_id = %(namespace)s AND memory.name_key(e.name) COLLATE "C" >= b.key
     AND memory.name_key(e.name) COLLATE "C" < b.key || chr(1114109) AND {_LIVE} LIMIT %(limit)s) e
UNION SELECT {_COLUMNS} FROM unnest(%(beginnings)s::text[]) AS b (key) CROSS JOIN LATERAL (
  SELECT a.entity_id FROM memory.entity_aliases a WHERE a.namespace_id = %(namespace)s AND memory.name_key(a.alias) COLLATE "C" >= b.key
     AND memory.name_key(a.alias) COLLATE "C" < b.key || chr(1114109) LIMIT %(limit)s) a JOIN memory.entities e ON e.id = a.entity_id
   WHERE {_LIVE}"""  # noqa: S608

_NAMES: Final = """
SELECT e.name FROM memory.entities e WHERE e.id = ANY (%(ids)s::uuid[])
UNION SELECT a.alias FROM memory.entity_aliases a WHERE a.entity_id = ANY (%(ids)s::uuid[])"""


_PAGES: Final = """
SELECT DISTINCT d.title, d.metadata->>'type' FROM memory.documents d JOIN memory.corpora c ON c.id = d.corpus_id
WHERE d.namespace_id = %(namespace)s AND d.invalidated_at IS NULL AND d.version_of IS NULL AND d.plane = 'durable'
  AND c.invalidated_at IS NULL AND c.root NOT IN ('sessions:', 'evidence:')
  AND d.metadata->>'type' = ANY ('{person,project,concept,decision}') AND NOT jsonb_exists_any(d.metadata, '{quarantined,forgotten}')
  AND coalesce(d.metadata->>'status', '') NOT IN ('superseded', 'retired')
  AND (d.path = %(said)s OR memory.name_key(d.title) = %(key)s
    OR memory.name_key(regexp_replace(d.path, '^(?:.*/)?(?:\\d{4}-\\d\\d(?:-\\d\\d)?[-_ ]+)?|\\.(?:md|markdown)$', '', 'g')) = %(key)s
    OR EXISTS (SELECT 1 FROM jsonb_array_elements_text(
      CASE jsonb_typeof(d.metadata->'aliases') WHEN 'array' THEN d.metadata->'aliases' ELSE '[]' END) AS a (name)
      WHERE memory.name_key(a.name) = %(key)s))
LIMIT 6"""


class Subject(NamedTuple):
    """An entity that statements may be about; ``ids`` are its own id and those of the entities merged into it."""

    id: str
    name: str
    ref: SubjectRef
    ids: tuple[str, ...]

    @property
    def family(self) -> Family:
        """Return the family of the subject."""
        return self.ref.family

    def candidate(self) -> SubjectCandidate:
        """Return the subject as a candidate in a response."""
        return SubjectCandidate(subject_ref=str(self.ref), subject_id=self.id, name=self.name, family=self.ref.family)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Result of resolving a name to a subject.

    - ``subject``: the subject, if it is certain enough.
    - ``new``: the subject that would be created if none was found.
    - ``candidates``: possible subjects, if there is neither.
    - ``learnt``: a spelling of the name that was not known.
    - ``name``: the name of a new subject as a page gives it.
    """

    outcome: Literal["known", "created", "ambiguous", "unresolved"]
    subject: Subject | None = None
    new: SubjectRef | None = None
    matched_by: Matched = ""
    sureness: Sureness = "low"
    candidates: tuple[SubjectCandidate, ...] = ()
    learnt: str = ""
    name: str = ""


def name_key(name: str) -> str:
    """Normalize a name as ``memory.name_key`` does."""
    return " ".join(words(name[:1000]))[:200]


def resolve(connection: Connection, namespace_id: str, said: str, scope: Family | None) -> Resolution:
    """Resolve ``said`` to a subject, within one family if ``said`` or ``scope`` names one.

    Runs two to six index look-ups.
    """
    said = said.strip()
    ref = SubjectRef.read(said)
    family = ref.family if ref is not None else scope
    for by, query, key in _ways(said, ref):
        found = _of_family(
            _subjects(connection, query, namespace_id, key), None if by == "id" and ref is None else family
        )
        if len(found) == 1:
            return Resolution("known", found[0], matched_by=by, sureness="high")
        if found:
            return Resolution("ambiguous", candidates=_as_candidates(found))
    if (by_page := _by_page(connection, namespace_id, said, ref, family)) is not None:
        return by_page
    if ref is None and not _ID.fullmatch(said.lower()):
        near, learnt = near_names(said, _of_family(_begin_alike(connection, namespace_id, said), family))
        if len(near) == 1 and near[0][1] != "low":
            return Resolution(
                "known", near[0][0], matched_by="matching", sureness=near[0][1], learnt=said if learnt else ""
            )
        if near:
            return Resolution("ambiguous", candidates=_as_candidates([subject for subject, _ in near]))
    elif ref is None:
        return Resolution("unresolved")
    new = ref or (SubjectRef(scope, slug_of(said)) if scope is not None else None)
    if new is None or (new.family == "core" and new.slug not in CORE):
        return Resolution("unresolved")
    return Resolution("created", new=new, matched_by="scope", sureness="high")


def _by_page(
    connection: Connection, namespace_id: str, said: str, ref: SubjectRef | None, family: Family | None
) -> Resolution | None:
    """Return the subject of the page whose title, alias, file name or path is ``said``, or None if no page or several match."""
    if _ID.fullmatch(said.lower()):
        return None
    key = name_key(ref.slug.replace("-", " ") if ref is not None else said)
    values = {"namespace": namespace_id, "said": said, "key": key}
    rows: list[Any] = list(connection.execute(_PAGES.encode(), values)) if key and key not in _NO_NAMES else []
    pages: list[tuple[str, Family]] = [(str(title), family_of(str(type_))) for title, type_ in rows]
    pages = [page for page in pages if family in (None, page[1]) and name_key(page[0])]
    if len(pages) != 1:
        return None
    title, own = pages[0]
    for by, query, own_key in (
        ("name", _BY_NAME, name_key(title)),
        ("id", _BY_REF, str(SubjectRef(own, slug_of(title)))),
    ):
        known = _of_family(_subjects(connection, query, namespace_id, own_key), own)
        if len(known) == 1:
            learnt = "" if ref is not None or said.endswith(".md") or by == "id" else said
            return Resolution("known", known[0], matched_by="page", sureness="high", learnt=learnt)
    return Resolution("created", new=SubjectRef(own, slug_of(title)), matched_by="page", sureness="high", name=title)


def subjects_of(connection: Connection, namespace_id: str, ids: Sequence[str]) -> list[Subject]:
    """Return the live subjects of entities, in the given order; a merged entity is replaced by the one it was merged into."""
    rows: list[Any] = list(connection.execute(_BY_IDS.encode(), {"namespace": namespace_id, "key": list(ids)}))
    order = {id_: place for place, id_ in reversed(list(enumerate(ids)))}
    return sorted(map(_subject, rows), key=lambda s: min(order.get(id_, len(order)) for id_ in s.ids))


def names_of(connection: Connection, subject: Subject) -> frozenset[str]:
    """Return all names of a subject, folded."""
    from slowwave.text.tokens import normalise_name

    rows = connection.execute(_NAMES, {"ids": list(subject.ids)}).fetchall()
    return frozenset(normalise_name(str(name)) for (name,) in rows)


def _ways(said: str, ref: SubjectRef | None) -> Iterable[tuple[Matched, str, str]]:
    if _ID.fullmatch(said.lower()):
        yield "id", _BY_ID, said.lower()
        return
    if ref is not None:
        yield "id", _BY_REF, str(ref)
    key = name_key(ref.slug.replace("-", " ") if ref is not None else said)
    if key:
        yield "name", _BY_NAME, key
        yield "alias", _BY_ALIAS, key
    if ref is None and _SLUG.fullmatch(said):  # a single word is a name that others may share
        yield "slug", _BY_SLUG, " ".join(f"{family}:{undated(said)}" for family in FAMILIES)


def _subjects(connection: Connection, query: str, namespace_id: str, key: str) -> list[Subject]:
    rows: list[Any] = list(connection.execute(query.encode(), {"namespace": namespace_id, "key": key}))
    return [_subject(row) for row in rows]


def _subject(row: Sequence[Any]) -> Subject:
    id_, name, entity_type, external, ids = row
    ref = SubjectRef.read(external or "") or SubjectRef(family_of(entity_type), slug_of(name))
    return Subject(id_, name, ref, tuple(ids))


def _begin_alike(connection: Connection, namespace_id: str, said: str) -> list[Subject]:
    """Return subjects with a name or alias that begins like ``said``, or like a long form of its first word."""
    from slowwave.matching.names import FORMAL

    first, *_ = name_key(said).split(" ")
    turned = name_key(said.partition(",")[2])
    starts = {first, *FORMAL.get(first, ()), turned.split(" ")[0]}
    beginnings = sorted({start[:_BEGINNING] for start in starts if len(start) >= _BEGINNING})
    if not beginnings:
        return []
    values = {"namespace": namespace_id, "beginnings": beginnings, "limit": NEAR}
    rows: list[Any] = list(connection.execute(_BEGIN_ALIKE.encode(), values))
    return [_subject(row) for row in rows[:NEAR]]


def near_names(said: str, subjects: Sequence[Subject]) -> tuple[list[tuple[Subject, Sureness]], bool]:
    """Return the best subjects whose names resemble ``said``, each with its certainty, and whether only the spelling differs.

    ``medium`` is the certainty for the same words spelled differently or in another order, a nickname, or a person's given or family name
    alone. ``low`` is the certainty for a typing error or a part of the name.
    """
    if not subjects:
        return [], False
    from slowwave.matching.names import prepare

    names = prepare([said, *(subject.name for subject in subjects)])
    form, formal, partly = list[Subject](), list[Subject](), list[Subject]()
    mine = str(names.folded[0]).split()
    for k, subject in enumerate(subjects, 1):
        theirs = str(names.folded[k]).split()
        if any(getattr(names, of)[0] == getattr(names, of)[k] >= 0 for of in ("compact", "ordered")):
            form.append(subject)
        elif set(names.nickname[0]) & set(names.nickname[k]) - {-1}:
            formal.append(subject)
        elif len(mine) == 1 < len(theirs) and mine[0] in (theirs[0], theirs[-1]):
            (formal if subject.family == "person" else partly).append(subject)
        elif _one_word_mistyped(mine, theirs):
            partly.append(subject)
    best: tuple[tuple[list[Subject], Sureness], ...] = ((form, "medium"), (formal, "medium"), (partly, "low"))
    for found, sureness in best:
        if found:
            return [(subject, sureness) for subject in found], found is form
    return [], False


def _one_word_mistyped(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether two names differ in one word by a typing error; numbers never count as a typing error."""
    from slowwave.text.slips import near

    if len(mine) != len(theirs):
        return False
    apart = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    return len(apart) == 1 and near(*apart[0])


def _of_family(subjects: Sequence[Subject], family: Family | None) -> list[Subject]:
    return [subject for subject in subjects if family is None or subject.family == family]


def _as_candidates(subjects: Sequence[Subject]) -> tuple[SubjectCandidate, ...]:
    return tuple(subject.candidate() for subject in sorted(subjects, key=lambda s: (s.name, s.id))[:SHOWN])
