"""``deep_pass``: the changes that a model made in a scratch copy become items, each checked against the model's input."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.pages import Page, render_pages
from slowwave.changes.rows import NewVersion, invalidate_each, new_versions
from slowwave.errors import Refused
from slowwave.operations import Inputs, Proposal
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import exemptions
from slowwave.sources.blocks import MEMORY
from slowwave.text.frontmatter import UnreadableFile, body, frontmatter
from slowwave.text.screening import unsafe
from slowwave.text.specifics import ungrounded
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.claims.request import slug_of
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from slowwave.wiki.deep.changes import (
    ChangedPage,
    Changes,
    Dropped,
    IndexChanged,
    Reworded,
    Stated,
    Worked,
    changes,
    covered_by,
    lost,
    passage,
    unborne,
)
from slowwave.wiki.deep.scratch import entries_of
from slowwave.wiki.options import CompilePagesOptions
from slowwave.wiki.pages.lines import LINE, body_of, fits, flat, hook, source

# Items for the changes of a deep pass other than memories: pages, new statements, the index.

OPERATION: Final = "deep_pass"
QUOTED: Final = 300
"""Maximum characters of a quotation in evidence."""

_CONFIDENCE: Final = 0.6  # confidence of a claim that a model found in a session
_MOST_READ: Final = 20  # files that a page is compared with in addition to those that it names
_POINTER: Final = re.compile(r"- (.*) \[[0-9a-f]{8}\]\(mem:([0-9a-f-]{36})\)")
_ESCAPED: Final = re.compile(r"\\([\\`*\[\]<>~$@_&:.+=#|)-])")
_MARKUP: Final = re.compile(r"[<>\[\]`]")
_RESERVED: Final = frozenset({"canonical", "pinned", "visibility", "sensitivity"})
"""Fields that decide whether a page is trusted, kept or shown; a model may not set them on a new page."""
_CITED: Final = re.compile(r"\[source:\s*([^\]\n]{1,300})\]")


@dataclass(slots=True)
class PassItems:
    """Items, and messages about refused changes, each with the row that it concerns."""

    worked: Worked
    changes: Changes
    items: list[Item] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, row: str, why: str) -> None:
        """Record why a change is not in the plan, in words that follow "it"."""
        self.refused.append((row, why))

    def documents(self, sources: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents that the sources name."""
        copy = self.worked.copy
        known = {**{name: page.document for name, page in copy.pages.items()}, **copy.sessions}
        return tuple(sorted({known[name] for name in sources if name in known}))

    def passages(self, sources: Sequence[str], text: str) -> list[str] | None:
        """Return the passages of the named sources that relate to a text, or None if a source was not handed out."""
        files = self.worked.copy.files
        return None if any(name not in files for name in sources) else [passage(files[name], text) for name in sources]


def statements(inputs: Inputs, judged: PassItems) -> None:
    """Plan claims for new statements that a session or a page supports."""
    known_texts = {flat(text).casefold() for text in active_memories(inputs.snapshot)["text"].to_pylist()}
    taken: dict[str, list[tuple[Stated, PlannedClaim]]] = defaultdict(list)
    for new in judged.changes.stated:
        known = judged.passages(new.sources, new.says)
        documents = judged.documents(new.sources)
        if flat(new.says).casefold() in known_texts:
            judged.refuse("", "is remembered already")
        elif known is None or not documents:
            judged.refuse("", "names no session and no page that was handed out")
        elif not new.subject:
            judged.refuse("", "is about no subject: it stands in no topic file of one")
        elif why := unborne(new.says, known):
            judged.refuse("", why)
        else:
            quote = next((line.strip() for text in known for line in text.split("\n") if line.strip()), "")
            since, session = _recorded(inputs, documents)
            claim = PlannedClaim(
                "fact",
                new.says,
                since,
                confidence=_CONFIDENCE,
                documents=documents,
                quote=quote[:QUOTED],
                session_id=session,
                agent=judged.worked.model[:100],
            )
            taken[new.subject].append((new, claim))
    for subject, claims in sorted(taken.items()):
        for about, group in _groups(inputs, subject, claims):
            evidence = {
                **{"file": group[0][0].file, "subject": subject, "says": [new.says[:QUOTED] for new, _ in group]},
                **{"sources": sorted({s for new, _ in group for s in new.sources}), "model": judged.worked.model},
                "quotes": [claim.quote for _, claim in group],
            }
            try:
                (mutation,) = planned_claims(
                    inputs.snapshot, inputs.settings, inputs.embed, [SubjectClaims(about, tuple(c for _, c in group))]
                )
            except Refused as problem:
                judged.refuse("", f"cannot be said: {problem}")
                continue
            judged.items.append(
                Item(OPERATION, Decision.SAY, mutation, evidence, "medium", judged.documents(evidence["sources"]))
            )


def pages(inputs: Inputs, judged: PassItems) -> None:
    """Plan the changed pages of corpora."""
    for change in judged.changes.pages:
        if why := _page_problem(judged, change):
            judged.refuse("", f"({change.file}) {why}")
            continue
        try:
            (mutation,) = planned_pages(
                inputs.snapshot, inputs.settings, inputs.embed, [PlannedPage(change.path, change.says, change.root)]
            )
        except Refused as problem:
            judged.refuse("", f"cannot be written: {problem}")
            continue
        files = judged.worked.after
        elsewhere = [files[other.file] for other in judged.changes.pages if other.file != change.file]
        gone = lost("\n".join(_only(change.was, change.says)), [change.says, *elsewhere]) if change.was else ()
        evidence = {
            **{"file": change.file, "path": change.path, "model": judged.worked.model},
            **{"added": "\n".join(_only(change.says, change.was))[:QUOTED]},
            **{"removed": "\n".join(_only(change.was, change.says))[:QUOTED]},
            **({"lost": list(gone)} if gone else {}),
        }
        item = Item(
            OPERATION, Decision.REVIEW if gone else Decision.WRITE, mutation, evidence, "high" if gone else "medium"
        )
        judged.items.append(ask_unless_measured(item, "page") if change.was else item)


def index(inputs: Inputs, judged: PassItems, change: IndexChanged) -> None:
    """Plan the index with the entries that the model left in it, each in the standard form.

    An entry about a memory must be supported by that memory.
    """
    copy = judged.worked.copy
    known = {entry.memory: entry.text for name in copy.subjects for entry in entries_of(copy.files[name])}
    before = frozenset(change.was.split("\n"))
    lines: list[str] = []
    for line in change.says.rstrip("\n").split("\n"):
        pointer = _POINTER.fullmatch(line)
        if line in before or (line.startswith("## ") and len(line) <= LINE and not _MARKUP.search(line)):
            lines.append(line)
        elif not pointer or pointer[2] not in known:
            if line.strip():
                judged.refuse(
                    "", f"({MEMORY}) has a line that is no entry with the link to a memory that was handed out"
                )
                return
            lines.append("")
        elif ungrounded(entry_text := _ESCAPED.sub(r"\1", pointer[1]), [known[pointer[2]]]):
            judged.refuse(pointer[2], f"({MEMORY}) says of a memory what that does not say")
            return
        else:
            end = f" {source(pointer[2])}"
            lines.append(f"- {hook(flat(entry_text), LINE - 2 - len(end))}{end}")
    body = body_of(lines)
    options = inputs.settings.options("compile_pages", CompilePagesOptions)
    entries, had = (sum(line.startswith("- ") for line in some) for some in (lines, before))
    if why := unsafe("\n".join(lines)):
        judged.refuse("", f"({MEMORY}): {why}")
    elif not fits(body, options.max_lines, options.max_bytes):
        judged.refuse("", f"({MEMORY}) is beyond {options.max_lines:,} lines or {options.max_bytes:,} bytes")
    elif 2 * entries < had:
        judged.refuse("", f"({MEMORY}) would lose {had - entries:,} of {had:,} entries")
    else:
        row = next(r for r in inputs.snapshot.live("pages").to_pylist() if r["path"] == MEMORY)
        (mutation,) = render_pages(inputs.snapshot, [Page(MEMORY, row["title"], body, row["input_hash"])])
        evidence = {
            **{"new_lines": sum(line not in before for line in lines), "entries": entries, "entries_before": had},
            "model": judged.worked.model,
        }
        judged.items.append(
            ask_unless_measured(Item(OPERATION, Decision.RENDER, mutation, evidence, "medium"), "index")
        )


def _page_problem(judged: PassItems, change: ChangedPage) -> str:
    """Return why a page's new text cannot be used; empty if it can."""
    if not change.says.strip():
        return "would be empty"
    head, head_was = (text.removesuffix(body(text)) for text in (change.says, change.was))
    if change.was and head != head_was:
        return "changes the fields of the page"
    try:
        fields = frontmatter(change.says).fields
    except UnreadableFile as problem:
        return f"cannot be read: {problem}"
    if not change.was and _RESERVED & fields.keys():
        return "makes itself canonical, pinned or public"
    added = "\n".join(_only(change.says.removeprefix(head), change.was))
    cited = [part.strip() for found in _CITED.findall(added) for part in found.split(",")]
    known = judged.passages(cited, added)
    if known is None:
        return "names a source that was not handed out"
    copy = judged.worked.copy
    read = [name for name in judged.worked.read if name in copy.files and name not in cited][:_MOST_READ]
    sources = [passage(change.was, added), *known, *(passage(copy.files[name], added) for name in read)]
    return unborne(_CITED.sub("", added), sources) if added.strip() else ""


def _only(text: str, other: str) -> Iterator[str]:
    """Return the lines of a text that another text does not contain."""
    there = frozenset(line.strip() for line in other.split("\n"))
    return (line for line in text.split("\n") if line.strip() not in there)


def _groups(
    inputs: Inputs, subject: str, claims: Sequence[tuple[Stated, PlannedClaim]]
) -> Iterator[tuple[str | NewSubject, Sequence[tuple[Stated, PlannedClaim]]]]:
    """Yield the claims of a subject by item: one item per claim if the subject exists, one item for all if it is new."""
    ref = f"concept:{slug_of(subject)}"
    rows = inputs.snapshot.live("entities", ("id", "name", "state", "source", "external_id"))
    rows = rows.filter(pc.equal(rows["state"], "active"))
    named = rows.filter(pc.equal(pc.utf8_lower(rows["name"]), pa.scalar(subject.lower())))["id"].to_pylist()
    mine = rows.filter(pc.and_(pc.equal(rows["source"], "semantic"), pc.equal(rows["external_id"], ref)))[
        "id"
    ].to_pylist()
    if len(found := mine or named) == 1:
        yield from ((str(found[0]), [claim]) for claim in claims)
    else:
        yield NewSubject(ref, subject), claims


def _recorded(inputs: Inputs, documents: Sequence[str]) -> tuple[datetime, str]:
    """Return the time of the newest of some documents, and its session."""
    rows = inputs.snapshot.table("documents").select(["id", "valid_from", "recorded_at", "metadata"])
    mine = rows.filter(pc.is_in(rows["id"], value_set=pa.array(documents, pa.string()))).to_pylist()
    at, metadata = max((row["valid_from"] or row["recorded_at"], str(row["metadata"])) for row in mine)
    return min(at, inputs.snapshot.taken_at), _session(metadata)


def _session(metadata: str) -> str:
    try:
        fields: Any = json.loads(metadata)
        found: Mapping[str, object] = fields.get("frontmatter") or {}
        return str(found.get("session_id") or "")[:200]
    except (ValueError, RecursionError, AttributeError):
        return ""


# ``deep_pass``: the changes that a model made in a scratch copy of the memory become items, each checked against the copy (nexo 3.4).
#
# Gates, the run, the copy and the model's loop are in ``slowwave.wiki.deep.run`` and ``slowwave.wiki.deep``; no model is called here. The
# input is the difference between the scratch copy as handed out and as returned; a night has no such copy and plans nothing.
#
# A reworded memory gets a new version, a removed one is retired, a new statement becomes a claim with the session or page that it names
# as evidence, a page of a corpus gets its next text, and the index another block. A change is refused and reported if no source supports
# it, if screening finds something in it, or if the memory may not age or be changed. A change that would remove information that is
# stored nowhere else needs a decision by a person. Linear in the memories, and in the texts of the changed ones and of the sources that
# they name.
#
# New texts, retired memories and changed pages are questions (``slowwave.plans.items``); new statements and pages add rows.

REASON: Final = "deep_pass"
"""The reason recorded with a version that a deep pass wrote."""

_LONGEST: Final = 10_240  # bytes of a memory, as for the writes of agents


def deep_pass(inputs: Inputs) -> Proposal:
    """Turn the changes that a model made in a scratch copy into items: versions, retired memories, claims, pages, the index."""
    worked = inputs.worked
    if not isinstance(worked, Worked):
        return Proposal((), Report(OPERATION, "It has a run of its own: nothing to do within a night.", {"items": 0}))
    judged = PassItems(worked, changes(worked.copy, worked.after))
    exempt = _exempt(inputs)
    _reworded(inputs, judged, exempt)
    _dropped(inputs, judged, exempt)
    if judged.changes.stated:
        statements(inputs, judged)
    pages(inputs, judged)
    if judged.changes.index:
        index(inputs, judged, judged.changes.index)
    return Proposal(tuple(judged.items), _report(judged))


def _exempt(inputs: Inputs) -> Mapping[str, str]:
    """Return the reason for each memory that does not age; a model may neither reword nor retire it."""
    live = active_memories(inputs.snapshot)
    ids = live["id"].to_pylist()
    return {ids[int(n)]: why for why, mask in exemptions(inputs.snapshot).items() for n in mask.nonzero()[0]}


def _reworded(inputs: Inputs, judged: PassItems, exempt: Mapping[str, str]) -> None:
    """Plan new versions of reworded memories.

    A new text must be supported by the old text, by the memories that were merged into it and by the sources that it names.
    """
    merged = [gone.was for gone in judged.changes.dropped]
    taken: list[Reworded] = []
    for change in judged.changes.reworded:
        known = judged.passages(change.sources, change.says)
        if change.memory in exempt:
            judged.refuse(change.memory, f"is {exempt[change.memory]} and stays as it is")
        elif len(change.says.encode("utf-8", "replace")) > _LONGEST:
            judged.refuse(change.memory, f"is longer than {_LONGEST:,} bytes")
        elif known is None:
            judged.refuse(change.memory, "names a source that was not handed out")
        elif why := unborne(change.says, [change.was, *merged, *known]):
            judged.refuse(change.memory, why)
        else:
            taken.append(change)
    vectors = inputs.embed([c.says for c in taken]) if inputs.embed and taken else None
    versions = [NewVersion(c.memory, c.says, REASON) for c in taken]
    for change, mutation in zip(taken, new_versions(inputs.snapshot, versions, vectors), strict=True):
        gone = lost(change.was, [change.says, *_elsewhere(judged, change.memory)])
        evidence = {
            **{"file": change.file, "was": change.was[:QUOTED], "says": change.says[:QUOTED]},
            **{"sources": list(change.sources), "model": judged.worked.model},
            **({"lost": list(gone)} if gone else {}),
        }
        decision, risk = (Decision.REVIEW, "high") if gone else (Decision.REWORD, "medium")
        item = Item(OPERATION, decision, mutation, evidence, risk, judged.documents(change.sources))
        judged.items.append(ask_unless_measured(item, "new text"))


def _dropped(inputs: Inputs, judged: PassItems, exempt: Mapping[str, str]) -> None:
    """Plan the retirement of memories that are missing from the copy.

    If no other entry of their file covers their text, the item is a review for a person instead.
    """
    taken: list[Dropped] = []
    for change in judged.changes.dropped:
        if change.memory in exempt:
            judged.refuse(change.memory, f"is {exempt[change.memory]} and stays as it is")
        else:
            taken.append(change)
    columns = ("current_version_id", "state")
    ends = invalidate_each(inputs.snapshot, "memories", {c.memory: None for c in taken}, columns) if taken else {}
    for change in taken:
        coverage = covered_by(change.was, _elsewhere(judged, change.memory, change.file))
        evidence = {
            **{"file": change.file, "was": change.was[:QUOTED], "model": judged.worked.model},
            **({"told_by": coverage[:QUOTED]} if coverage else {}),
        }
        decision, risk = (Decision.RETIRE, "medium") if coverage else (Decision.REVIEW, "high")
        item = Item(OPERATION, decision, ends[change.memory], evidence, risk)
        judged.items.append(ask_unless_measured(item, "retired memory"))


def _elsewhere(judged: PassItems, memory: str, file: str = "") -> list[str]:
    """Return the texts of the other entries in the returned copy, from one file or from all changed files."""
    worked = judged.worked
    names = [file] if file else [n for n in worked.copy.subjects if worked.after.get(n) != worked.copy.files[n]]
    return [e.text for n in names for e in entries_of(worked.after.get(n, "")) if e.memory and e.memory != memory]


def _report(judged: PassItems) -> Report:
    found = judged.changes
    numbers: dict[str, int | float] = {
        "files handed out": len(judged.worked.copy.files),
        "files read": len(judged.worked.read),
        "memories reworded": len(found.reworded),
        "memories gone": len(found.dropped),
        "new statements": len(found.stated),
        "pages changed": len(found.pages),
        "refused": len(judged.refused),
        "meant nothing": len(found.odd),
        "questions": sum(item.is_question for item in judged.items),
        "items": len(judged.items),
        **{f"left out, {why}": n for why, n in sorted(judged.worked.copy.left_out.items()) if n},
    }
    headline = (
        f"{len(judged.items):,} items of {len(found):,} changes by a model; {len(judged.refused):,} were refused."
        if len(found)
        else "The model changed nothing."
    )
    findings = [
        Finding(f"A change was refused: it {why}.", (row,) if row else (), "warning") for row, why in judged.refused
    ]
    findings += [Finding(sentence, (), "warning") for sentence in found.odd]
    return Report(OPERATION, headline, numbers, tuple(findings))
