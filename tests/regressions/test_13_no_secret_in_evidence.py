"""Line 13: ``archive_stale`` and ``decay_transition`` copied memory text into their evidence, so that a token and a key stood in
``night.plan_items`` long after their memories were redacted. Nothing that a night writes about memory holds what screening would redact:
evidence passes screening where a plan is sealed, reports and probes where they are made, errors where they are worded; and a text that
screening has to act on is not told in other words before it has.
"""

from __future__ import annotations

import json

import pytest

from slowwave.night.night import run_night
from slowwave.night.run_events import in_words
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.store.connect import Store
from tests.memories import ago, ask, remember, unit
from tests.snapshots import uid
from tests.text.made_secrets import Maker

TOKEN = f"ghp{'_'}{Maker(7).some(36)}"
KEY = f"AIz{'a'}{Maker(8).some(35)}"
TALK = "The boat was painted and the oars were put to dry behind the house of the miller. "
WRITTEN = (
    ("night.plan_items", "evidence::text || mutation::text || reason"),
    ("night.plans", "probes::text || summary::text"),
    ("night.findings", "message || details::text"),
    ("night.conflicts", "reason || evidence::text || note"),
    ("night.runs", "coalesce(error, '') || counts::text || coalesce(progress::text, '')"),
)


def everything_written(store: Store) -> str:
    rows = [ask(store, f"SELECT {text} FROM {table}") for table, text in WRITTEN]
    return json.dumps(rows, default=str)


def half(secret: str) -> str:
    """Enough of it that whoever reads it knows what it is."""
    return secret[: len(secret) // 2]


@pytest.mark.parametrize("policy", ["warn", "quarantine", "redact"])
def test_no_night_writes_a_secret(store: Store, policy: str) -> None:
    """Among the memories: one that is stale, one whose secret stands where a quotation of it is cut, one to be shortened, one to be
    forgotten, some of one matter, and two that contradict each other."""
    cut = f"{TALK * 2}{'x' * (200 - 2 * len(TALK) - 20)} {TOKEN} opens the gate. {TALK * 3}"
    texts = {
        "stale": (f"The token of the gate is {TOKEN} and nobody asked.", "full", 20),
        "cut": (cut, "full", 21),
        "long": (f"The gate opens with {TOKEN}, the shed with {KEY}. {TALK * 40}", "full", 22),
        "dated": (f"Yesterday Rui told me that the key is {KEY} and not the other one.", "full", 3),
        "old": (f"Long ago the key was {KEY}.", "essence", 800),
        **{f"near{n}": (f"Rui keeps key {KEY} in drawer {n} of the desk. {TALK}", "full", 23 + n) for n in range(4)},
        "yes": (f"The gate of Port Vale opens with {KEY} at 8:00.", "full", 30),
        "no": (f"The gate of Port Vale never opens with {KEY} at 8:00.", "full", 31),
    }
    remember(
        store,
        "leaks",
        settings={"operations": {"redact_or_quarantine": {"policy": policy}}},
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(d), "current_version_id": f"v{n}", "stage": stage}
            for n, (_, stage, d) in texts.items()
        ],
        memory_versions=[
            {"id": f"v{n}", "memory_id": n, "content": t, "recorded_at": ago(d)} for n, (t, _, d) in texts.items()
        ],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.01 * k)} for k, n in enumerate(texts)],
    )
    night = run_night(store, "leaks", ops="all")
    assert night.plan is not None
    assert night.plan.items
    written = everything_written(store)
    for secret in (TOKEN, KEY):
        assert half(secret) not in written


def test_a_planner_that_forgets_cannot_seal_a_secret() -> None:
    """Whatever an item quotes, in any depth, under any key, or as a key; ids, hashes and figures stay what they are."""
    from slowwave.changes.cells import Cell, Write
    from slowwave.changes.mutation import Mutation, Row

    write = Write(Cell("memories", uid("m"), "state"), "set", "active", "archived")
    mutation = Mutation("set_state", "memories", writes=(write,), rows=(Row(uid("m")),))
    plain = {
        "id": uid("m"),
        "content_hash": "9f86d081884c7d659a2feaa0c55ad015",
        "tokens_before": 4_000,
        "policy": "stale",
    }
    leaking = {**plain, "quotes": [{"text": f"it is {TOKEN}"}], KEY: 1, "more": {"api_key": Maker(9).some(30)}}
    header = Header(uid("n"), "n", "s", "f")
    (kept,) = seal(header, [Item("archive_stale", "archive", mutation, plain)], permits()).items
    assert kept.evidence == plain
    (item,) = seal(header, [Item("archive_stale", "archive", mutation, leaking)], permits()).items
    sealed = json.dumps(item.to_json())
    for secret in (TOKEN, KEY, Maker(9).some(30)):
        assert half(secret) not in sealed
    assert {k: item.evidence[k] for k in plain} == plain


@pytest.mark.parametrize("level", ["none", "summary"])
def test_no_error_says_a_secret(level: str) -> None:
    said = in_words(ValueError(f"cannot read the memory 'the token is {TOKEN}'"), level)  # pyright: ignore[reportArgumentType]
    assert half(TOKEN) not in said
    assert said.startswith("ValueError")
