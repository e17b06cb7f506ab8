"""``redact_or_quarantine``: memories with a secret, an instruction or hidden text leave recall, or lose that passage.

``slowwave.text.screening`` does the screening; the audit ``safety_scan`` reports chunks, entities and pages.

The planner proposes one item for each active memory with a secret, an instruction or hidden text, by ``policy``:

- ``quarantine`` takes the memory out of recall. A page, which says much more than the passage, gets a version without the passage.
- ``redact`` gives the memory a version without its secrets and split words. One with an instruction or hidden text is treated as above.
- ``block`` is ``quarantine``, and every item is a question. ``warn`` reports only.

An item is decided only on evidence that proves itself: a format with a checksum, a prefix that one issuer uses, hidden characters.
Everything else may be code, a quotation or a rule that an agent wrote for itself, and is a question. Stray marks, look-alike words and
instructions that a text only mentions are left alone; so are memories that a person cleared. A value that is the secret of another memory,
or of one that was quarantined, or a part of it, is a secret as well. Pinned rows are reported. Items name rules and positions and quote no
secret. It follows nexo's secret guard (3.6), which blocked a whole batch for one secret: here each memory has its own item. Cost:
linear in the texts.

An entity with a secret in its name, aliases or description is a question as well: an import may have taken the name from a text that did
not show that it is a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from slowwave.changes.cells import Value
from slowwave.changes.mutation import REDACTION, Mutation
from slowwave.changes.rows import NewVersion, new_versions, set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import RedactOrQuarantineOptions
from slowwave.plans.items import Decision, Item, decides_alone
from slowwave.plans.report import Finding, Report
from slowwave.search.rows import entity_texts, searched_table
from slowwave.snapshots.memories import active_memories, quarantined_texts
from slowwave.snapshots.rows import is_cleared
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.findings import SHARED
from slowwave.text.findings import Detection as Found
from slowwave.text.tokens import counted

OPERATION: Final = "redact_or_quarantine"
_NAMED: Final = 20
_SHOWN: Final = 4_000  # characters
_GUARDED: Final = {"memories": ("current_version_id", "attributes", "pinned"), "entities": ("pinned",)}
"""Columns that must not change before apply. The name of an entity is none, because the plan would hold the secret."""

_KEPT: Final = "The original stays in the version history, and its source chunks as they are: no search tells one that says no more."
_ASKED_SECRET: Final = "It looks like a secret, but no checksum proves it: it may be a sample, code or a quotation."  # noqa: S105 - no password
_ASKED_KNOWN: Final = "It repeats what looks like a secret in another text of this namespace."
_ASKED_ORDER: Final = (
    "It reads like an order to a model, but words alone do not prove it: it may be a quotation, an example or a rule."
)


class _Held(NamedTuple):
    """Memory or entity with relevant findings and the decision; ``text`` is its next version, empty if it is to leave recall.

    ``redacted`` is the text without its secrets, if only other texts show that they are secrets.
    """

    id: str
    length: int
    found: tuple[Found, ...]
    decision: Decision
    chunks: int
    redacted: str
    text: str = ""
    table: str = "memories"


def redact_or_quarantine(inputs: Inputs) -> Proposal:
    """Propose to remove memories with a secret, an instruction to a model or hidden text from recall, or to redact them."""
    snapshot, settings = inputs.snapshot, inputs.settings
    memories = active_memories(snapshot)
    numbers: dict[str, int] = {"active memories": len(memories)}
    held, pinned = _held(memories, _entities(snapshot), quarantined_texts(snapshot), settings, numbers)
    options = settings.options("redact_or_quarantine", RedactOrQuarantineOptions)
    waiting = held if options.policy == "warn" else []
    acted = [] if options.policy == "warn" else held
    mutations = _quarantines(inputs, [h for h in acted if not h.text])
    mutations |= _redactions(inputs, [h for h in acted if h.text])
    items = tuple(
        Item(
            OPERATION,
            h.decision,
            mutations[h.id],
            _evidence(h, options.policy),
            risk="high" if h.decision == Decision.REVIEW else "medium",
        )
        for h in acted
    )
    for decision in (Decision.REDACT, Decision.QUARANTINE, Decision.REVIEW):
        numbers[f"{decision} items"] = sum(h.decision == decision for h in acted)
    numbers["pinned memories with findings"] = len(pinned)
    numbers["items"] = len(items)
    entities = sum(h.table == "entities" for h in held)
    return Proposal(
        items,
        Report(
            OPERATION,
            f"{len(held) - entities:,} of {len(memories):,} active memories hold a secret, an order to a model or hidden text"
            + (f", and {counted(entities, 'entity', 'entities')} a secret" if entities else "")
            + (
                f"; {len(items) - numbers['review items']:,} would be redacted or quarantined, {numbers['review items']:,} are asked about."
                if items or not waiting
                else "; by the policy they are only reported."
            ),
            numbers=numbers,
            findings=(
                *_findings_of(pinned, "pinned and left as they are: reword or unpin them"),
                *_findings_of(waiting, "left as they are by the policy warn: look at them"),
            ),
        ),
    )


def _entities(snapshot: Snapshot) -> pa.Table:
    """Return the active entities: id, text (name, description and aliases, one per line) and pinned."""
    rows = searched_table(snapshot, "entities", ("id", "name", "description", "pinned"))
    text = entity_texts(snapshot, rows, "\n").cast(pa.large_string())
    return pa.table({"id": rows["id"], "text": text, "pinned": rows["pinned"]})


def _held(
    memories: pa.Table, entities: pa.Table, quarantined: pa.ChunkedArray, settings: Settings, numbers: dict[str, int]
) -> tuple[list[_Held], list[_Held]]:
    """Return the rows to act on and the pinned ones, memories by id before entities; ``numbers`` receives the counts of those left out.

    A row with a secret of another one, or of the texts of ``quarantined`` memories, or a part of it, is one to act on. An entity is one
    only for a secret.
    """
    from slowwave.text.screening import counting, redact, screen_together  # its rules take a while to load

    held: list[_Held] = []
    pinned: list[_Held] = []
    counts = dict.fromkeys(("cleared by a person", "stray marks, look-alikes or mentions only"), 0)
    texts = pa.chunked_array([*memories["text"].chunks, *entities["text"].chunks], pa.large_string())
    for place, found in screen_together(texts, quarantined):
        shown = redact(texts[place].as_py(), found).strip() if any(f.rule in SHARED for f in found) else ""
        if place >= len(memories):
            row = entities.slice(place - len(memories), 1).to_pylist()[0]
            secrets = tuple(f for f in counting(found) if f.kind == "secret")
            if secrets:
                one = _Held(row["id"], len(row["text"]), secrets, Decision.REVIEW, 0, shown, table="entities")
                (pinned if row["pinned"] else held).append(one)
            continue
        row = memories.slice(place, 1).to_pylist()[0]
        id_, text, cell, n = row["id"], row["text"], row["attributes"], len(row["source_chunk_ids"] or ())
        counts_for = counting(found)
        if not counts_for:
            counts["stray marks, look-alikes or mentions only"] += 1
        elif is_cleared(cell):
            counts["cleared by a person"] += 1
        elif row["pinned"]:
            pinned.append(_Held(id_, len(text), counts_for, Decision.REVIEW, n, shown))
        else:
            held.append(_decided(_Held(id_, len(text), counts_for, Decision.REVIEW, n, shown), text, found, settings))
    numbers |= counts
    return held, pinned


def _decided(held: _Held, text: str, found: Sequence[Found], settings: Settings) -> _Held:
    """Return a memory with its next version, if it is to keep the rest of its text, and with the decision."""
    from slowwave.text.screening import proof, redact, without_passages

    policy = settings.options("redact_or_quarantine", RedactOrQuarantineOptions).policy
    redacts = policy == "redact" and all(
        f.kind == "secret" or (f.kind == "hidden" and f.severity == "medium") for f in held.found
    )
    clean = (redact(text, found) if redacts else "") or without_passages(text, found)
    proved = [decides_alone(OPERATION, proof(f)) for f in held.found]
    # A version leaves out every finding, so each must be proved; a memory that leaves recall does so for one.
    sure = policy != "block" and (all(proved) if clean else any(proved))
    decided = Decision.REDACT if clean else Decision.QUARANTINE
    return held._replace(text=clean, decision=decided if sure else Decision.REVIEW)


def _quarantines(inputs: Inputs, held: Sequence[_Held]) -> dict[str, Mutation]:
    """Return for each row the mutation that takes it out of recall, provided that its text, clearance and pin are unchanged."""
    if not held:
        return {}
    found: dict[str, Mutation] = {}
    for table, guarded in _GUARDED.items():
        values: dict[str, dict[str, Value]] = {h.id: {"state": "quarantined"} for h in held if h.table == table}
        mutations = set_columns(inputs.snapshot, "set_state", table, values, guarded) if values else []
        found |= {m.rows[0].id: m for m in mutations}
    return found


def _redactions(inputs: Inputs, held: Sequence[_Held]) -> dict[str, Mutation]:
    """Return for each memory its version without the passages, with the vector of the new text if there is an embedder."""
    if not held:
        return {}
    changes = [NewVersion(h.id, h.text, REDACTION, rests_on=("attributes",)) for h in held]
    vectors = (
        np.asarray(inputs.embed([h.text for h in held]), np.float32)
        if inputs.embed is not None and inputs.snapshot.vectors["memory_vectors"].model
        else None
    )
    mutations = new_versions(inputs.snapshot, changes, vectors)
    return {h.id: m for h, m in zip(held, mutations, strict=True)}


def _evidence(held: _Held, policy: str) -> dict[str, object]:
    asked = _ASKED_SECRET if any(f.kind == "secret" for f in held.found) else _ASKED_ORDER
    if all(f.rule in SHARED for f in held.found):
        asked = _ASKED_KNOWN
    return {
        "policy": policy,
        "rules": sorted({f"{f.kind} ({f.rule})" for f in held.found}),
        "found": [[f.start, f.end, f.rule, f.severity] for f in held.found[:_NAMED]],
        "findings": len(held.found),
        "characters": held.length,
        "source_chunks": held.chunks,
        **({"reason": asked} if held.decision == Decision.REVIEW and policy != "block" else {}),
        **({"kept": _KEPT} if held.text else {}),
        **({"redacted": held.redacted[:_SHOWN]} if held.redacted else {}),
    }


def _findings_of(held: Sequence[_Held], why: str) -> list[Finding]:
    """Return one finding for all memories, because the audit names each of them."""
    if not held:
        return []
    message = f"{len(held):,} memories and entities with findings are {why}; the safety scan names them."
    return [Finding(message, rows=tuple(h.id for h in held[:_NAMED]), severity="warning")]
