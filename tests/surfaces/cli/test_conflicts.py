"""``slowwave conflicts``: what a person sees of conflicts, and how one is ruled on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, remember
from tests.models.tiny_onnx import write_model
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


def test_calibration_of_a_local_model_needs_no_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Precision and recall by threshold, of the model that is named or that of the settings."""
    folder = str(write_model(tmp_path / "model", {"tram": (0, 0, 3), "bike": (0, 0, 3)}))
    pairs = tmp_path / "pairs.jsonl"
    rows = [("bike", "tram", "contradiction"), ("bike", "x", "changed"), ("tram", "bike", "entailment")]
    pairs.write_text("\n".join(json.dumps(dict(zip(("a", "b", "label"), row, strict=True))) for row in rows))
    code, out, _ = run("conflicts", "calibrate", str(pairs), "--model", folder, "--json")
    assert code == 0
    by = {row["threshold"]: row for row in json.loads(out)}
    assert (by[0.95]["found"], by[0.95]["wrong"], by[0.95]["precision"], by[0.95]["recall"]) == (1, 1, 0.5, 0.5)
    monkeypatch.setenv("SLOWWAVE_NLI_MODEL", folder)
    code, out, _ = run("conflicts", "calibrate", str(pairs))
    assert (code, "0.667" in out, "SLOWWAVE_NLI_THRESHOLD" in out) == (0, True, True)


def test_calibration_refuses_in_sentences(run: Run, tmp_path: Path) -> None:
    """No model, no file, a line that is no pair, no pairs, and a folder without a model."""
    pairs = tmp_path / "pairs.jsonl"
    code, _, err = run("conflicts", "calibrate", str(pairs))
    assert (code, "--model" in err) == (2, True)
    code, _, err = run("conflicts", "calibrate", str(pairs), "--model", str(tmp_path))
    assert (code, "cannot be read" in err) == (2, True)
    pairs.write_text('{"a": "x", "b": "y", "label": "changed"}\n{"a": "x"}')
    code, _, err = run("conflicts", "calibrate", str(pairs), "--model", str(tmp_path))
    assert (code, "Line 2" in err) == (2, True)
    pairs.write_text("\n")
    code, _, err = run("conflicts", "calibrate", str(pairs), "--model", str(tmp_path))
    assert (code, "no pairs" in err) == (2, True)
    pairs.write_text('{"a": "x", "b": "y", "label": "changed"}')
    code, _, err = run("conflicts", "calibrate", str(pairs), "--model", str(tmp_path))
    assert code != 0
    assert "has no model.onnx" in err
    assert "Traceback" not in err
