"""Exemptions: which memories do not age, and why. Decay, relevance, archiving and summaries all ask here.

An exempt memory never decays, does not fade, is not archived for its age and is not summed up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.rows.memories import attributes
from slowwave.snapshots.last import Last
from slowwave.texts.instructions import HINT, instructive
from slowwave.texts.prefilter import matching

Mask = NDArray[np.bool_]

EXEMPT: Final = ("pinned", "shock", "procedural", "instructions")
"""Why a memory does not age, in the order in which a reason is named."""

SHOCKS: Final = "shocks"
PROCEDURAL: Final = ("procedural", "procedures")
"""Plugged.in has the ring ``procedures``, mnemo the kind ``procedural``; either name means it, as a ring and as a kind."""

RESTS_ON: Final = ("attributes", "author", "current_version_id", "kind", "pinned", "ring", "subject")
"""Columns of a memory that an exemption rests on."""

_INSTRUCTIONS: Final = (
    "personas?|system_?prompt|instructions?|custom_?instructions|rules?|polic(?:y|ies)|guidelines?|guardrails?|"
    "directives?|principles|constitution|playbook|soul|memory_?blocks?|core_?memory"
)
_NAMED: Final = ("kind", "ring", "author")
_SUBJECT: Final = (
    f"(?i)^(?:{_INSTRUCTIONS.replace('_?', '[ _-]?')}|.*[ _-](?:persona|instructions|rules|polic(?:y|ies)|guidelines))$"
)


def exemptions(memories: pa.Table, settings: Settings) -> dict[str, Mask]:
    """Why memories (rows of ``active_memories``) do not age: for each of ``EXEMPT`` (n,) those of whom it is the first that holds.

    ``shock``: the ring ``shocks``, or ``true`` in the attribute. ``procedural``: by ring or kind. ``instructions`` are memory blocks (as
    Letta's), what its kind, ring, author or subject calls a persona, rules or a policy, and what reads like one
    (``slowwave.texts.instructions``); none with the setting ``exempt_instructions`` off. Linear in the memories; texts are read where a
    word of an order stands in them.
    """
    shock = _among(memories["ring"], (SHOCKS,))
    for k, found in attribute_of(memories, "shock").items():
        shock[k] |= found is True
    masks = {
        "pinned": memories["pinned"].to_numpy().astype(np.bool_),
        "shock": shock,
        "procedural": _among(memories["kind"], PROCEDURAL) | _among(memories["ring"], PROCEDURAL),
        "instructions": np.zeros(len(memories), np.bool_),
    }
    if settings.exempt_instructions:
        masks["instructions"] = _told.of([memories], None, lambda: _instructions(memories)).copy()
    before = np.zeros(len(memories), np.bool_)
    for name in EXEMPT:
        masks[name] = masks[name] & ~before
        before |= masks[name]
    return masks


_told: Final[Last[Mask]] = Last()


def attribute_of(memories: pa.Table, name: str) -> Mapping[int, object]:
    """Row → an attribute, of the rows that have it; only these are parsed."""
    column = memories["attributes"]
    rows = np.flatnonzero(pc.fill_null(pc.match_substring(column, f'"{name}"'), False).to_numpy(zero_copy_only=False))
    cells = column.take(pa.array(rows)).to_pylist()
    found = ((int(k), attributes(cell).get(name)) for k, cell in zip(rows, cells, strict=True))
    return {k: value for k, value in found if value is not None}


def _instructions(memories: pa.Table) -> Mask:
    named = f"(?i)^(?:{_INSTRUCTIONS})$"
    mask = np.zeros(len(memories), np.bool_)
    for column in _NAMED:
        mask |= _matching(memories[column], named)
    mask |= _matching(memories["subject"], _SUBJECT)
    hinted = np.flatnonzero(_matching(memories["text"], HINT) & ~mask)
    texts = memories["text"].take(pa.array(hinted)).to_pylist()
    mask[hinted] = [instructive(text) for text in texts]
    return mask


def _matching(column: pa.ChunkedArray, pattern: str) -> Mask:
    return pc.fill_null(matching(column, pattern), False).to_numpy(zero_copy_only=False).astype(np.bool_)


def _among(column: pa.ChunkedArray, values: tuple[str, ...]) -> Mask:
    return pc.is_in(column, value_set=pa.array(values)).to_numpy().copy()
