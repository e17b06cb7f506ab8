"""``slowwave namespace``: show, set and remove one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from slowwave.store.connect import Store
from tests.memories import ago, remember
from tests.surfaces.cli.conftest import Run
from tests.toy import toy


def test_settings_are_set_checked_and_removed(store: Store, run: Run) -> None:
    """A wrong name or value is refused with the nearest name, and changes nothing."""
    toy(store, "harbour")
    before = json.loads(run("namespace", "show", "harbour", "--json")[1])["settings"]
    keys = ("redact_text=all", "operations.prune_edges.half_life_days=30", "operations.prune_edges.score_threshold=0.5")
    code, out, _ = run("namespace", "set", "harbour", *keys, "--json")
    settings = json.loads(out)["settings"]
    assert (code, settings["redact_text"]) == (0, "all")
    assert settings["operations"]["prune_edges"]["half_life_days"] == 30
    for wrong, sentence in (
        ("redact_txt=all", "Did you mean redact_text?"),
        ("redact_txt=all", "`slowwave operations` lists the operations"),
        ("operations.prune_edges.half_live_days=30", "Did you mean half_life_days?"),
        ("operations.prune_edge.enabled=false", "Did you mean prune_edges?"),
        ("redact_text=everything", "cannot be"),
        ("operations.prune_edges.score_threshold=many", "cannot be"),
        ("report_base_path=/srv", "SLOWWAVE_REPORT_BASE_PATH"),
        ("redact_text", "KEY=VALUE"),
    ):
        code, _, err = run("namespace", "set", "harbour", wrong)
        assert (code != 0, sentence in err) == (True, True), wrong
    assert json.loads(run("namespace", "show", "harbour", "--json")[1])["settings"] == settings
    removed = ("--remove", "redact_text", "--remove", "operations.prune_edges.half_life_days")
    assert run("namespace", "set", "harbour", *removed, "--remove", "operations.prune_edges.score_threshold")[0] == 0
    left = json.loads(run("namespace", "show", "harbour", "--json")[1])["settings"]
    assert left == before, "no operation without settings is left"
    assert run("namespace", "set", "harbour", "--remove", "redact_text")[0] == 2
    assert run("namespace", "set", "nowhere", "enabled=false")[0] == 2


def test_show_lists_each_setting_on_a_line_that_set_takes(store: Store, run: Run) -> None:
    """A shell reads the lines of one namespace as arguments that give another one the same settings."""
    for name in ("harbour", "island"):
        toy(store, name)
    given = ["redact_text=all", "operations.prune_edges.half_life_days=30", "operations.prune_edges.enabled=false"]
    given.append('operations.resolve_conflicts.newest_wins=["has the owner\'s key"]')
    assert run("namespace", "set", "harbour", *given)[0] == 0
    lines = run("namespace", "show", "harbour")[1].splitlines()
    own = [line for line in lines if line.startswith("  ")]
    assert "  operations.prune_edges.half_life_days=30" in own
    assert run("namespace", "set", "island", *shlex.split("\n".join(own)))[0] == 0
    shown = [json.loads(run("namespace", "show", name, "--json")[1])["settings"] for name in ("harbour", "island")]
    assert shown[0] == shown[1]


def test_set_newest_wins_hints_at_a_relation_that_the_latest_plan_lacks(store: Store, run: Run) -> None:
    """A hint and no error: a later night may find such a pair. Any name of a relation is known, and so is ``frames``."""
    setting = "operations.resolve_conflicts.newest_wins"
    texts = {"Oslo": 30, "Bergen": 10}
    rows = [
        {"id": t, "kind": "semantic", "current_version_id": f"{t} v", "valid_from": ago(days)}
        for t, days in texts.items()
    ]
    versions = [{"id": f"{t} v", "memory_id": t, "content": f"Mara lives in {t}."} for t in texts]
    remember(store, "harbour", memories=rows, memory_versions=versions)
    code, _, err = run("namespace", "set", "harbour", f'{setting}=["lives inn"]')
    assert (code, "Hint" in err) == (0, False), "there is no plan yet"
    run("night", "harbour")
    code, _, err = run("namespace", "set", "harbour", f'{setting}=["lives inn", "frames"]')
    assert (code, "“lives inn”" in err, "“lives in”" in err, "“frames”" in err) == (0, True, True, False)
    code, _, err = run("namespace", "set", "harbour", f'{setting}=["LIVES_IN", "mara lives in"]')
    assert (code, "Hint" in err) == (0, False)


def test_set_namespace_to_disabled_ends_its_nights(store: Store, run: Run) -> None:
    toy(store, "harbour")
    assert run("namespace", "set", "harbour", "enabled=false")[0] == 0
    code, _, err = run("night", "harbour")
    assert (code, "enabled" in err) == (2, True)


def test_remove_deletes_an_empty_namespace_and_keeps_history(store: Store, run: Run) -> None:
    """Live memory is never deleted; a namespace with plans keeps them, and says for how long."""
    toy(store, "harbour")
    code, _, err = run("namespace", "remove", "harbour")
    assert (code, "namespace set harbour enabled=false" in err) == (2, True)
    run("night", "harbour")
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.memories SET invalidated_at = now()")
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'empty')")
    code, out, _ = run("namespace", "remove", "harbour", "--json")
    done = json.loads(out)
    assert (code, done["deleted"], done["retention_days"], done["undo_retention_days"]) == (0, False, 30, 0)
    assert done["kept"]["night.plans"] == 1
    assert json.loads(run("namespace", "show", "harbour", "--json")[1])["settings"]["enabled"] is False
    assert run("night", "empty")[0] == 0
    code, out, _ = run("namespace", "remove", "empty")
    assert code == 0
    assert {row["namespace"] for row in json.loads(run("namespace", "list", "--json")[1])} <= {"harbour", "empty"}
    code, _, err = run("namespace", "remove", "nowhere")
    assert (code, "There is no namespace" in err) == (2, True)


def test_namespace_cannot_have_the_name_of_a_command(run: Run, tmp_path: Path) -> None:
    messages = tmp_path / "messages.jsonl"
    for name in ("show", "set", "remove"):
        row = {
            "namespace": name,
            "created_at": "2026-01-05T10:00:00Z",
            "role": "user",
            "content": "The quay opens at six.",
        }
        messages.write_text(json.dumps(row))
        code, _, err = run("import", "messages", str(messages))
        assert (code, "commands use the words" in err) == (2, True), err
    assert json.loads(run("namespace", "list", "--json")[1]) == []
