"""Plans that forget stored rows for good: a memory, a person or another entity, a session, or every row that holds a text.

The plan is sealed, shown, approved and applied as any other. Applied, it deletes the rows with their versions, vectors, passages, search
texts and recall queries, and pages of all corpora with the files of followed folders. It lists ids and no text, so that the plan does not
keep what it removes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from slowwave.bindings.stores import connected_store
from slowwave.changes.claims import erase_rows
from slowwave.changes.mutation import erased
from slowwave.errors import Refused
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.plans.commands import argument
from slowwave.plans.items import OPERATION, Decision, Item
from slowwave.plans.report import Report
from slowwave.plans.writings import NO_UNDO
from slowwave.search.recall_events import logged
from slowwave.sources.page_files import content_hash
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.quotation import quotable, quote
from slowwave.text.tokens import counted
from slowwave.wiki.claims.request import slug_of
from slowwave.wiki.corpus.corpora import UNFOLLOWED

MOST: Final = 5_000
"""The number of rows that one plan may forget for good. One item lists all of them, and a person has to be able to read it."""

NOT_ERASED: Final = (
    "Earlier plans with their notes and journal, reports, snapshots and the storage of Dagster may still hold the text until their "
    "retention is over; this plan does not erase them."
)

FILES: Final = (
    "The files of these pages in followed folders are removed when the plan is applied. A file that a person edited since the last sync "
    "stays on disk and is not imported again. Copies elsewhere, as in git history, stay."
)
"""The statement of a plan that forgets pages with files in followed folders."""

SHORTEST: Final = 3
"""The number of characters that a text or a name needs to be matched: a shorter one is part of almost every row."""

_QUOTED: Final = 100
"""The length in characters at which a quoted example is cut."""

QUOTED: Final = 20
"""The length in characters from which a memory's text makes pages that contain it part of the plan.

A shorter text, such as "Yes, please.", is in pages that have nothing to do with the memory; ``--match`` finds those.
"""

By = Literal["memory", "entity", "session", "match"]

_MEMORY: Final = """
SELECT id::text FROM memory.memories WHERE namespace_id = %(scope)s
  AND (external_id = %(value)s OR id::text = %(value)s OR length(%(value)s) >= 8 AND id::text LIKE %(prefix)s) ORDER BY id LIMIT 2
"""
_ENTITIES: Final = """
SELECT e.id::text, e.name FROM memory.entities e WHERE e.namespace_id = %(scope)s AND (lower(e.name) = lower(%(value)s)
  OR e.id::text = %(value)s OR e.external_id = %(value)s
  OR EXISTS (SELECT 1 FROM memory.entity_aliases a WHERE a.entity_id = e.id AND lower(a.alias) = lower(%(value)s)))
"""
_NAMES: Final = """
SELECT name FROM memory.entities WHERE id = ANY(%(entities)s::uuid[])
UNION SELECT alias FROM memory.entity_aliases WHERE entity_id = ANY(%(entities)s::uuid[])
"""
_SESSION: Final = """
SELECT 'memories', id::text FROM memory.memories WHERE namespace_id = %(scope)s AND session_id = %(value)s
UNION ALL SELECT 'memory_facts', id::text FROM memory.memory_facts WHERE namespace_id = %(scope)s AND session_id = %(value)s
UNION ALL SELECT 'session_items', memory.session_item_id(namespace_id, id)::text FROM memory.session_items
  WHERE namespace_id = %(scope)s AND session_id = %(value)s
UNION ALL SELECT 'documents', id::text FROM memory.documents WHERE namespace_id = %(scope)s AND version_of IS NULL
  AND (external_id = source || ':' || %(value)s OR %(value)s IN (metadata ->> 'session_id', metadata -> 'frontmatter' ->> 'session_id'))
"""
_HOLDING: Final = """
SELECT 'memories', m.id::text FROM memory.memories m WHERE m.namespace_id = %(scope)s
  AND (concat_ws(' ', m.subject, m.author, m.source, m.session_id, m.attributes::text, m.tags::text, m.external_id) ~ %(pattern)s
    OR EXISTS (
    SELECT 1 FROM memory.memory_versions v WHERE v.memory_id = m.id AND concat_ws(' ', v.content, v.reason) ~ %(pattern)s) OR EXISTS (
    SELECT 1 FROM memory.chunks k WHERE k.id = ANY (m.source_chunk_ids) AND k.speaker ~ %(pattern)s))
UNION ALL SELECT 'memory_facts', id::text FROM memory.memory_facts
  WHERE namespace_id = %(scope)s AND concat_ws(' ', subject, predicate, object, fact_text, session_id, external_id) ~ %(pattern)s
UNION ALL SELECT 'claim_events', id::text FROM memory.claim_events
  WHERE namespace_id = %(scope)s AND concat_ws(' ', agent, session_id, reason) ~ %(pattern)s
UNION ALL SELECT 'entities', e.id::text FROM memory.entities e WHERE e.namespace_id = %(scope)s
  AND (concat_ws(' ', e.name, e.description, e.attributes::text, e.source, e.external_id) ~ %(pattern)s
    OR EXISTS (SELECT 1 FROM memory.entity_aliases a WHERE a.entity_id = e.id AND a.alias ~ %(pattern)s))
UNION ALL SELECT 'relationships', id::text FROM memory.relationships
  WHERE namespace_id = %(scope)s AND concat_ws(' ', description, properties::text, external_id) ~ %(pattern)s
UNION ALL SELECT 'communities', id::text FROM memory.communities WHERE namespace_id = %(scope)s AND payload::text ~ %(pattern)s
UNION ALL SELECT 'pages', id::text FROM memory.pages WHERE namespace_id = %(scope)s AND concat_ws(' ', path, title, body) ~ %(pattern)s
UNION ALL SELECT 'recall_events', id::text FROM memory.recall_events
  WHERE namespace_id = %(scope)s AND concat_ws(' ', query, external_id) ~ %(pattern)s
UNION ALL SELECT 'session_items', memory.session_item_id(namespace_id, id)::text FROM memory.session_items
  WHERE namespace_id = %(scope)s AND concat_ws(' ', item, session_id) ~ %(pattern)s
UNION ALL SELECT 'chunks', id::text FROM memory.chunks
  WHERE namespace_id = %(scope)s AND concat_ws(' ', speaker, content, external_id) ~ %(pattern)s
UNION ALL SELECT 'links', id::text FROM memory.links WHERE namespace_id = %(scope)s AND concat_ws(' ', target, anchor) ~ %(pattern)s
UNION ALL SELECT 'documents', id::text FROM memory.documents
  WHERE namespace_id = %(scope)s AND concat_ws(' ', path, source, external_id, title, content, metadata::text) ~ %(pattern)s
UNION ALL SELECT 'proposals', id::text FROM memory.proposals WHERE namespace_id = %(scope)s AND concat_ws(' ', about, actions::text, reason,
    array_to_string(sources, ' '), agent, session_id, said, verdict_by, verdict_reason) ~ %(pattern)s
UNION ALL SELECT 'purges', id::text FROM memory.purges WHERE namespace_id = %(scope)s AND concat_ws(' ', path, reason, agent) ~ %(pattern)s
UNION ALL SELECT 'conflicts', id::text FROM night.conflicts
  WHERE namespace_id = %(scope)s AND concat_ws(' ', reason, evidence::text, note) ~ %(pattern)s
UNION ALL SELECT 'findings', id::text FROM night.findings
  WHERE namespace_id = %(scope)s AND concat_ws(' ', message, details::text) ~ %(pattern)s
UNION ALL SELECT 'model_answers', night.model_answer_id(namespace_id, key)::text FROM night.model_answers
  WHERE namespace_id = %(scope)s AND answer ~ %(pattern)s
"""
_PAGES: Final = """
SELECT d.path, c.root, d.content_hash FROM memory.documents d JOIN memory.corpora c ON c.id = d.corpus_id WHERE d.id = ANY(%s::uuid[])
  AND d.version_of IS NULL AND d.invalidated_at IS NULL AND c.root NOT IN ('sessions:', 'evidence:') ORDER BY 1
"""
_TEXTS_OF: Final = """
SELECT DISTINCT content FROM memory.memory_versions WHERE memory_id = ANY(%(memories)s::uuid[]) AND length(btrim(content)) >= 3
"""
_SAYING: Final = """
WITH texts AS MATERIALIZED (SELECT lower(btrim(t)) AS said, length(btrim(t)) AS size FROM unnest(%(texts)s::text[]) AS t)
SELECT 'recall_events', e.id::text FROM memory.recall_events e JOIN texts t ON strpos(lower(e.query), t.said) > 0
  WHERE e.namespace_id = %(scope)s
UNION ALL SELECT 'chunks', k.id::text FROM memory.chunks k JOIN memory.documents d ON d.id = k.document_id
  WHERE k.namespace_id = %(scope)s AND d.corpus_id IS NULL AND k.content = ANY(%(texts)s::text[]) AND EXISTS (
    SELECT 1 FROM memory.memories m WHERE m.id = ANY(%(memories)s::uuid[])
      AND (k.id = ANY(m.source_chunk_ids) OR regexp_replace(k.external_id, '#[0-9]+$', '') = m.external_id))
UNION ALL SELECT 'chunks', k.id::text FROM memory.chunks k JOIN memory.documents d ON d.id = k.document_id
  JOIN texts t ON t.size >= %(quoted)s AND strpos(lower(k.content), t.said) > 0
  WHERE k.namespace_id = %(scope)s AND d.corpus_id IS NOT NULL
UNION ALL SELECT 'documents', d.id::text FROM memory.documents d
  JOIN texts t ON t.size >= %(quoted)s AND strpos(lower(d.content), t.said) > 0
  WHERE d.namespace_id = %(scope)s AND d.corpus_id IS NOT NULL
UNION ALL SELECT 'findings', f.id::text FROM night.findings f
  JOIN (SELECT said FROM texts WHERE size >= %(quoted)s UNION ALL SELECT unnest(%(memories)s::text[])) t (said)
    ON strpos(lower(concat_ws(' ', f.message, f.details::text)), t.said) > 0 WHERE f.namespace_id = %(scope)s
"""
_PARTS: Final = """
WITH chosen AS (SELECT * FROM unnest(%(tables)s::text[], %(rows)s::uuid[]) AS c (tbl, row_id)),
documents AS (
  SELECT row_id AS id FROM chosen WHERE tbl = 'documents'
  UNION SELECT d.id FROM memory.documents d JOIN chosen ON tbl = 'documents' AND d.version_of = row_id)
SELECT 'memory_versions', v.id::text FROM memory.memory_versions v JOIN chosen ON tbl = 'memories' AND v.memory_id = row_id
UNION SELECT 'promotions', p.id::text FROM memory.promotions p JOIN chosen ON tbl = 'memories' AND p.memory_id = row_id
UNION SELECT 'claim_events', e.id::text FROM memory.claim_events e JOIN chosen ON tbl = 'memories' AND e.claim_id = row_id
UNION SELECT 'entity_aliases', a.id::text FROM memory.entity_aliases a JOIN chosen ON tbl = 'entities' AND a.entity_id = row_id
UNION SELECT 'relationships', r.id::text FROM memory.relationships r JOIN chosen ON tbl = 'entities' AND r.source_entity_id = row_id
UNION SELECT 'relationships', r.id::text FROM memory.relationships r JOIN chosen ON tbl = 'entities' AND r.target_entity_id = row_id
UNION SELECT 'links', l.id::text FROM memory.links l JOIN chosen ON tbl = 'entities' AND l.entity_id = row_id
UNION SELECT 'links', l.id::text FROM memory.links l JOIN documents d ON l.document_id = d.id
UNION SELECT 'chunks', k.id::text FROM memory.chunks k JOIN documents d ON k.document_id = d.id
UNION SELECT 'documents', id::text FROM documents
UNION SELECT 'conflicts', c.id::text FROM night.conflicts c
  JOIN chosen ON tbl IN ('memories', 'memory_facts', 'relationships') AND row_id IN (c.row_a_id, c.row_b_id)
"""


_EXAMPLES: Final = """
SELECT content FROM memory.chunks WHERE id = ANY(%s::uuid[]) AND invalidated_at IS NULL ORDER BY length(content), id LIMIT 3
"""
_LONGER_WORDS: Final = """
SELECT DISTINCT lower(found[1]) FROM (
  SELECT content FROM memory.memory_versions WHERE memory_id = ANY(%(rows)s::uuid[])
  UNION ALL SELECT content FROM memory.chunks WHERE id = ANY(%(rows)s::uuid[])) AS texts (content),
  LATERAL regexp_matches(content, %(pattern)s, 'g') AS found ORDER BY 1 LIMIT 3
"""


@dataclass(frozen=True, slots=True)
class _Selected:
    """The rows to forget by table, and rows near the selection that an operator has to know of.

    ``along`` are the passages that do not match and are deleted with their page, and ``examples`` some of their texts. ``inside`` is the
    number of rows that hold the text only inside longer words, such as ``words``, and are kept.
    """

    rows: dict[str, set[str]]
    along: int = 0
    examples: tuple[str, ...] = ()
    inside: int = 0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedForgetting:
    """A sealed plan that forgets rows for good.

    ``rows`` counts them by table, ``pages`` are the paths of live pages among them. ``edited`` are files in followed folders that a
    person edited since the last sync: they stay on disk and are not imported again. ``histories`` are the followed folders of these pages
    that are in a git repository, whose history keeps the text. ``along`` counts the passages that do not match and are deleted with their
    page; ``examples`` are some of their texts. ``inside`` counts the rows that hold the text only inside longer words, such as ``words``,
    and are kept. ``namesakes`` counts the entities of the name, if it was the name of several.
    """

    plan_hash: str
    rows: Mapping[str, int]
    pages: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    along: int = 0
    examples: tuple[str, ...] = ()
    inside: int = 0
    words: tuple[str, ...] = ()
    namesakes: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the plan as ``--json`` shows it."""
        lists = {name: list(getattr(self, name)) for name in ("pages", "edited", "histories", "examples", "words")}
        counts = {"rows": dict(self.rows), "along": self.along, "inside": self.inside, "namesakes": self.namesakes}
        return {"plan_hash": self.plan_hash, **counts, **lists, "message": self.sentence()}

    def sentence(self) -> str:
        """State what the plan would delete, that it cannot be undone, and what still holds the text."""
        counts = ", ".join(f"{n:,} of {table}" for table, n in sorted(self.rows.items()))
        along = f"{along_sentence(self.along)} Examples: {_quoted(self.examples)}." if self.along else ""
        inside = (
            f"{counted(self.inside, 'row contains', 'rows contain')} the text only inside a longer word"
            f"{f' ({_quoted(self.words)})' if self.words else ''} and {'is' if self.inside == 1 else 'are'} kept. "
            "Plan with --match and that word to delete them too."
            if self.inside
            else ""
        )
        files = FILES if self.pages else ""
        several = f"{self.namesakes:,} entities have this name, and all of them are deleted." if self.namesakes else ""
        return " ".join(
            filter(None, (f"The plan would delete {counts}.", several, along, inside, NO_UNDO, files, NOT_ERASED))
        )


def along_sentence(count: int) -> str:
    """State how many passages are deleted only because their page is."""
    return (
        f"{counted(count, 'deleted passage does', 'deleted passages do')} not match the selection: "
        "a page that matches is deleted with all its passages."
    )


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"“{quotable(quote(text, _QUOTED))}”" for text in texts)


def plan_forgetting(
    store: Store, namespace: str, by: By, value: str, *, reason: str = "", wait: float = 0.0, author: str = ""
) -> PlannedForgetting:
    """Seal a plan that forgets the rows that a selector means; nothing is deleted until it is approved and applied.

    ``by`` states what ``value`` is: the id of a memory, a name of an entity, the id of a session, or a text that rows contain. ``author``
    is sealed with the plan, and may not approve it if the rule of the namespace excludes authors. Raises
    ``Refused`` for a selector that means no row, an ambiguous id, more than ``MOST`` rows, or a namespace of a connected store.
    """
    value = value.strip()
    if not value or (by in ("entity", "match") and len(value) < SHORTEST):
        raise Refused(f"--{by} needs at least {SHORTEST if value else 1} characters. Nothing was planned.")
    logged()  # a recall of this process is part of the plan, or is recorded after it
    pages: list[tuple[str, str, str]] = []
    selections: list[_Selected] = []

    def propose(inputs: Inputs) -> Proposal:
        with store.connect("reader") as connection:
            selected = _selected(connection, inputs.snapshot.namespace_id, by, value)
            rows = selected.rows
            pages.extend(connection.execute(_PAGES, (sorted(rows.get("documents", ())),)).fetchall())  # type: ignore[arg-type]
        selections.append(selected)
        mutation = erase_rows(inputs.snapshot, rows, reason)
        shown: dict[str, object] = {"selected_by": by, "undo": NO_UNDO, "still_held": NOT_ERASED}
        if selected.along:
            shown["along"] = along_sentence(selected.along)
        if pages:
            shown |= {"pages": len(pages), "files": FILES}
        if by in ("memory", "session"):  # an id; the text of the others is what is to be forgotten
            shown["selected"] = value
        item = Item(OPERATION, Decision.FORGET, mutation, shown, risk="high")
        return Proposal((item,), Report(OPERATION, f"{len(mutation.rows):,} rows would be forgotten for good."))

    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
        if (connected := connected_store(connection, scope)) is not None:
            raise Refused(
                f"{namespace} is a namespace of the connected store {connected[0].name}, and Slowwave deletes no rows there for good. "
                "Delete them with the program that owns the store; the next night reads what is left. Nothing was planned."
            )
    name = f"forget {by} {hashlib.sha256(value.encode()).hexdigest()[:16]}"
    night = seal_proposal(store, namespace, OPERATION, propose, of=name, trigger="manual", wait=wait, by=author)
    if night.plan is None or not night.plan.items or night.state == "empty":
        raise Refused(
            "A plan that forgets exactly these rows was rejected before, and they have not changed. Withdraw the rejection "
            f"(`slowwave plans reconsider {argument(namespace)} ITEM --reason WHY`) to plan it again. Nothing was planned."
        )
    counts = Counter(table for item in night.plan.items for table, _ in erased(item.mutation))
    folders = {root: Path(root) for _, root, _ in pages if root not in UNFOLLOWED}
    return PlannedForgetting(
        night.plan.plan_hash,
        counts,
        tuple(dict.fromkeys(path for path, _, _ in pages)),
        tuple(path for path, root, hash_ in pages if root in folders and _is_edited(folders[root] / path, hash_)),
        tuple(
            root for root, folder in folders.items() if any((up / ".git").exists() for up in (folder, *folder.parents))
        ),
        *((last := selections[-1]).along, last.examples, last.inside, last.words),
        namesakes=named if by == "entity" and (named := len(last.rows["entities"])) > 1 else 0,
    )


def _is_edited(file: Path, hash_: str) -> bool:
    """Return whether a file exists and differs from the text that Slowwave read last."""
    try:
        return content_hash(file.read_bytes()) != hash_
    except OSError:
        return False


def _selected(connection: Connection, scope: str, by: By, value: str) -> _Selected:
    """Return the rows to forget, with all their parts."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    chosen: defaultdict[str, set[str]] = defaultdict(set)
    asked: dict[str, Any] = {"scope": scope, "value": value, "prefix": f"{value}%" if _is_hex(value) else value}
    if by == "memory":
        found = connection.execute(_MEMORY, asked).fetchall()
        if len(found) != 1:
            many = "is the beginning of several memories" if found else "is the id of no memory of this namespace"
            raise Refused(
                f"{value[:64]!r} {many}. `slowwave search NAMESPACE WORDS --json` shows ids. Nothing was planned."
            )
        chosen["memories"].add(str(found[0][0]))
    elif by == "session":
        _add(chosen, connection.execute(_SESSION, asked).fetchall())
    else:
        names = [value]
        if by == "entity":
            entities = [str(id_) for id_, _ in connection.execute(_ENTITIES, asked).fetchall()]
            if not entities:
                raise Refused(
                    f"There is no entity {value[:64]!r}. --match forgets rows that hold a text. Nothing was planned."
                )
            chosen["entities"].update(entities)
            names = [str(n) for (n,) in connection.execute(_NAMES, {"entities": entities}) if len(str(n)) >= SHORTEST]
            # Paths and references have "ada-moss" for "Ada Moss". The slug of one word can be an ordinary word, as "will".
            names += [slug for slug in map(slug_of, names) if "-" in slug]
        asked["pattern"] = _pattern(names, any_case=by == "match")
        _add(chosen, connection.execute(_HOLDING, asked).fetchall())
        if by == "match":
            _add(near, connection.execute(_HOLDING, asked | {"pattern": f"(?i){re.escape(value)}"}).fetchall())
    memories = {"memories": sorted(chosen["memories"]), "scope": scope, "quoted": QUOTED}
    texts = [str(text) for (text,) in connection.execute(_TEXTS_OF, memories)]
    _add(chosen, connection.execute(_SAYING, {**memories, "texts": texts}).fetchall())
    flat = [(table, row) for table, rows in chosen.items() for row in rows]
    matching = set(chosen["chunks"])
    parts = {"tables": [table for table, _ in flat], "rows": [row for _, row in flat]}
    _add(chosen, connection.execute(_PARTS, parts).fetchall())
    inside = {row for table, rows in near.items() for row in rows - chosen[table]}
    asked = {"rows": sorted(inside), "pattern": rf"(?i)(\w*{re.escape(value)}\w*)"}
    words = tuple(str(word) for (word,) in connection.execute(_LONGER_WORDS, asked)) if inside else ()
    if not any(chosen.values()):
        longer = f" {len(inside):,} hold it inside a longer word only: {_quoted(words)}." if inside else ""
        raise Refused(f"No stored row matches --{by}.{longer} Nothing was planned.")
    if (many := sum(map(len, chosen.values()))) > MOST:
        raise Refused(f"That means {many:,} rows, and one plan may forget {MOST:,}. Select fewer. Nothing was planned.")
    along = chosen["chunks"] - matching if by != "session" else set[str]()
    examples = tuple(str(text) for (text,) in connection.execute(_EXAMPLES, (sorted(along),))) if along else ()
    return _Selected({table: rows for table, rows in chosen.items() if rows}, len(along), examples, len(inside), words)


def _add(chosen: defaultdict[str, set[str]], rows: list[Any]) -> None:
    for table, row in rows:
        chosen[str(table)].add(str(row))


def _pattern(texts: list[str], *, any_case: bool) -> str:
    r"""Return a regular expression of PostgreSQL that finds any of the texts as whole words.

    Names are matched in their own case, so that a person called Will is not every "will". A text is also found as JSON writes it, with
    escaped quotation marks and line ends: the ``n`` of ``\n`` is no letter of the word that follows. Scripts without spaces between
    words, such as Chinese or Thai, have no such boundary and are matched anywhere.
    """
    forms = {form for text in texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])}
    bounded = (
        f"{_BEGINS if _is_spaced(form[0]) else ''}{re.escape(form)}{_ENDS if _is_spaced(form[-1]) else ''}"
        for form in sorted(forms)
    )
    return f"{'(?i)' if any_case else ''}({'|'.join(bounded)})"


_BEGINS: Final = r"(?:(?<!\w)|(?<=\\[bfnrt]))"
_ENDS: Final = r"(?!\w)"
_UNSPACED: Final = re.compile(
    "[\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Letters next to which a word can begin or end: Thai to Burmese, Khmer, Chinese, Japanese, and Korean with its particles."""


def _is_spaced(character: str) -> bool:
    """Return whether a character is part of words that a script separates."""
    return (character.isalnum() or character == "_") and _UNSPACED.match(character) is None


def _is_hex(value: str) -> bool:
    return re.fullmatch(r"[0-9a-f-]+", value) is not None
