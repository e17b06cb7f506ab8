"""Line 10: ``plans diff`` showed the ids of versions and the first two hundred characters of a new text, and nobody saw what would go.
It shows the sentences and items that a memory would lose, marked as such, what takes their place, and the figures no longer said.
"""

from __future__ import annotations

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, remember, unit
from tests.surfaces.cli.conftest import Run, run
from tests.text.made_secrets import Maker

__all__ = ["run"]

FERRY = "Rui Lund runs the ferry to Port Vale."
TALK = "The water was calm and the people on the deck were talking about the weather and the price of bread and of much else besides. "
ROUGH = TALK.replace("calm", "rough")
LAMPS = "The 14 lamps of the pier were out on 2024-03-02."
KEY = f"ghp{'_'}{Maker(3).some(36)}"


def test_what_goes_is_marked(store: Store, run: Run) -> None:
    """A memory told shorter, one that is archived, and one that holds a token, which the diff does not say either."""
    texts = {
        "long": (
            f"{FERRY} {TALK}{TALK.replace('calm', 'rough')}{'He likes to tell how it was. ' * 90}{LAMPS}",
            "summary",
            200,
        ),
        "old": (f"The ferry was painted green, with {KEY}.", "essence", 800),
    }
    remember(
        store,
        "ferry",
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(d), "current_version_id": f"v{n}", "stage": stage}
            for n, (_, stage, d) in texts.items()
        ],
        memory_versions=[
            {"id": f"v{n}", "memory_id": n, "content": t, "recorded_at": ago(d)} for n, (t, _, d) in texts.items()
        ],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.2)} for n in texts],
    )
    assert run_night(store, "ferry", ops="decay_transition").new_items == 2
    code, shown, _ = run("plans", "diff", "ferry")
    lines = [line.strip() for line in shown.splitlines()]
    assert code == 0
    assert any(line.startswith("- ") and "talking about the weather" in line for line in lines)
    assert any(line.startswith("- The ferry was painted green") for line in lines)
    assert not any(line.startswith("- ") and FERRY in line for line in lines)
    assert any(FERRY in line for line in lines)
    assert KEY[:20] not in shown


def test_diff_of_a_contradiction_names_only_what_the_memory_that_stays_does_not_state(store: Store, run: Run) -> None:
    """The name stands in both memories, so that ending one of them loses the figure alone."""
    texts = {
        "older": ("The export for Acme starts at 06:00 UTC.", 9, (1.0, 0.0)),
        "newer": ("The export for Acme starts at 07:30 UTC.", 2, (1.0, 0.1)),
    }
    remember(
        store,
        "acme",
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(d), "current_version_id": f"v{n}"}
            for n, (_, d, _) in texts.items()
        ],
        memory_versions=[
            {"id": f"v{n}", "memory_id": n, "content": t, "recorded_at": ago(d)} for n, (t, d, _) in texts.items()
        ],
        memory_vectors=[{"id": n, "vector": unit(*v)} for n, (_, _, v) in texts.items()],
    )
    assert run_night(store, "acme", ops="resolve_conflicts").new_items == 1
    shown = run("plans", "diff", "acme")[1]
    assert "not in the texts of this item that stay: 06:00\n" in shown, shown


def test_diff_writes_a_date_without_a_year_in_words(store: Store, run: Run) -> None:
    texts = {"older": ("The export for Acme is on 4 May.", 9), "newer": ("The export for Acme is on 7 May.", 2)}
    remember(
        store,
        "acme",
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(d), "current_version_id": f"v{n}"}
            for n, (_, d) in texts.items()
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": t} for n, (t, _) in texts.items()],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.1 * d)} for n, (_, d) in texts.items()],
    )
    assert run_night(store, "acme", ops="resolve_conflicts").new_items == 1
    shown = run("plans", "diff", "acme")[1]
    assert "not in the texts of this item that stay: 4 May\n" in shown, shown
