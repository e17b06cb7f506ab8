"""The program as a whole: every command speaks JSON, says its version, and what one command prints the next one runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer.main

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.main import app
from tests.nights import new_world, write_a_plan
from tests.regressions.test_19_printed_commands_are_refused import printed
from tests.surfaces.cli.conftest import Run

WITHOUT: set[str] = {"dev", "mcp", "metrics", "namespace graph", "review", "serve"}
"""Commands that print no data: they ask, or run until they are ended; ``metrics`` has the format of Prometheus."""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    group = getattr(command, "commands", None)
    if group is None:
        yield " ".join(path), command
        return
    for name in group:
        yield from leaves(group[name], (*path, name))


def test_every_command_that_prints_data_prints_it_as_json() -> None:
    """Those that do not are named here, and nothing else lacks the option."""
    lacking = {
        name
        for name, command in leaves(typer.main.get_command(app))
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert lacking == WITHOUT


def test_options_of_namespace_plan_and_person_are_the_same_everywhere() -> None:
    """A person is ``--by``; a plan is an argument; a namespace is one too, except where the imported file may name it."""
    commands = dict(leaves(typer.main.get_command(app)))
    options = {name: {opt for p in command.params for opt in p.opts} for name, command in commands.items()}
    assert {opt for found in options.values() for opt in found} & {
        "--plan",
        "--approver",
        "--as",
        "--reviewer",
    } == set()
    assert {name.split()[0] for name, found in options.items() if "--namespace" in found} == {"import"}
    helps = {p.help for command in commands.values() for p in command.params if "--by" in p.opts}
    assert all(text.startswith("Your name; it is recorded with") for text in helps)
    for name, command in commands.items():
        arguments = [p.name for p in command.params if not p.opts[0].startswith("--")]
        if "namespace" in arguments and name != "migrate":
            assert arguments[0] == "namespace", name
        if "plan" in arguments:
            assert arguments.index("plan") == len(arguments) - 1, name


def test_the_version_is_that_of_the_project(run: Run) -> None:
    """Before anything else, without a database."""
    (version,) = re.findall(
        r'^version = "(.+)"$', (Path(__file__).parents[3] / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert run("--version") == (0, f"slowwave {version}\n", "")


def test_statements_of_a_refusal_stand_each_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However narrow the terminal is: an administrator copies them."""
    statements = [f"GRANT slowwave_{role} TO app WITH INHERIT TRUE, SET TRUE" for role in ("reader", "planner")]
    monkeypatch.setattr(session, "width_of", lambda _: 40)
    assert session.fail(StoreError("This login may not create the roles. Let an administrator run:", *statements)) == 1
    assert [line.strip() for line in capsys.readouterr().err.splitlines()[-2:]] == [f"{one};" for one in statements]


@pytest.mark.parametrize("failed", [[], ["Recall@10 fell by 0.2."]])
def test_a_plan_is_followed_by_what_is_printed_alone(store: Store, run: Run, failed: list[str]) -> None:
    """From ``status`` to ``show``, its ``approve``, ``apply`` and ``undo``, word for word, with force where a probe failed."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, needs_force=failed)
    before = json.loads(run("namespace", "digest", world.slug, "--json")[1])
    text = run("status")[1]
    for verb in ("plans show", "plans approve", "apply", "undo"):
        (command, *_) = [line for line in printed(text) if line.startswith(f"slowwave {verb} ")]
        assert ("--force" in command) == (verb == "plans approve" and bool(failed))
        code, text, err = run(*shlex.split(command)[1:])
        assert code == 0, f"{command}: {err}"
    assert f"undid {len(plan.items) - 1} items" in text
    assert json.loads(run("namespace", "digest", world.slug, "--json")[1]) == before
    assert before["namespace"] == world.slug


def test_undo_takes_the_namespace_before_its_last_run(store: Store, run: Run) -> None:
    """``undo NS last``; an unknown namespace and a third word are refused."""
    world, other = new_world(store, 7), new_world(store, 8)
    for one in (world, other):
        _, plan = write_a_plan(store, one)
        run("plans", "approve", one.slug, plan.plan_hash, "--by", "mara")
        run("apply", one.slug)
    assert "slowwave undo [OPTIONS] [NAMESPACE] [TARGET]\n" in run("undo", "--help")[1]
    for wrong in ((world.slug, "last", "now"), ("nobody", "last")):
        assert run("undo", *wrong)[0] == 2
    done = json.loads(run("undo", world.slug, "last", "--json")[1])
    assert (done["namespace"], len(done["items"]) > 0) == (world.slug, True)
    assert run("undo", other.slug, done["undo_of"])[0] == 2
    assert json.loads(run("undo", other.slug, "last", "--json")[1])["namespace"] == other.slug


def test_a_mistyped_name_is_answered_with_the_nearest(store: Store, run: Run) -> None:
    """F33: namespaces, operations, plans and items, in every command that takes one; a store without namespaces names what makes one."""
    code, _, err = run("remember", "harbour", "The crane is out.", "--subject", "Crane")
    assert (code, "no other one yet. `slowwave demo`" in err) == (2, True)
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    slug, hash_, item = world.slug, plan.plan_hash, plan.items[0].id
    mistyped = {text: text[:3] + ("0" if text[3] != "0" else "1") + text[4:8] for text in (hash_, item)}
    for arguments, meant in (
        (("night", "all"), "ALL"),
        *((("night", f"{slug}x"), slug), (("status", f"{slug}x"), slug), (("namespace", "show", f"{slug}x"), slug)),
        *((("namespace", "set", f"{slug}x", "enabled=false"), slug), (("runs", "list", f"{slug}x"), slug)),
        *((("search", f"{slug}x", "crane"), slug), (("namespace", "digest", f"{slug}x"), slug)),
        (("night", slug, "--ops", "dedup_entities"), "dedupe_entities"),
        (("policies", "accept", slug, "dedup_memories", "--by", "mara"), "dedupe_memories"),
        (("plans", "show", slug, mistyped[hash_]), hash_[:8]),
        (("why", slug, mistyped[item]), item[:8]),
        (("plans", "approve", slug, hash_, "--items", mistyped[item], "--by", "mara"), item[:8]),
    ):
        code, _, err = run(*arguments)
        assert (code, f"Did you mean {meant}?" in err) == (2, True), (arguments, err)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("night", "acme", "--jbos", "2"), "--jbos"),
        (("night",), "NAMESPACE"),
        (("nihgt", "acme"), "nihgt"),
        (("runs", "list", "acme", "--limit", "many"), "--limit"),
        (("runs", "list", "acme", "--limit", "0"), "--limit"),
    ],
)
def test_usage_error_is_json_with_json(run: Run, arguments: tuple[str, ...], named: str) -> None:
    """Standard output has the error as that of every other failure; without --json it has nothing. The text is the same."""
    code, out, text = run(*arguments)
    assert (code, out, named in text) == (2, "", True)
    code, out, err = run(*arguments, "--json")
    found = json.loads(out)
    assert (code, err) == (2, text)
    assert (found["kind"], found["exit_code"], found["statements"], named in found["error"]) == ("usage", 2, [], True)


@pytest.mark.parametrize(
    "arguments", [("status",), ("doctor",), ("migrate",), ("night", "ALL"), ("runs", "list", "acme")]
)
def test_login_without_rights_gets_the_statement_that_it_lacks(
    postgres: server.Server, database: str, store: Store, arguments: tuple[str, ...]
) -> None:
    """A plain login in a database that another one migrated: one sentence and the GRANT, no traceback, nothing changed."""
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        admin.execute("CREATE ROLE stranger LOGIN PASSWORD 'x'")
        try:
            ran = subprocess.run(
                [sys.executable, "-c", "from slowwave.surfaces.cli.main import main; main()", *arguments],
                env={"PATH": "", "COLUMNS": "400", "SLOWWAVE_DATABASE_URL": postgres.url(database, "stranger", "x")},
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            admin.execute("DROP ROLE stranger")
    shown = ran.stdout + ran.stderr
    assert ran.returncode in (1, 2)
    assert "The login stranger has no rights on the schema night" in shown
    assert "GRANT slowwave_owner TO stranger;" in shown
    assert "Traceback" not in shown
    assert "Install a version" not in shown


def test_full_disk_is_no_ended_connection(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that the database has no room for says so, and the connection is not blamed."""

    def full(*_: object) -> None:
        raise psycopg.errors.DiskFull('could not extend file "base/5/16408": No space left on device')

    monkeypatch.setattr("slowwave.night.status.read_namespace_status", full)
    code, _, problem = run("status")
    assert (code, "has no room: could not extend" in problem, "connection" in problem) == (1, True, False)
