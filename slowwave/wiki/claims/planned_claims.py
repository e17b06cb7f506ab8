"""Claims that a plan writes: statements about subjects, screened and embedded, in the form of ``write_claims``.

Pure: it uses no connection. This module is for plans what ``slowwave.wiki.claims.remember`` is for statements at run time, with one
difference: the planner decides which subject is meant, and what a statement ends, repeats or contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from slowwave.changes.claims import ClaimGroup, NewClaim, NewEntity, write_claims
from slowwave.changes.mutation import Mutation
from slowwave.changes.pages import PageCells, PageText, page_cells
from slowwave.errors import Refused
from slowwave.models import Embed
from slowwave.models.embedder import entity_text
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.wiki.claims.request import CORE, ClaimKind, SubjectRef
from slowwave.wiki.claims.subject_naming import relations_of
from slowwave.wiki.corpus.page_write import screened
from slowwave.wiki.corpus.planned_pages import PlannedPage, page_texts

KINDS: Final = get_args(ClaimKind)
LONGEST_STATEMENT: Final = 10_000
"""Longest statement of a claim, in characters."""
_LONGEST: Final = {"agent": 200, "session_id": 200, "reason": 1_000}
_MOST: Final = 100  # other names of one subject


@dataclass(frozen=True, slots=True)
class NewSubject:
    """A subject to be created: its reference (``project:rowan``), its name, and its other names."""

    ref: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A statement of a kind, with the time since when it holds.

    - ``documents`` and ``chunks``: rows of the snapshot that are its evidence; ``quote`` is the sentence of the source.
    - ``closes``: claims that end where this one begins.
    - ``ended_by``: the claim that begins where this one ends, as its id or as the statement of another claim of the group.
    - ``supports``: the claim that this statement is evidence of; the statement is then not a claim itself.
    """

    kind: str
    statement: str
    since: datetime
    until: datetime | None = None
    confidence: float = 0.8
    documents: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    quote: str = ""
    closes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    supports: str = ""
    session_id: str = ""
    agent: str = ""
    reason: str = ""
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class SubjectClaims:
    """The claims about one subject (an entity's id, or a new entity).

    ``pages`` are written with the claims; a claim without documents uses the first of them as evidence.
    """

    subject: str | NewSubject
    claims: tuple[PlannedClaim, ...]
    pages: tuple[PlannedPage, ...] = ()


def planned_claims(
    snapshot: Snapshot, settings: Settings, embed: Embed | None, groups: Sequence[SubjectClaims]
) -> list[Mutation]:
    """Return one ``write_claims`` mutation per group, in order; the claims and pages of a group are one decision.

    Names and statements are embedded in one call, passages in another. Without ``embed`` they can only be found by words, until a night
    adds vectors. Raises ``Refused``, naming the subject or the path, for text that screening refuses, for values out of bounds, and for
    references to claims that are not active.
    """
    read = [_checked(group, settings, snapshot.taken_at) for group in groups]
    pages = page_texts(snapshot, settings, embed, [page for group in read for page in group.pages])
    cells = page_cells(snapshot, pages)
    vectors = _vectors(snapshot, embed, list(_texts(read)))
    made: list[ClaimGroup] = []
    at = 0
    for group in read:
        own = pages[at : at + len(group.pages)]
        first = (pages[at], cells[at]) if own else None
        at += len(group.pages)
        subject = group.subject
        entity = (
            subject
            if isinstance(subject, str)
            else NewEntity(subject.ref, subject.name, subject.aliases, vectors.get(_named(subject)))
        )
        made.append(ClaimGroup(entity, tuple(_claim(c, first, vectors) for c in group.claims), tuple(own)))
    return write_claims(snapshot, made)


def _claim(
    claim: PlannedClaim, page: tuple[PageText, PageCells] | None, vectors: Mapping[str, NDArray[np.floating]]
) -> NewClaim:
    documents, chunks = claim.documents, claim.chunks
    if not documents and page is not None:
        text, cells = page
        documents = (cells.document,)
        words = [wording for wording in (claim.quote, claim.statement) if wording]
        holding = [
            id_
            for wording in words
            for id_, p in zip(cells.passages, text.passages, strict=True)
            if wording in p.content
        ]
        chunks = chunks or tuple(holding[:1])
    return NewClaim(
        claim.kind,
        claim.statement,
        _instant(claim.since),
        None if claim.until is None else _instant(claim.until),
        claim.confidence,
        documents,
        chunks,
        claim.closes,
        claim.contradicts,
        claim.supports,
        claim.agent,
        claim.session_id,
        claim.reason or claim.quote[: _LONGEST["reason"]],
        {} if claim.supports or not (relations := relations_of(claim.statement)) else {"relations": relations},
        None if claim.supports else vectors.get(claim.statement),
        claim.ended_by,
    )


def _checked(group: SubjectClaims, settings: Settings, now: datetime) -> SubjectClaims:
    """Check a group of claims and return it with screened texts."""
    about = group.subject if isinstance(group.subject, str) else group.subject.ref
    if not group.claims and not group.pages:
        raise Refused(f"Nothing is said of {about[:200]}. Leave the subject out.")
    subject = group.subject
    if isinstance(subject, NewSubject):
        ref = SubjectRef.read(subject.ref)
        if ref is None or str(ref) != subject.ref or (ref.family == "core" and ref.slug not in CORE):
            raise Refused(f"{subject.ref[:200]!r} is no reference of a subject, such as project:rowan.")
        names = (subject.name, *subject.aliases)
        if len(names) > _MOST or not all(name.strip() and len(name) <= _LONGEST["agent"] for name in names):
            raise Refused(
                f"{about} has a name that is empty or longer than {_LONGEST['agent']} characters, or too many of them."
            )
        for name in names:
            _screened(name, about, settings)
    claims: list[PlannedClaim] = []
    for claim in group.claims:
        _within_bounds(claim, about, now)
        _screened(f"{claim.quote}\n{claim.reason}\n{claim.agent}\n{claim.session_id}", about, settings)
        statement = _screened(claim.statement, about, settings)
        ended_by = _screened(claim.ended_by, about, settings) if claim.ended_by else ""
        claims.append(replace(claim, statement=statement, ended_by=ended_by))
    return SubjectClaims(subject, tuple(claims), group.pages)


def _within_bounds(claim: PlannedClaim, about: str, now: datetime) -> None:
    """Raise ``Refused`` for a claim that ``memory.remember`` would not accept either."""
    if not claim.supports and (claim.kind not in KINDS or not 0 < len(claim.statement.strip()) <= LONGEST_STATEMENT):
        raise Refused(
            f"A claim about {about[:200]} has a kind ({', '.join(KINDS)}) and a statement of at most {LONGEST_STATEMENT:,} characters."
        )
    if claim.supports and (claim.closes or claim.contradicts):
        raise Refused(
            f"What supports a claim about {about[:200]} ends and contradicts nothing: it is no claim of its own."
        )
    if not 0 <= claim.confidence <= 1 or claim.since.tzinfo is None or claim.since > now:
        raise Refused(
            f"A claim about {about[:200]} has a confidence from 0 to 1 and begins, with its zone, when it has begun."
        )
    if claim.until is not None and claim.until < claim.since:
        raise Refused(f"A claim about {about[:200]} ends before it begins.")
    for name, most in _LONGEST.items():
        if len(getattr(claim, name)) > most:
            raise Refused(f"The {name} of a claim about {about[:200]} has more than {most:,} characters.")


def _screened(text: str, about: str, settings: Settings) -> str:
    result = screened(text.replace("\0", ""), "", settings)
    if result.refused:
        raise Refused(
            f"A claim about {about[:200]} holds what screening refuses ({result.refused}), so it cannot be planned."
        )
    return result.text


def _texts(groups: Sequence[SubjectClaims]) -> Iterable[str]:
    for group in groups:
        if isinstance(group.subject, NewSubject):
            yield _named(group.subject)
        yield from (claim.statement for claim in group.claims if not claim.supports)


def _vectors(snapshot: Snapshot, embed: Embed | None, texts: Sequence[str]) -> dict[str, NDArray[np.floating]]:
    known = snapshot.vectors["memory_vectors"]
    wanted = list(dict.fromkeys(texts))
    if embed is None or not known.model or not wanted:
        return {}
    made = np.asarray(embed(wanted), np.float32)
    fits = not len(known) or made.shape[1:] == known.matrix.shape[1:]
    return dict(zip(wanted, made, strict=True)) if fits else {}


def _named(subject: NewSubject) -> str:
    return entity_text(subject.name, subject.ref.partition(":")[0])


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
