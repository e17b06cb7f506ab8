"""``slowwave conflicts``: what a person sees of conflicts, and how one is ruled on."""

from __future__ import annotations

import json

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, remember
from tests.surfaces.cli.conftest import Run


def settle(store: Store, text: str = "Mara lives in Lisbon.") -> None:
    facts = [
        {"id": "p", "subject": "Mara", "predicate": "lives in", "object": "Porto", "valid_from": ago(90)},
        {"id": "l", "subject": "Mara", "predicate": "lives in", "object": "Lisbon", "fact_text": text},
    ]
    remember(store, "acme", memory_facts=facts)
    run_night(store, "acme", ops="contradictions", force=True)


def test_from_the_list_to_a_verdict(store: Store, run: Run) -> None:
    """Open conflicts with what both rows say; a verdict; and the list without it."""
    settle(store)
    code, out, _ = run("conflicts", "list", "acme", "--json")
    (conflict,) = json.loads(out)
    assert (code, conflict["reason"], conflict["resolution"]) == (0, "object", "detected")
    assert {conflict["a"], conflict["b"]} == {"Mara lives in Porto", "Mara lives in Lisbon."}
    assert conflict["id"][:8] in run("conflicts", "list", "acme")[1]
    right = "a" if "Porto" in conflict["a"] else "b"
    code, out, _ = run("conflicts", "resolve", "acme", conflict["id"][:8], "--right", right, "--by", "mara", "--json")
    ruled = json.loads(out)
    assert (code, ruled["resolution"], ruled["resolved_by"]) == (0, "prefer", "mara")
    assert json.loads(run("conflicts", "list", "acme", "--json")[1]) == []
    assert [c["id"] for c in json.loads(run("conflicts", "list", "acme", "--all", "--json")[1])] == [conflict["id"]]
    assert len(json.loads(run("conflicts", "list", "acme", "--resolution", "prefer,kept", "--json")[1])) == 1
    code, out, _ = run("conflicts", "resolve", "acme", conflict["id"], "--right", "both", "--by", "mara")
    assert (code, "the question is not asked again" in out) == (0, True)


def test_refusals_are_sentences(store: Store, run: Run) -> None:
    """Exit code 2; an unknown side is a mistake of the command line."""
    settle(store)
    code, _, err = run("conflicts", "resolve", "acme", "zzz", "--right", "a", "--by", "mara")
    assert (code, "is no conflict of acme" in err) == (2, True)
    code, _, err = run("conflicts", "resolve", "acme", "a", "--right", "a")
    assert (code, "needs a name" in err) == (2, True)
    assert run("conflicts", "list", "nowhere")[0] == 2
    assert run("conflicts", "resolve", "acme", "a", "--right", "c", "--by", "mara")[0] != 0


def test_memory_text_cannot_speak_in_the_terminal(store: Store, run: Run) -> None:
    """Neither markup nor control characters."""
    settle(store, "Mara lives in \x1b[31m[bold]Lisbon[/].")
    out = run("conflicts", "list", "acme")[1]
    assert "\x1b" not in out
    assert "[bold]" in out
