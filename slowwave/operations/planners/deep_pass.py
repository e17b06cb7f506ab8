"""``deep_pass``: what a model left in a scratch copy of the memory becomes items, each checked against what the copy held (nexo 3.4).

Gates, the run, the copy and the model's loop belong to ``slowwave.night.deep_run`` and ``slowwave.deep``; here nothing is asked.

Turn the difference between a scratch copy as it was handed out and as it came back into items; a night has no such copy and plans nothing.

A memory that says something else gets a new version, one that is gone is retired, the index gets another block. What no source bears out,
what screening finds something in, and what may not age or be changed is refused and reported; what would take away something that is told
nowhere else is a question to a person. Linear in the memories, and in the texts of those that changed and of the sources that they name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slowwave.deep.changes import Changes, Dropped, IndexChanged, Reworded, Worked, changes
from slowwave.deep.handed_out import HandedOut
from slowwave.deep.topics import entries_of
from slowwave.mutations.invalidate_rows import invalidate_each
from slowwave.mutations.new_version import NewVersion, new_versions
from slowwave.mutations.render_page import Page, render_pages
from slowwave.operations import Inputs, Proposal, operation
from slowwave.pages.lines import LINE, flat, hook, source
from slowwave.pages.page import MEMORY, body_of, fits
from slowwave.plans.items import Item
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.reports.model import Finding, Report
from slowwave.rows.exemptions import exemptions
from slowwave.rows.memories import active_memories
from slowwave.texts.grounding import ungrounded, unsaid
from slowwave.texts.screening import unsafe
from slowwave.texts.specifics import specifics
from slowwave.texts.statements import stem
from slowwave.texts.vocabulary import GRAMMAR
from slowwave.texts.who_did_what import exchanged_parties

OPERATION: Final = "deep_pass"

REASON: Final = "deep_pass"
"""The reason of a version that a deep pass wrote."""

_LONGEST: Final = 10_240  # bytes of a memory, as of what an agent writes by day
_QUOTED: Final = 300
_PASSAGE: Final = 20_000  # characters of a source that a statement is compared with
_TOLD: Final = 0.7  # share of a memory's words that stand where it is told as well
_BORNE_OUT: Final = 0.5  # share of a new text's words that stand in what it was made from
_WORD: Final = re.compile(r"[^\W_]{4,}|\d+")
_POINTER: Final = re.compile(r"- (.*) \[[0-9a-f]{8}\]\(mem:([0-9a-f-]{36})\)")
_HTML: Final = re.compile(r"[<>\[\]`]")
_ESCAPED: Final = re.compile(r"\\([\\`*\[\]<>~$@_&:.+=#|)-])")


@dataclass(slots=True)
class _Judged:
    """Items, and sentences about what was refused with the rows it is about."""

    worked: Worked
    changes: Changes
    items: list[Item] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, row: str, why: str) -> None:
        self.refused.append((row, why))


@operation(
    kind="planner",
    reads=(
        "memories",
        "memory_versions",
        "memory_vectors",
        "documents",
        "corpora",
        "pages",
        "promotions",
        "rejections",
    ),
    after=("compile_pages",),
    switch=False,
    permits=(
        Permit("new_version", {"memories"}, "medium", beside=OF_MEMORIES),
        Permit("invalidate_rows", {"memories"}, "medium", retires=1),
        Permit("render_page", {"pages"}, "medium"),
    ),
)
def deep_pass(inputs: Inputs) -> Proposal:
    """What a model changed in a scratch copy of the memory, as items: new versions, retired memories, the index.

    It has a run of its own, `slowwave dream-now NAMESPACE --deep`, weekly where it is switched on; within a night it plans nothing.
    Every change is checked against what the model was given, and none is approved by a policy.
    """
    worked = inputs.worked
    if worked is None:
        return Proposal(
            (), Report(OPERATION, "It has a run of its own: nothing to do within a night.", numbers={"items": 0})
        )
    judged = _Judged(worked, changes(worked.copy, worked.after))
    exempt = _exempt(inputs)
    _reworded(inputs, judged, exempt)
    _dropped(inputs, judged, exempt)
    if judged.changes.index:
        _index(inputs, judged, judged.changes.index)
    return Proposal(tuple(judged.items), _report(judged))


def _exempt(inputs: Inputs) -> Mapping[str, str]:
    """Memory → why it does not age, and so is not reworded or retired by a model either."""
    live = active_memories(inputs.snapshot)
    ids = live["id"].to_pylist()
    return {ids[int(n)]: why for why, mask in exemptions(live, inputs.settings).items() for n in mask.nonzero()[0]}


def _reworded(inputs: Inputs, judged: _Judged, exempt: Mapping[str, str]) -> None:
    """New versions of what says something else and is borne out."""
    merged = [gone.was for gone in judged.changes.dropped]
    taken: list[Reworded] = []
    for change in judged.changes.reworded:
        if change.memory in exempt:
            judged.refuse(change.memory, f"is {exempt[change.memory]} and stays as it is")
        elif why := _unborne(judged, change.says, [change.was, *merged], change.sources):
            judged.refuse(change.memory, why)
        else:
            taken.append(change)
    vectors = inputs.embed([c.says for c in taken]) if inputs.embed and taken else None
    versions = [NewVersion(c.memory, c.says, REASON) for c in taken]
    for change, mutation in zip(taken, new_versions(inputs.snapshot, versions, vectors), strict=True):
        lost = unsaid(specifics(change.was).terms(), [change.says, *_elsewhere(judged, change.memory)])
        evidence = {
            **{"file": change.file, "was": change.was[:_QUOTED], "says": change.says[:_QUOTED]},
            **{"sources": list(change.sources), "model": judged.worked.model},
            **({"lost": sorted(lost)} if lost else {}),
        }
        judged.items.append(
            Item(
                OPERATION,
                "review" if lost else "reword",
                mutation,
                evidence,
                "high" if lost else "medium",
                _documents(judged.worked.copy, change.sources),
            )
        )


def _dropped(inputs: Inputs, judged: _Judged, exempt: Mapping[str, str]) -> None:
    """Memories that are gone from the copy: retired, or a question where nothing else tells what they say."""
    taken: list[Dropped] = []
    for change in judged.changes.dropped:
        if change.memory in exempt:
            judged.refuse(change.memory, f"is {exempt[change.memory]} and stays as it is")
        else:
            taken.append(change)
    ends = invalidate_each(
        inputs.snapshot, "memories", {c.memory: None for c in taken}, ("current_version_id", "state")
    )
    for change in taken:
        told = _told_elsewhere(change, _elsewhere(judged, change.memory, change.file))
        evidence = {
            **{"file": change.file, "was": change.was[:_QUOTED], "model": judged.worked.model},
            **({"told_by": told[:_QUOTED]} if told else {}),
        }
        judged.items.append(
            Item(OPERATION, "retire" if told else "review", ends[change.memory], evidence, "medium" if told else "high")
        )


def _index(inputs: Inputs, judged: _Judged, change: IndexChanged) -> None:
    """The index with the entries that the model left in it, each in our own form; what it says of a memory the memory has to bear out."""
    known = {
        entry.memory: entry.text
        for name in judged.worked.copy.subjects
        for entry in entries_of(judged.worked.copy.files[name])
    }
    before = frozenset(change.was.split("\n"))
    lines: list[str] = []
    for line in change.says.rstrip("\n").split("\n"):
        pointer = _POINTER.fullmatch(line)
        if line in before or (line.startswith("## ") and len(line) <= LINE and not _HTML.search(line)):
            lines.append(line)
        elif not pointer or pointer[2] not in known:
            if line.strip():
                judged.refuse("", f"{MEMORY} has a line that is no entry with the link to a memory that was handed out")
                return
            lines.append("")
        elif ungrounded(said := _ESCAPED.sub(r"\1", pointer[1]), [known[pointer[2]], change.was]):
            judged.refuse(pointer[2], f"{MEMORY} says of it what it does not say")
            return
        else:
            end = f" {source(pointer[2])}"
            lines.append(f"- {hook(flat(said), LINE - 2 - len(end))}{end}")
    body = body_of(lines)
    options = inputs.settings.operations.compile_pages
    entries, had = (sum(line.startswith("- ") for line in some) for some in (lines, before))
    if why := unsafe("\n".join(lines)):
        judged.refuse("", f"{MEMORY}: {why}")
    elif not fits(body, options.max_lines, options.max_bytes):
        judged.refuse("", f"{MEMORY} is beyond {options.max_lines:,} lines or {options.max_bytes:,} bytes")
    elif 2 * entries < had:
        judged.refuse("", f"{MEMORY} would lose {had - entries:,} of {had:,} entries")
    else:
        row = next(r for r in inputs.snapshot.live("pages").to_pylist() if r["path"] == MEMORY)
        (mutation,) = render_pages(inputs.snapshot, [Page(MEMORY, row["title"], body, row["input_hash"])])
        evidence = {
            "new_lines": sum(line not in before for line in lines),
            "entries": entries,
            "entries_before": had,
            "model": judged.worked.model,
        }
        judged.items.append(Item(OPERATION, "render", mutation, evidence, "medium"))


def _unborne(judged: _Judged, text: str, own: Sequence[str], sources: Sequence[str]) -> str:
    """Why a model's text does not stand, or an empty string: as what words a summary (``summary_text``), with the sources it names."""
    if len(text.encode("utf-8", "replace")) > _LONGEST:
        return f"is longer than {_LONGEST:,} bytes"
    if why := unsafe(text):
        return why
    files = judged.worked.copy.files
    if [name for name in sources if name not in files]:
        return "names a source that was not handed out"
    known = [*own, *(passage(files[name], text) for name in sources)]
    if foreign := ungrounded(text, known):
        return f"says what no source does ({len(foreign)} words or figures)"
    words = _stems(text)
    if len(words & frozenset[str]().union(*map(_stems, known))) < _BORNE_OUT * len(words):
        return "says what no source does"
    if exchanged_parties(text, known):
        return "exchanges who did what to whom"
    return ""


def passage(text: str, claim: str) -> str:
    """The lines of a source that share a word of four letters or a number with a claim; at most 20,000 characters."""
    words = frozenset(w.casefold() for w in _WORD.findall(claim))
    kept = (line for line in text.split("\n") if not words.isdisjoint(w.casefold() for w in _WORD.findall(line)))
    return "\n".join(kept)[:_PASSAGE]


def _elsewhere(judged: _Judged, memory: str, file: str = "") -> list[str]:
    """What the other entries say that came back: of a file, or of those that were changed."""
    worked = judged.worked
    names = [file] if file else [n for n in worked.copy.subjects if worked.after.get(n) != worked.copy.files[n]]
    return [e.text for n in names for e in entries_of(worked.after.get(n, "")) if e.memory and e.memory != memory]


def _told_elsewhere(gone: Dropped, others: Iterable[str]) -> str:
    """The entry that tells what a memory did: all its specifics, and most of its words; empty where none does."""
    terms, words = specifics(gone.was).terms(), _stems(gone.was)
    for text in others:
        if len(words & _stems(text)) >= _TOLD * len(words) and not unsaid(terms, [text]):
            return text
    return ""


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in specifics(text).words if w not in GRAMMAR)


def _documents(copy: HandedOut, sources: Sequence[str]) -> tuple[str, ...]:
    """The documents that sources are."""
    pages = {name: page.document for name, page in copy.pages.items()}
    return tuple(
        sorted({{**pages, **copy.sessions}[name] for name in sources if name in pages or name in copy.sessions})
    )


def _report(judged: _Judged) -> Report:
    found = judged.changes
    numbers: dict[str, int | float] = {
        "files handed out": len(judged.worked.copy.files),
        "files read": len(judged.worked.read),
        "memories reworded": len(found.reworded),
        "memories gone": len(found.dropped),
        "refused": len(judged.refused),
        "meant nothing": len(found.odd),
        "questions": sum(item.decision == "review" for item in judged.items),
        "items": len(judged.items),
        **{f"left out, {why}": n for why, n in sorted(judged.worked.copy.left_out.items()) if n},
    }
    headline = (
        f"{len(judged.items):,} items of {len(found):,} changes by {judged.worked.model}; {len(judged.refused):,} were refused."
        if len(found)
        else "The model changed nothing."
    )
    findings = [
        Finding(f"A change was refused: it {why}.", (row,) if row else (), "warning") for row, why in judged.refused
    ]
    findings += [Finding(sentence, (), "warning") for sentence in found.odd]
    return Report(OPERATION, headline, numbers, tuple(findings))
