"""``deep_pass``: what a model left in a scratch copy of the memory becomes items, each checked against what the copy held (nexo 3.4).

Gates, the run, the copy and the model's loop belong to ``slowwave.night.deep_run`` and ``slowwave.deep``; here nothing is asked.

Turn the difference between a scratch copy as it was handed out and as it came back into items; a night has no such copy and plans nothing.

A memory that says something else gets a new version, one that is gone is retired, a new statement becomes a claim that rests on the session
or page it names, a page of a corpus gets its next text, the index another block. What no source bears out, what screening finds something
in, and what may not age or be changed is refused and reported; what would take away something that is told nowhere else is a question to a
person. Linear in the memories, and in the texts of those that changed and of the sources that they name.

New texts, retired memories and changed pages are questions (``slowwave.config.decides_alone``); new statements and pages add rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slowwave.deep.borne_out import covered_by, lost, unborne
from slowwave.deep.changes import Dropped, Reworded, Worked, changes
from slowwave.deep.topics import entries_of
from slowwave.mutations.invalidate_rows import invalidate_each
from slowwave.mutations.new_version import NewVersion, new_versions
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.planners.deep_items import OPERATION, QUOTED, PassItems, index, pages, statements
from slowwave.plans.items import Item, ask_unless_measured
from slowwave.plans.permitted import OF_CLAIMS, OF_MEMORIES, OF_PAGES, PAGE_PARTS, Permit
from slowwave.reports.model import Finding, Report
from slowwave.rows.exemptions import exemptions
from slowwave.rows.memories import active_memories

REASON: Final = "deep_pass"
"""The reason of a version that a deep pass wrote."""

_LONGEST: Final = 10_240  # bytes of a memory, as of what an agent writes by day


@operation(
    kind="planner",
    reads=(
        *("memories", "memory_versions", "memory_vectors", "documents", "chunks", "chunk_vectors", "links", "corpora"),
        *("entities", "entity_aliases", "entity_vectors", "pages", "promotions", "rejections"),
    ),
    after=("compile_pages",),
    switch=False,
    permits=(
        Permit("new_version", {"memories"}, "medium", beside=OF_MEMORIES),
        Permit("invalidate_rows", {"memories"}, "medium", retires=1),
        Permit("write_claims", {"memories"}, "medium", beside=OF_CLAIMS),
        Permit("write_page", {"documents"}, "medium", beside=OF_PAGES, ends=PAGE_PARTS),
        Permit("render_page", {"pages"}, "medium"),
    ),
)
def deep_pass(inputs: Inputs) -> Proposal:
    """What a model changed in a scratch copy of the memory, as items: new versions, retired memories, claims, pages, the index.

    It has a run of its own, `slowwave dream-now NAMESPACE --deep --reason WHY`, weekly where it is switched on; within a night it plans
    nothing. Every change is checked against what the model was given, and none is approved by a policy.
    """
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
    """Memory → why it does not age, and so is not reworded or retired by a model either."""
    live = active_memories(inputs.snapshot)
    ids = live["id"].to_pylist()
    return {ids[int(n)]: why for why, mask in exemptions(live, inputs.settings).items() for n in mask.nonzero()[0]}


def _reworded(inputs: Inputs, judged: PassItems, exempt: Mapping[str, str]) -> None:
    """New versions of what says something else and is borne out, by itself, by what was merged into it and by the sources that it names."""
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
        decision, risk = ("review", "high") if gone else ("reword", "medium")
        item = Item(OPERATION, decision, mutation, evidence, risk, judged.documents(change.sources))
        judged.items.append(ask_unless_measured(item, "new text"))


def _dropped(inputs: Inputs, judged: PassItems, exempt: Mapping[str, str]) -> None:
    """Memories that are gone from the copy: retired, or a question where nothing else in their file tells what they say."""
    taken: list[Dropped] = []
    for change in judged.changes.dropped:
        if change.memory in exempt:
            judged.refuse(change.memory, f"is {exempt[change.memory]} and stays as it is")
        else:
            taken.append(change)
    columns = ("current_version_id", "state")
    ends = invalidate_each(inputs.snapshot, "memories", {c.memory: None for c in taken}, columns) if taken else {}
    for change in taken:
        told = covered_by(change.was, _elsewhere(judged, change.memory, change.file))
        evidence = {
            **{"file": change.file, "was": change.was[:QUOTED], "model": judged.worked.model},
            **({"told_by": told[:QUOTED]} if told else {}),
        }
        decision, risk = ("retire", "medium") if told else ("review", "high")
        item = Item(OPERATION, decision, ends[change.memory], evidence, risk)
        judged.items.append(ask_unless_measured(item, "retired memory"))


def _elsewhere(judged: PassItems, memory: str, file: str = "") -> list[str]:
    """What the other entries say that came back: of a file, or of those that were changed."""
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
        "questions": sum(item.decision == "review" for item in judged.items),
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
