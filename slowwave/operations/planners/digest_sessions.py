"""``digest_sessions``: what sessions told becomes a note of each, a digest of each day, and one of each week that is over (Dory 4.8).

What a sentence tells is read by ``slowwave.texts.informative_sentences``, how a digest is told belongs to ``digest_pages``, what a model
makes of it to ``digest_writing``. Every sentence leads to its session and line. A digest is made anew when its sessions have changed, as a
new version of its page; one that a person has written in is left alone. Cost: that of reading the sessions; linear.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import pyarrow.compute as pc
from pydantic import BaseModel, Field

from slowwave.corpus.corpora import PAGES_ROOT, UNFOLLOWED
from slowwave.corpus.planned_page import PlannedPage, planned_pages
from slowwave.errors import Refused
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.planners.digest_making import Digests, MadeDigest
from slowwave.operations.planners.digest_pages import (
    StoredDigest,
    stored_digest,
)
from slowwave.operations.planners.digest_writing import DigestWriting
from slowwave.operations.planners.session_statements import (
    FoundSessions,
    ReadSession,
    finished_sessions,
    read_session,
    things_named,
)
from slowwave.plans.items import Item, ask_unless_measured
from slowwave.plans.permitted import OF_PAGES, PAGE_PARTS, Permit
from slowwave.reports.model import Finding, Report
from slowwave.snapshots.snapshot import Snapshot

OPERATION: Final = "digest_sessions"
_QUOTED: Final = 12
_SHOWN: Final = 20


class DigestOptions(BaseModel):
    """What may be set of it."""

    notes: bool = Field(default=True, description="Whether a session that tells something has a note of its own.")
    max_tokens: int = Field(default=1_500, ge=100, le=10_000, description="Tokens of what a digest tells.")
    may_tell: tuple[str, ...] = Field(
        default=(),
        description="Privacy classes that digests may tell (credentials, financial, health, legal, contact, personal), and private.",
    )


@operation(
    kind="planner",
    reads=("documents", "corpora", "chunks", "chunk_vectors", "links", "entities", "entity_aliases", "rejections"),
    after=("purge_expired", "compile_pages"),
    permits=(Permit("write_page", {"documents"}, beside=OF_PAGES, ends=PAGE_PARTS),),
    options=DigestOptions,
)
def digest_sessions(inputs: Inputs) -> Proposal:
    """What sessions told becomes pages: a note of each session, a digest of each day, and one of each week that is over.

    Without a model the sentences are the speakers' own, taken from the sessions; every one names its session and line. A session that goes
    on waits; one that comes late makes a new version of the digest of its day. What is private, secret, or an instruction to a reader is
    left out, and a digest that a person has written in is left alone.
    """
    snapshot = inputs.snapshot
    options = inputs.settings.options(OPERATION, DigestOptions)
    found = finished_sessions(snapshot, options.may_tell)
    sessions = [read_session(page, options.may_tell) for page in found.pages]
    things = things_named(sessions)
    root = _root(snapshot)
    digests = Digests(
        _stored(snapshot, root),
        things,
        options.max_tokens,
        DigestWriting(inputs.consolidator, inputs.budget, options.may_tell),
    )
    if options.notes:
        for session in sessions:
            digests.note(session)
    of_day: defaultdict[date, list[ReadSession]] = defaultdict(list)
    for session in sessions:
        for day in session.days:
            of_day[day].append(session)
    for day, those in sorted(of_day.items()):
        digests.day(day, those)
    for (year, week), days in sorted(digests.weeks(snapshot.taken_at.date()).items()):
        digests.week(year, week, days)
    items, refused = _items(inputs, digests.made, root)
    numbers = _numbers(found, sessions, digests, len(items))
    return Proposal(
        tuple(items),
        Report(
            OPERATION,
            f"{len(items):,} notes and digests would be written of {len(found.pages):,} sessions."
            if items
            else f"No session of {len(found.pages):,} has anything new to tell.",
            numbers,
            (*_findings(digests), *refused),
            _table(digests.made),
        ),
    )


def _root(snapshot: Snapshot) -> str:
    """Where pages go: into the folder that the namespace follows, if it is one; else into the agents' own corpus."""
    roots: list[str] = snapshot.live("corpora", ("root", "invalidated_at"))["root"].to_pylist()
    folders = [root for root in roots if root not in UNFOLLOWED]
    return folders[0] if len(folders) == 1 else PAGES_ROOT


def _stored(snapshot: Snapshot, root: str) -> dict[str, StoredDigest]:
    """The pages that stand under digests/, by path."""
    corpora = {row["id"]: row["root"] for row in snapshot.live("corpora", ("id", "root")).to_pylist()}
    pages = snapshot.live("documents", ("id", "path", "content", "corpus_id", "plane"))
    pages = pages.filter(pc.fill_null(pc.starts_with(pages["path"], "digests/"), False))
    rows: list[dict[str, Any]] = pages.to_pylist()
    return {
        row["path"]: stored_digest(str(row["id"]), row["path"], row["content"])
        for row in rows
        if corpora.get(row["corpus_id"]) == root
    }


def _items(inputs: Inputs, made: Sequence[MadeDigest], root: str) -> tuple[list[Item], list[Finding]]:
    """An item a page, and what was refused: one page that cannot be planned holds up no other."""

    def items(those: Sequence[MadeDigest]) -> list[Item]:
        pages = [PlannedPage(one.digest.path, one.digest.page, root, one.digest.made_of) for one in those]
        mutations = planned_pages(inputs.snapshot, inputs.settings, inputs.embed, pages)
        return [
            ask_unless_measured(
                Item(
                    OPERATION,
                    "write" if one.before is None else "revise",
                    mutation,
                    _evidence(one),
                    sources=one.sessions,
                ),
                "generated page",
            )
            for one, mutation in zip(those, mutations, strict=True)
        ]

    try:
        return items(made), []
    except Refused:
        pass
    found: list[Item] = []
    refused: list[Finding] = []
    for one in made:
        try:
            found += items([one])
        except Refused as problem:
            refused.append(Finding(str(problem), (), "warning"))
    return found, refused


def _evidence(made: MadeDigest) -> dict[str, object]:
    digest = made.digest
    return {
        "path": digest.path,
        "title": digest.title,
        "summary": digest.summary,
        "writer": digest.writer,
        "sentences": len(digest.lines),
        "sessions": len(made.sessions),
        "made_of": digest.made_of,
        "quotes": [{"text": line.text, "sources": list(line.sources)} for line in digest.lines[:_QUOTED]],
    }


def _numbers(
    found: FoundSessions, sessions: Sequence[ReadSession], digests: Digests, items: int
) -> dict[str, int | float]:
    types = Counter(one.digest.type for one in digests.made)
    return {
        "sessions": len(found.pages),
        "waiting": found.waiting,
        "private": found.private,
        "sentences told": sum(len(s.told) for s in sessions),
        "left out as unsafe": sum(s.unsafe for s in sessions),
        "left out as private": sum(s.private for s in sessions),
        "left out for want of room": digests.left_out,
        "notes": types["note"],
        "daily digests": types["digest-daily"],
        "weekly digests": types["digest-weekly"],
        "new versions": sum(one.before is not None for one in digests.made),
        "unchanged": digests.unchanged,
        "edited by a person": len(digests.edited),
        **digests.writing.numbers(),
        "items": items,
    }


def _findings(digests: Digests) -> tuple[Finding, ...]:
    edited = [
        Finding(
            f"{page.path} was not written by a night, or a person has written in it, so it is left as it is. Remove or move that page to "
            "have the digest made.",
            (page.id,),
            "info",
        )
        for page in digests.edited[:_SHOWN]
    ]
    return (*edited, *digests.writing.findings())


def _table(made: Sequence[MadeDigest]) -> tuple[dict[str, object], ...]:
    return tuple(
        {
            "path": one.digest.path,
            "title": one.digest.title,
            "sentences": len(one.digest.lines),
            "sessions": len(one.sessions),
        }
        for one in made[:_SHOWN]
    )
