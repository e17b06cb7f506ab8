"""Line 11: the first night over ordinary imported messages asked for ``--force``.

A user imported 150 messages of a few weeks. The night found 26 relative dates and proposed to write the day beside the words: nothing
was retired, nothing was lost. The blast radius counted those as 26 rows reworded, found that more than 25, and said that the problem
was upstream of the memory. What only adds is not counted like what retires.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from slowwave.night.night import run_night
from slowwave.sources.pipeline import import_messages
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.permitting import approve

WHO = ("My sister", "The plumber", "Our neighbour", "A colleague from Lyon", "The vet", "Grandmother")
DID = (
    *("repaired the garden fence", "lent me a ladder", "planted tomatoes", "baked rye bread", "sold an old piano"),
    *("asked about the train strike", "sent pictures of a lighthouse", "found my reading glasses", "painted a kitchen"),
    *(
        "wrote a long letter",
        "borrowed the green bicycle",
        "won a chess game",
        "cooked lentil soup",
        "lost an umbrella",
    ),
    *("read a novel about Iceland", "fixed the dripping tap", "sang in a choir", "walked around the lake"),
    *("bought second-hand skis", "complained about the noise", "explained a tax form", "adopted a grey cat"),
    *("returned the drill", "visited a museum", "learnt to knit"),
)
WHEN = ("yesterday", "last Friday", "two days ago")


def messages() -> list[dict[str, str]]:
    """150 turns over 30 days, 26 of them with a relative date; no two tell the same."""
    said = [f"{who} {did}" for did, who in product(DID, WHO)]
    return [
        {
            "id": f"m{n}",
            "namespace": "home",
            "created_at": f"2026-03-{1 + n // 5:02}T09:{n % 5:02}:00+00:00",
            "role": "user",
            "content": f"{text} {WHEN[n % 3]}." if n < 26 else f"{text}.",
        }
        for n, text in enumerate(said)
    ]


def test_an_ordinary_first_night_needs_no_force(store: Store, tmp_path: Path) -> None:
    """At default settings: the dates are proposed, every probe passes, and a plain approval is taken."""
    path = tmp_path / "messages.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in messages()))
    with store.connect("owner") as connection:
        import_messages(connection, path, embedder=embedder_for(Settings.for_namespace({})))
    night = run_night(store, "home")
    assert night.plan is not None
    assert night.probes is not None
    assert sum(item.operation == "absolutize_dates" for item in night.plan.items) == 26
    assert night.probes.results["specifics"]["lost"] == []  # type: ignore[index]
    assert night.probes.needs_force == ()
    radius = night.probes.results["blast_radius"]
    assert isinstance(radius, dict)
    assert (radius["retired"], radius["reworded"]) == (0, 0)
    assert approve(store, "home", night.plan.plan_hash, approver="mara").item_ids
