"""Line 19: what was printed to approve a plan was refused when a probe had failed.

`plans show` and `why` printed `plans approve … --by YOUR-NAME` for a plan that takes `--force` and a note, and a plan of which
only review items were left, or that nobody may decide any more, got the same command: each was refused as printed.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import slowwave.night.night
import slowwave.surfaces.demo
from slowwave.store.connect import Store
from slowwave.surfaces.cli import demo as demo_command
from tests.dreamers import OPS, forgetful
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.surfaces.cli.conftest import Run

PROBE = "Recall@10 fell by 0.2."
Surface = Callable[[Store, Run, pytest.MonkeyPatch], str]
"""Makes a plan, and gives what a surface prints of it."""


def printed(text: str) -> list[str]:
    """The commands in what was printed, in their order, with a name of somebody's; one in which a person writes an id is left out."""
    text = text.replace("--by YOUR-NAME", "--by mara")
    found = re.findall(r"(slowwave (?:[a-z-]+ )*[a-z-]+ [^`\n]*[^`\s.,;])", text)
    return [line for line in dict.fromkeys(found) if not re.search(r"\b(ITEM|RUN|HASH)\b", line)]


def ledger_plan(store: Store, failed: Sequence[str]) -> tuple[str, Any]:
    """A plan in the ledger: its namespace and the plan."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, needs_force=failed)
    return world.slug, plan


def show(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``plans show`` of a plan whose probe failed."""
    del patch
    slug, _ = ledger_plan(store, [PROBE])
    return run("plans", "show", slug)[1]


def show_reviews(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``plans show`` when only items for review are left."""
    del patch
    slug, plan = ledger_plan(store, [])
    approve(store, slug, plan.plan_hash, approver="mara")
    return run("plans", "show", slug)[1]


def show_rejected(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``plans show`` of a plan that was superseded."""
    del patch
    slug, plan = ledger_plan(store, [])
    ask(store, "UPDATE night.plans SET state = 'superseded' WHERE plan_hash = %s", plan.plan_hash)
    return run("plans", "show", slug, plan.plan_hash)[1]


def why(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``why`` of an item of a plan whose probe failed."""
    del patch
    slug, plan = ledger_plan(store, [PROBE])
    return run("why", slug, plan.items[0].id)[1]


def apply_unapproved(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``apply`` when the plan waits."""
    del patch
    slug, _ = ledger_plan(store, [PROBE])
    return run("apply", slug)[2]


def failing_night(store: Store, patch: pytest.MonkeyPatch) -> str:
    """A namespace whose nights fail a probe."""
    prove = slowwave.night.night.prove

    def failing(*args: Any, **more: Any) -> Any:
        plan, probes, *rest = prove(*args, **more)
        return (plan, replace(probes, needs_force=(PROBE,)), *rest)

    patch.setattr(slowwave.night.night, "prove", failing)
    ((number,),) = ask(store, "SELECT count(*) FROM memory.namespaces")
    return forgetful(store, f"acme-{number}", 3)


def night(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``night``."""
    return run("night", failing_night(store, patch), "--ops", OPS)[1]


def dream_now(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """The message of ``slowwave.dream_now``."""
    del run
    return slowwave.dream_now(failing_night(store, patch), "a test", ops=OPS, store=store).message


def demo(store: Store, run: Run, patch: pytest.MonkeyPatch) -> str:
    """``demo``, with one small namespace in place of its three."""
    slug = failing_night(store, patch)
    patch.setattr(slowwave.surfaces.demo, "NAMESPACES", (slug,))
    patch.setattr(slowwave.surfaces.demo, "load_demo", lambda *_, **__: {})
    patch.setattr(demo_command, "score_night", lambda _: [])
    return run("demo")[1]


@pytest.mark.parametrize(
    ("surface", "least"),
    [
        *((show, 3), (show_reviews, 2), (show_rejected, 1), (why, 2), (apply_unapproved, 1)),
        *((night, 1), (dream_now, 1), (demo, 2)),
    ],
    ids=lambda part: part.__name__ if callable(part) else "",
)
def test_what_is_printed_runs_as_it_is_printed(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch, surface: Surface, least: int
) -> None:
    """Each command on a plan of its own, word for word; only the name and the reason stand for somebody's own."""
    monkeypatch.setattr("sys.stdin", io.StringIO())  # who asks in the terminal leaves at the end of a pipe
    monkeypatch.setattr("slowwave.wiki.serving.http_app.answer", lambda *_: None)  # a page is served until it is ended
    monkeypatch.setattr("slowwave.surfaces.cli.serve.PORT", 0)  # another page may run on this machine
    place, total = 0, 1
    while place < total:
        with monkeypatch.context() as patch:
            patch.setattr(slowwave.night.night, "prove", slowwave.night.night.prove)
            commands = printed(surface(store, run, patch))
            total = len(commands)
            assert total >= least, commands
            code, _, err = run(*shlex.split(commands[place])[1:])
            assert code == 0, f"{commands[place]}: {err}"
        place += 1


@pytest.mark.parametrize("surface", [show, why, night, dream_now, demo])
def test_why_it_takes_force_is_said_first(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch, surface: Surface
) -> None:
    """Who is to override a probe has read what it found."""
    text = surface(store, run, monkeypatch)
    assert "--force" in text
    assert 0 <= text.index(PROBE) < text.index("--force")


def test_the_approve_link_asks_for_the_note() -> None:
    """The Launchpad is filled in for a plan that takes force: all but the reason and the name."""
    from urllib.parse import parse_qs, urlsplit

    from slowwave.dagster.events import approval_link
    from slowwave.dagster.layout import DEFAULT

    config = parse_qs(urlsplit(approval_link(DEFAULT, "acme", "ab" * 32, force=True)).query)["config"][0]
    assert [line.strip() for line in config.splitlines()[3:]] == [
        f'plan_hash: "{"ab" * 32}"',
        *("force: true", "note:", "approver:"),
    ]
