"""A namespace that gives every operation on memories something to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ago, recalls_of_nothing, remember

CLUSTER = (
    "The harbor crane was inspected by Ilse Brandt. Its north arm has worn cables. The harbor crane must not lift over 12 tons.",
    "Ilse Brandt inspected the harbor crane. The harbor crane must not lift over 12 tons.",
    "The harbor crane must not lift over 12 tons. The inspection was paid by the port.",
)
"""Three notes of one matter."""

FULL = " ".join(
    f"Gauge {n} of the harbor crane read {n * 7 + 3} bar at the inspection. The crew waited for the tide to turn before they went on."
    for n in range(1, 15)
)
"""A text that fills most of the budget of a full memory."""


def key() -> str:
    """What looks like an access key to those who look for one, put together so that it stands in no file."""
    return "AKIA" + "Q7ZK3M5N2P8R4T6V"


def memories() -> list[dict[str, Any]]:
    """Texts by name, with what else each row has."""
    said: list[tuple[str, str, float, Mapping[str, Any]]] = [
        ("dup a", "The night ferry to Sund leaves from pier nine at six.", 3, {"access_count": 2, "tags": ["a"]}),
        ("dup b", "The night ferry to Sund leaves from pier nine at six.", 2, {"access_count": 2, "tags": ["b"]}),
        ("plain", "The harbour office accepts cash payments.", 3, {}),
        ("negated", "The harbour office does not accept cash payments.", 2, {}),
        ("relative", "Mara Olsen signed the lease yesterday.", 3, {}),
        ("secret", f"The deploy user signs in with {key()} until it is rotated.", 4, {}),
        ("useful", "The gate code is changed by the porter every quarter.", 40, {}),
        ("leaking", f"Backups are pushed with the key {key()} from the old host.", 40, {}),
        ("edited", "The porter is Jon Dahl.", 5, {"attributes": {"dreamed_at": "2026-04-01T02:00:00Z"}}),
        *((f"note {n}", text, 5 + n, {"subject": "harbor crane"}) for n, text in enumerate(CLUSTER)),
        *((f"old {n}", f"Invoice {n} of the {word} yard was paid in full.", 60, {}) for n, word in enumerate(_YARDS)),
    ]
    return [
        {
            **{"id": name, "external_id": name, "kind": "episodic", "author": "user", "source": "import"},
            **{"session_id": f"session {int(days)}", "valid_from": ago(days), "recorded_at": ago(days)},
            **{"current_version_id": f"{name} text", "text": text, **more},
        }
        for name, text, days, more in said
    ]


_YARDS = ("amber", "birch", "cedar")


def toy(store: Store, slug: str = "toy", rows: Sequence[Mapping[str, Any]] | None = None, **settings: object) -> str:
    """Write the namespace, with vectors of the offline model; returns its id."""
    chosen = memories() if rows is None else list(rows)
    texts = [str(row["text"]) for row in chosen]
    vectors = embedder_for(Settings()).embed(texts)
    recalls = [
        {
            **{"id": f"{name} recall {n}", "occurred_at": ago(n + 1), "query": query},
            **{"hit_ids": [f"{slug} {name}"], "selected_ids": [f"{slug} {name}"], "scores": [1.0]},
        }
        for name in ("useful", "leaking")
        for n, query in enumerate(("gate code", "who changes the code", "porter", "backup", "old host"))
        if any(row["id"] == name for row in chosen)
    ]
    if recalls:
        recalls += recalls_of_nothing("logged", 100)  # so that old memories had a chance to be recalled
        with store.connect("owner") as connection:
            connection.execute("SELECT memory.ensure_recall_partitions(%s, %s)", (ago(101), ago(0)))
    return remember(
        store,
        slug,
        settings,
        memories=[{k: _own(slug, k, v) for k, v in row.items() if k != "text"} for row in chosen],
        memory_versions=[
            {
                "id": f"{slug} {row['current_version_id']}",
                "memory_id": f"{slug} {row['id']}",
                "content": row["text"],
                "recorded_at": row["recorded_at"],
            }
            for row in chosen
        ],
        memory_vectors=[
            {"id": f"{slug} {row['id']}", "vector": vector.tolist()}
            for row, vector in zip(chosen, vectors, strict=True)
        ],
        recall_events=[{**row, "id": f"{slug} {row['id']}"} for row in recalls],
    )


def _own(slug: str, column: str, value: Any) -> Any:
    """Names of rows are a namespace's own."""
    return f"{slug} {value}" if column in ("id", "current_version_id") else value
