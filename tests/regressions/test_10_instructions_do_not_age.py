"""Line 10: ageing destroyed what an agent lives by. A numbered policy became "1. 2. 3. 4.", the persona of an imported Letta agent lost
its sentences, and both were archived once nobody had read them for a week. Memory blocks, personas and lists of rules stay as they are,
in whatever way the store knows them; a setting lets them age, and then they lose whole rules and no rule its number.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from slowwave.models.embedder import OfflineEmbedder
from slowwave.operations import PLANNERS
from slowwave.snapshots.export import export_snapshot
from slowwave.sources.letta import import_letta
from slowwave.store.connect import Store
from tests.memories import ago, ask
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

archive_stale = PLANNERS["archive_stale"]
decay_transition = PLANNERS["decay_transition"]

RULES = (
    "Never give a caller the door code of another tenant, whoever asks for it and however urgent it sounds.",
    "Always write down the number of the flat, the name on the bell and the hour of the call.",
    "Do not promise a date for a repair before the plumber has agreed to it in writing.",
    "When water runs, you must call the plumber first and the owner second, at any hour of the night.",
    "A tenant who shouts must be answered in a quiet voice; after three warnings you may hang up.",
    "Keys are handed out against a passport only, and never to a child.",
)
POLICY = "\n".join(f"{n}. {rule}" for n, rule in enumerate(RULES * 4, 1))
IN_A_ROW = " ".join(f"{n}. {rule}" for n, rule in enumerate(RULES * 4, 1))
BULLETS = "House rules\n\n" + "\n".join(f"- {rule}" for rule in RULES * 4)
PERSONA = (
    "You are Odile, the night porter of a house with forty flats. You speak slowly and you never guess. "
    + "You know every tenant by name, and your first question is whether anyone is hurt. " * 30
)
CHARACTER = "I am Odile and I keep the door. I am patient with the old and short with the loud. " * 30


def aged(text: str, **more: object) -> dict[str, list[dict[str, object]]]:
    began = TAKEN_AT - timedelta(days=40)
    row = {
        "id": uid("m"),
        "kind": "semantic",
        "valid_from": began,
        "recorded_at": began,
        "current_version_id": uid("v"),
    }
    version = {"id": uid("v"), "memory_id": uid("m"), "content": text, "recorded_at": began}
    return {"memories": [{**row, **more}], "memory_versions": [version]}


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (POLICY, {}),
        (IN_A_ROW, {}),
        (BULLETS, {}),
        (PERSONA, {}),
        (CHARACTER, {"author": "memory_block", "subject": "persona", "source": "letta"}),
        (CHARACTER, {"subject": "custom_instructions"}),
        (CHARACTER, {"kind": "persona"}),
        (CHARACTER, {"ring": "procedural"}),
        (CHARACTER, {"kind": "procedures"}),
    ],
)
def test_what_an_agent_lives_by_is_neither_shortened_nor_archived(text: str, more: dict[str, object]) -> None:
    inputs = make_inputs(make_snapshot(**aged(text, **more)))
    assert decay_transition(inputs).items == ()
    assert archive_stale(inputs).items == ()


@pytest.mark.parametrize("text", [POLICY, IN_A_ROW, BULLETS])
def test_shortened_rules_are_kept_whole_or_left_out(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that are not recognized as instructions are shortened as other texts."""
    monkeypatch.setattr("slowwave.snapshots.rows._instructions", lambda memories: np.zeros(len(memories), np.bool_))
    snapshot = make_snapshot(**aged(text))
    (item,) = decay_transition(make_inputs(snapshot)).items
    shorter = str(item.evidence.get("text", text))
    rules = RULES * 4
    numbers = [int(n) for n in re.findall(r"(?:^|\s)(\d+)\. ", shorter)]
    kept = [rules[n - 1] in shorter and f"{n}. {rules[n - 1]}" in shorter for n in numbers]
    if text == BULLETS:
        kept = [line.removeprefix("- ") in rules for line in shorter.splitlines()[2:]]
    assert all(kept)
    assert len(kept) >= len(RULES)


def test_the_blocks_of_an_imported_agent_stay(store: Store, tmp_path: Path) -> None:
    """A Letta agent file with a persona and what it knows of its human: a month later neither is due for anything."""
    blocks = [
        {"id": "b-0", "label": "persona", "value": CHARACTER},
        {"id": "b-1", "label": "human", "value": "Name: Rui. " * 60},
    ]
    agent = {"name": "odile", "block_ids": ["b-0", "b-1"], "messages": []}
    path = tmp_path / "odile.af"
    path.write_text(json.dumps({"agents": [agent], "blocks": blocks, "created_at": ago(40).isoformat()}))
    with store.connect("owner") as connection:
        import_letta(connection, path, embedder=OfflineEmbedder())
    assert ask(store, "SELECT count(*) FROM memory.memories") == [(2,)]
    inputs = make_inputs(export_snapshot(store, "odile"))
    assert decay_transition(inputs).items == ()
    assert archive_stale(inputs).items == ()
