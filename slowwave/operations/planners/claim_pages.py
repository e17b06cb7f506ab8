"""What durable pages claim: those that people and other programs wrote, not digests of ours, evidence, tombstones, or what is superseded.

A page about a person, a project or a concept may call it by its title. Timelines and lists of evidence are not read: they repeat. A page
with an instruction to its reader claims nothing. How sentences are read belongs to ``slowwave.texts.plain_claims``. Linear in the texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

import pyarrow.compute as pc

from slowwave.claims.subject_ref import SubjectRef, family_of, slug_of
from slowwave.claims.subjects import Subject
from slowwave.operations.planners.claim_candidates import ClaimCandidate, Naming, NewName
from slowwave.operations.planners.session_statements import fields_in, is_private
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.dates import absolutize
from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.plain_claims import claim_of
from slowwave.texts.screening import counting, screen, unsafe
from slowwave.texts.sensitivity import privacy_class
from slowwave.texts.session_turns import SessionTurn, SpokenSentence, spoken

SURE: Final = 0.7
"""Of what a page says: nobody knows who said it."""

LONGEST: Final = 200_000
"""Characters of a page that is read."""

_EVIDENCE: Final = "evidence:"
_FAMILIES: Final = ("person", "project", "concept")
_NO_PAGES: Final = frozenset(("session", "tombstone", "capture", "archive", "digest-daily", "digest-weekly"))
_SKIPPED: Final = re.compile(r"^#{1,6}[ \t]+(?:timeline|evidence|open questions|ideas?|todo)\b", re.IGNORECASE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]")
_COLUMNS: Final = ("id", "path", "title", "content", "metadata", "plane", "corpus_id", "recorded_at")


def of_pages(snapshot: Snapshot, naming: Naming, leave: Collection[str] = ()) -> list[ClaimCandidate]:
    """What the durable pages of a snapshot claim, by path."""
    roots = {row["id"]: row["root"] for row in snapshot.live("corpora", ("id", "root")).to_pylist()}
    table = snapshot.live("documents", _COLUMNS)
    rows = table.filter(pc.equal(table["plane"], "durable")).to_pylist()
    found: list[ClaimCandidate] = []
    for row in sorted(rows, key=lambda r: (str(r["path"] or ""), r["id"])):
        fields = fields_in(row["metadata"])
        if roots.get(row["corpus_id"], _EVIDENCE) != _EVIDENCE and _is_read(fields, leave):
            found += _of_page(row, fields, naming, leave)
    return found


def _is_read(fields: Mapping[str, Any], leave: Collection[str]) -> bool:
    return not (
        "quarantined" in fields
        or "forgotten" in fields
        or fields.get("status") in ("superseded", "pending", "raw")
        or fields.get("source_kind") == "generated"
        or fields.get("type") in _NO_PAGES
        or is_private(fields, leave)
    )


def _of_page(
    row: Mapping[str, Any], fields: Mapping[str, Any], naming: Naming, leave: Collection[str]
) -> Iterator[ClaimCandidate]:
    content = str(row["content"])
    if len(content) > LONGEST or any(f.kind == "injection" for f in counting(screen(content))):
        return
    since = _since(fields, row["recorded_at"])
    own = _own(str(row["title"]), str(fields.get("type") or ""))
    for sentence in _sentences(content):
        said = absolutize(sentence.text, since, write="replace", nearest=False).text
        claim = claim_of(own.name if own else "", said)
        if claim is None or unsafe(sentence.text) or ((kind := privacy_class(sentence.text)) and kind not in leave):
            continue
        subject = _subject(claim.about, claim.kind, own, naming)
        if subject is not None:
            source = f"{row['path']}#L{sentence.line}"
            yield ClaimCandidate(
                *(subject, claim.kind, claim.statement, claim.slot, since, row["id"], sentence.text, source),
                confidence=SURE,
                from_page=True,
            )


def _subject(about: str, kind: str, own: NewName | None, naming: Naming) -> Subject | NewName | None:
    """Of whom a page's claim is: of what the page is about, where it names that; else of the one that it names."""
    if own is not None and re.search(rf"(?<!\w){re.escape(own.name)}(?!\w)", about):
        found = naming.known.meant(own.name)
        return found.subject or (None if found.candidates else own)
    return naming.about(about, opens=kind != "decision")


def _own(title: str, type_: str) -> NewName | None:
    """What a page is about, where that is a person, a project or a concept."""
    bare = title.strip()
    if type_ not in _FAMILIES or not bare or not bare[0].isupper() or len(bare.split()) > 4:
        return None
    return NewName(str(SubjectRef(family_of(type_), slug_of(bare))), bare)


def _sentences(content: str) -> list[SpokenSentence]:
    try:
        head = frontmatter(content)
        first, body = head.lines + 1, content[head.end :]
    except UnreadableFile:
        first, body = 1, content
    lines: list[tuple[int, str]] = []
    skipped = False
    for number, line in enumerate(body.split("\n"), first):
        if _HEADING.match(line):
            skipped = bool(_SKIPPED.match(line))
        lines.append((number, "" if skipped else line))
    return spoken(SessionTurn("", tuple(lines), None))


def _since(fields: Mapping[str, Any], recorded: datetime) -> datetime:
    for name in ("date", "updated", "created"):
        try:
            day = date.fromisoformat(str(fields.get(name) or ""))
        except ValueError:
            continue
        return min(datetime(day.year, day.month, day.day, tzinfo=UTC), recorded)
    return recorded
