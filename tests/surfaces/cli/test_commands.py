"""The program as a person uses it: from a file of messages to an applied plan and back, and every way to be told no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.snapshots.export import export_snapshot
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import close_idle
from slowwave.surfaces.api.plan import NightPlan
from tests.clusters import dropped
from tests.memories import ask, remember
from tests.night.test_answers import towns
from tests.nights import archive_items, new_world, write_a_plan
from tests.plans.review.reviews import asking
from tests.surfaces.cli.conftest import Run

MESSAGES = [
    ("2026-05-01T09:00:00+00:00", "user", "Mara Reyes asked Harbor Freight about the crane in Rotterdam."),
    ("2026-05-01T09:01:00+00:00", "assistant", "I noted that Mara Reyes waits for Harbor Freight."),
    ("2026-05-02T09:00:00+00:00", "user", "Write to mara@example.org about https://example.org/crane please."),
]


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    """Three turns of one namespace."""
    file = tmp_path / "messages.jsonl"
    rows = [{"namespace": "acme", "created_at": t, "role": r, "content": c} for t, r, c in MESSAGES]
    file.write_text("\n".join(json.dumps(r) for r in rows))
    return file


def test_from_a_file_to_an_applied_plan_and_back(store: Store, run: Run, messages: Path) -> None:
    """import → night → show → approve → apply → undo, with the same digest at both ends."""
    code, out, _ = run("import", "messages", str(messages), "--json")
    assert code == 0
    assert json.loads(out)["added"]["memories"] == 3
    assert json.loads(run("import", "messages", str(messages), "--json")[1])["added"] == {}
    _break_a_chunk(store)
    before = run("namespace", "digest", "acme")[1]
    planned = json.loads(run("night", "acme", "--json")[1])
    assert planned["state"] == "awaiting_approval"
    assert planned["new_items"] > 0
    assert planned["probes"]["convergence"]["items"] == 0
    plan = json.loads(run("plans", "show", "acme", "--json")[1])
    assert plan["plan_hash"] == planned["plan_hash"]
    for item in plan["items"]:
        assert {
            "id",
            "operation",
            "decision",
            "risk",
            "status",
            "mutation",
            "evidence",
            "sources",
            "tokens",
        } <= item.keys()
        assert item["mutation"]["kind"] in ("filter_references", "merge_rows", "set_vector")
        assert item["status"] == "pending"
    assert "→" in run("plans", "diff", "acme")[1]
    assert plan["plan_hash"][:12] in run("plans", "show", "acme")[1]
    code, out, _ = run("plans", "approve", "acme", plan["plan_hash"][:10], "--by", "me", "--include-review")
    assert (code, "Approved" in out) == (0, True)
    applied: list[dict[str, Any]] = json.loads(run("apply", "acme", "--json")[1])
    assert applied[0]["counts"]["applied"] == planned["new_items"]
    assert run("namespace", "digest", "acme")[1] != before
    again = json.loads(run("night", "acme", "--json")[1])
    assert again["new_items"] == 0, "a second night plans nothing"
    runs = json.loads(run("runs", "list", "acme", "--json")[1])
    assert [(r["mode"], r["state"]) for r in runs] == [
        ("plan", "completed"),
        ("apply", "completed"),
        ("plan", "approved"),
    ]
    assert (
        json.loads(run("runs", "show", applied[0]["run_id"], "--json")[1])["counts"]["applied"] == planned["new_items"]
    )
    code, out, _ = run("undo", "last")
    assert (code, applied[0]["run_id"] in out) == (0, True)
    assert run("namespace", "digest", "acme")[1] == before


def test_import_that_skips_every_row_says_that_nothing_was_imported(run: Run, tmp_path: Path) -> None:
    """A sentence without a namespace, "read into ;", was printed."""
    file = tmp_path / "wrong.jsonl"
    file.write_text("not JSON\n")
    code, out, problems = run("import", "messages", str(file), "--on-error", "skip")
    assert (code, out) == (0, f"No row of {file} could be read, so nothing was imported.\n")
    assert "left out" in problems


def test_an_unchanged_namespace_is_skipped_unless_forced(store: Store, run: Run, messages: Path) -> None:
    """The change counter stands, so the second night says so at once."""
    run("import", "messages", str(messages))
    _break_a_chunk(store)
    first = json.loads(run("night", "acme", "--json")[1])
    second = json.loads(run("night", "acme", "--json")[1])
    assert second["skipped"].startswith("unchanged since")
    assert second["new_items"] == 0
    forced = json.loads(run("night", "acme", "--json", "--force")[1])
    assert forced["new_items"] == first["new_items"]
    assert [p["state"] for p in json.loads(run("plans", "list", "acme", "--json")[1])] == [
        "awaiting_approval",
        "superseded",
    ]
    before = f"0 new items, {forced['new_items'] + forced['carried_items']} pending from before"
    assert before in run("night", "acme", "--force")[1]


def test_plans_without_a_question_that_answers_led_to_are_not_listed(store: Store, run: Run) -> None:
    """They exist because an answer was checked for questions that follow, and no one can do anything with them."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    hashes = [plan.hash]
    for hash_ in hashes:
        asked = NightPlan("acme", hash_, store)
        for question in asked.questions:
            hashes += asked.answer(question, "this", "mara").follow_ups
    made = ask(store, "SELECT plan_hash, state FROM night.plans")
    listed = [p["plan_hash"] for p in json.loads(run("plans", "list", "acme", "--json")[1])]
    assert "empty" in {state for _, state in made}
    assert sorted(listed) == sorted(hash_ for hash_, state in made if state != "empty")


def test_all_namespaces_in_one_go(store: Store, run: Run) -> None:
    """ALL is a night for each."""
    one, two = new_world(store, 7), new_world(store, 8)
    nights = json.loads(run("night", "ALL", "--json")[1])
    assert {n["namespace"] for n in nights} == {one.slug, two.slug}
    assert {
        n["name"] if "name" in n else n["namespace"] for n in json.loads(run("namespace", "list", "--json")[1])
    } == {
        one.slug,
        two.slug,
    }


def test_refusals_are_sentences_with_exit_code_2(store: Store, run: Run) -> None:
    """What happened, what it means, what to do."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    for arguments, sentence in [
        (("night", "nobody"), "There is no namespace 'nobody'"),
        (("plans", "show", "nobody"), "There is no namespace 'nobody'"),
        (("plans", "approve", world.slug, "ffff", "--by", "me"), "is no plan of"),
        (("plans", "approve", world.slug, plan.plan_hash), "must be named (--by NAME)"),
        (("plans", "list", "nobody"), "There is no namespace 'nobody'"),
        (("runs", "cancel", "000"), "The first 4 characters are the least"),
        (("import", "messages", "absent.jsonl"), "absent.jsonl cannot be read (No such file or directory). Nothing"),
        (("apply", world.slug), "is not approved"),
        (("undo", "last"), "no apply run"),
        (("undo", world.slug, "last"), f"runs list {world.slug}"),
        (("undo", world.slug, "0000"), f"runs list {world.slug}"),
        (("undo",), "undo NAMESPACE last"),
        (("plans", "approve", world.slug), f"approve {world.slug} {plan.plan_hash[:12]}"),
        (("plans", "reject", world.slug, "--reason", "why"), f"reject {world.slug} {plan.plan_hash[:12]}"),
        (("plans", "review", world.slug), f"review {world.slug} --by"),
        (("runs", "cancel", "last"), "there is nothing to cancel"),
        (("plans", "reject", world.slug, plan.plan_hash, "--reason", " ", "--by", "me"), "needs a reason"),
    ]:
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert sentence in err, arguments
        assert "Traceback" not in err


def test_a_bad_row_is_named_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    """File, line and reason; --on-error skip lists what it leaves out."""
    file = tmp_path / "bad.jsonl"
    good = {"namespace": "acme", "created_at": MESSAGES[0][0], "role": "user", "content": "Hello"}
    file.write_text(json.dumps(good) + "\n{not json\n")
    code, _, err = run("import", "messages", str(file))
    assert code == 2
    assert "bad.jsonl" in err
    assert "line 2" in err
    assert json.loads(run("namespace", "list", "--json")[1]) == []
    code, out, err = run("import", "messages", str(file), "--on-error", "skip")
    assert code == 0
    assert "line 2" in err
    assert "2 rows read into acme" in out


def test_memory_text_cannot_speak_in_markup(store: Store, run: Run) -> None:
    """A name with Rich markup and control characters is printed as it is, harmless."""
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET name = %s || id::text", ("[bold red]run me[/] \x1b[31mred",))
    write_a_plan(store, world)
    _, out, _ = run("plans", "diff", world.slug)
    assert "[bold red]run me[/]" in out
    assert "\x1b[31m" not in out


def test_the_doctor_is_content_with_the_store(run: Run) -> None:
    """Exit code 0 and one sentence; the advisory note is no problem."""
    code, out, _ = run("doctor")
    assert code == 0
    assert out.splitlines()[-1].startswith("Ready: the database at ")
    assert all(not d["problem"] for d in json.loads(run("doctor", "--json")[1]))


def test_doctor_migrates_a_new_private_store(
    postgres: server.Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every other command does, so that it can be the first one."""
    server.create_database(postgres.url, "not_migrated")
    try:
        new = Store.embedded_in(postgres.url("not_migrated"), postgres.home)
        monkeypatch.setattr(Store, "from_environment", lambda: new)
        code, out, _ = run("doctor")
        close_idle()
    finally:
        dropped(postgres, "not_migrated")
    assert (code, "Migrations are pending" in out) == (0, False), out


def test_doctor_looks_at_the_replica(
    postgres: server.Server, store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_REPLICA_URL", store.owner)
    assert run("doctor")[0] == 0
    for address, found in (
        (postgres.url("postgres"), "SLOWWAVE_REPLICA_URL leads to another store"),
        ("postgresql://me@127.0.0.1:1/nothing", "user or password in SLOWWAVE_REPLICA_URL"),
    ):
        monkeypatch.setenv("SLOWWAVE_REPLICA_URL", address)
        code, out, _ = run("doctor")
        assert (code, found in out) == (1, True), out


def test_doctor_lists_what_agents_may_do(store: Store, run: Run) -> None:
    """Which tokens may request nights, write and approve, by namespace; without any token only programs of this machine write."""
    remember(store, "acme")
    remember(store, "rival")
    ask(store, "UPDATE memory.namespaces SET read_only = true WHERE slug = 'rival' RETURNING 1")
    without = [line for line in run("doctor")[1].splitlines() if line.startswith("Capability: ")]
    assert [line.rsplit(": ", 1)[1] for line in without] == [
        "no token.",
        "programs of this machine, as there is no token.",
        "no token.",
        "rival.",
    ]
    made = json.loads(run("tokens", "new", "acme", "--scopes", "read,night", "--name", "kate", "--json")[1])
    gone = json.loads(run("tokens", "new", "rival", "--scopes", "night", "--json")[1])
    assert run("tokens", "revoke", gone["id"])[0] == 0
    found = json.loads(run("doctor", "--json")[1])
    nights, writes = (next(d for d in found if scope in d["finding"]) for scope in ("scope night", "scope write"))
    assert nights["finding"].endswith(f": acme (token {made['id']}, kate).")
    assert writes["finding"].endswith(": no token.")
    assert (nights["problem"], nights["remedy"]) == (False, "")


def test_doctor_ends_with_the_first_thing_to_do(store: Store, run: Run) -> None:
    """The last line is that the database is ready, or the remedy of the first problem."""
    assert "holds no namespace yet. `slowwave demo`" in run("doctor")[1].splitlines()[-1]
    new_world(store)
    assert run("doctor")[1].splitlines()[-1].endswith("holds 1 namespace.")
    ask(store, 'UPDATE memory.namespaces SET settings = \'{"operations": {"archive_stal": {"enabled": false}}}\'')
    code, out, _ = run("doctor")
    assert (code, out.splitlines()[-1].startswith("Not ready. First: ")) == (1, True), out


def test_doctor_names_an_invalid_variable_of_a_working_database(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_world(store)
    monkeypatch.setenv("SLOWWAVE_NIGHTLY_HOUR", "99")
    code, out, _ = run("doctor")
    assert (code, "SLOWWAVE_NIGHTLY_HOUR" in out) == (1, True)


def test_an_unreachable_database_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, no password, no stack trace."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql://me:secret-word@127.0.0.1:1/nothing")
    code, out, err = run("namespace", "list")
    assert code == 1
    assert "secret-word" not in out + err
    assert "Traceback" not in err
    assert "user or password in SLOWWAVE_DATABASE_URL" in err
    code, out, _ = run("doctor")
    assert (code, "slowwave doctor" in out) == (1, False), "the remedy is not the command itself"
    remedy, last = out.splitlines()[-2:]
    assert remedy.strip().removeprefix("Remedy: ") == last.removeprefix("Not ready. First: ")


def test_what_an_undo_leaves_is_named(store: Store, run: Run) -> None:
    """An operator takes back a night of which an agent has rewritten one row, in one command that the refusal names."""
    world = new_world(store)
    slug, (_, plan) = world.slug, write_a_plan(store, world)
    run("plans", "approve", slug, plan.plan_hash, "--by", "mara")
    run("apply", slug)
    kept, cell = next((i, w.cell) for i in plan.items for w in i.mutation.writes if w.cell.column == "invalidated_at")
    ask(store, f"UPDATE memory.{cell.table} SET invalidated_at = '2031-01-01Z' WHERE id = %s", cell.row)
    code, _, err = run("undo", slug, "last")
    assert (code, "--leave-changed" in err) == (2, True)
    code, out, _ = run("undo", slug, "last", "--leave-changed")
    assert (code, f"1 item stays applied, because rows have changed since: {kept.id[:8]}." in out) == (0, True)


def test_what_is_done_is_not_said_to_wait(store: Store, run: Run, tmp_path: Path) -> None:
    """A second apply, a second undo and an empty file have nothing to do, and say so in words of what stands."""
    review = asking(store)
    slug = review.world.slug
    run("plans", "approve", slug, review.plan.plan_hash, "--by", "mara")
    assert run("apply", slug)[1].splitlines()[0].endswith(f"completed: {len(review.decided)} applied.")
    code, _, err = run("apply", slug)
    assert (code, "is not approved" in err) == (2, False)
    assert f"It has {len(review.asked)} questions to answer: `slowwave plans show {slug}`" in err
    assert "Undoing" in run("undo", slug, "last")[1]
    out = run("undo", slug, "last")[1]
    assert ("Undoing" in out, "was left to undo" in out) == (False, True)
    (tmp_path / "none.jsonl").write_text("")
    assert run("import", "messages", str(tmp_path / "none.jsonl"))[1].endswith("holds no rows. Nothing was imported.\n")


def _break_a_chunk(store: Store) -> None:
    """An agent throws a chunk away and forgets who cites it."""
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.chunks SET invalidated_at = now() WHERE id = (SELECT id FROM memory.chunks ORDER BY id LIMIT 1)"
        )


def test_apply_failed_item_exits_1_and_is_applied_once_approved_again(store: Store, run: Run) -> None:
    """The reason is printed, the plan is called failed, and the item can be tried again (J26)."""
    world = new_world(store)
    item, *_ = archive_items(export_snapshot(store, world.slug))
    row = item.mutation.rows[0].id
    _, plan = write_a_plan(store, world, items=[item])
    with store.connect("owner") as owner:
        keep = f"ALTER TABLE memory.memories ADD CONSTRAINT keep CHECK (id <> '{row}' OR state <> 'archived')"
        owner.execute(keep.encode())
    assert run("plans", "approve", world.slug, plan.plan_hash, "--by", "mara")[0] == 0
    code, out, _ = run("apply", world.slug)
    assert (code, f"Item {item.id} failed" in out, "violates check constraint" in out) == (1, True, True)
    assert f"plans approve {world.slug} {plan.plan_hash[:12]} --items {item.id}" in " ".join(out.split())
    assert "undo" not in out, "nothing was applied"
    (listed,) = json.loads(run("plans", "list", world.slug, "--json")[1])
    assert listed["state"] == json.loads(run("plans", "show", world.slug, "--json")[1])["state"] == "failed"
    code, _, err = run("apply", world.slug)
    assert (code, f"--items {item.id}" in err) == (2, True)
    assert run("plans", "approve", world.slug, plan.plan_hash, "--by", "mara")[0] == 2, "only by its name"

    with store.connect("owner") as owner:
        owner.execute("ALTER TABLE memory.memories DROP CONSTRAINT keep")
    assert run("plans", "approve", world.slug, plan.plan_hash, "--items", item.id[:8], "--by", "mara")[0] == 0
    code, out, _ = run("apply", world.slug, "--json")
    (again,) = json.loads(out)
    assert (code, again["counts"]["applied"], again["failed"]) == (0, 1, [])
    assert ask(store, "SELECT state FROM memory.memories WHERE id = %s", row) == [("archived",)]
    assert json.loads(run("plans", "list", world.slug, "--json")[1])[0]["state"] == "applied"


def test_apply_some_items_failed_calls_the_plan_partly_applied(store: Store, run: Run) -> None:
    """The others are applied, and the exit code says that not all are."""
    world = new_world(store)
    victim, *others = archive_items(export_snapshot(store, world.slug))
    _, plan = write_a_plan(store, world, items=[victim, *others])
    with store.connect("owner") as owner:
        row = victim.mutation.rows[0].id
        owner.execute(
            f"ALTER TABLE memory.memories ADD CONSTRAINT keep CHECK (id <> '{row}' OR state <> 'archived')".encode()
        )
    night = NightPlan(world.slug, plan.plan_hash, store)
    night.approve("mara")
    done = night.apply()
    assert (done.counts["applied"], list(done.failed)) == (len(others), [victim.id])
    assert night.state == json.loads(run("plans", "list", world.slug, "--json")[1])[0]["state"] == "partly_applied"
