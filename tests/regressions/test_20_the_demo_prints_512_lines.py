"""Line 20: `make demo` printed 512 lines, and what to do next had scrolled away.

Three namespaces, and for each of them every audit, every planner and every planted problem in tables that were four lines a row.
"""

from __future__ import annotations

import re
import shlex

import pytest

import slowwave.surfaces.demo
from slowwave.store.connect import Store
from slowwave.surfaces.cli import demo, session
from slowwave.surfaces.demo.world import NAMESPACES
from tests.dreamers import forgetful
from tests.surfaces.cli.conftest import Run

MOST = 25
PROBLEMS = 17


@pytest.fixture
def small(store: Store, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The demo's namespaces under their names, with little in them, and as many problems planted as in the real ones."""
    slugs = tuple(NAMESPACES)
    for slug in slugs:
        forgetful(store, slug, 3)
    monkeypatch.setattr(
        slowwave.surfaces.demo, "load_demo", lambda *_, **__: {"namespaces": 3, "memories": 975, "entities": 496}
    )
    score = {"planted": 24, "found": 24, "false": 1, "note": "groups, 50 rows in all; 0 more wait for review"}
    monkeypatch.setattr(
        demo, "score_night", lambda _: [{"problem": f"problem number {n}", **score} for n in range(PROBLEMS)]
    )
    return slugs


def test_the_demo_fits_a_screen_and_ends_with_what_to_do(store: Store, run: Run, small: tuple[str, ...]) -> None:
    """At most 25 lines; every namespace with its plan; the last line is a command, and it works."""
    del store
    code, out, _ = run("demo")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) <= MOST, out
    for slug in small:
        assert slug in out
    last = lines[-1].strip()
    assert re.fullmatch(r"slowwave plans approve \S+ [0-9a-f]{12} --by YOUR-NAME", last), last
    assert run(*shlex.split(last.replace("YOUR-NAME", "mara"))[1:])[0] == 0


@pytest.mark.parametrize("installed", [True, False])
def test_demo_and_plans_suggest_the_review_page_only_if_it_is_installed(
    store: Store, run: Run, small: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    """Without the extra ``serve`` the questions are answered in the terminal."""
    del store
    monkeypatch.setattr(session, "has_review_packages", lambda: installed)
    shown = run("demo")[1] + "".join(run("plans", "show", slug)[1] for slug in small) + run("night", "ALL")[1]
    pages = re.findall(r"^  slowwave review .*$", shown, re.MULTILINE)
    assert bool(pages) == installed
    assert all(page.endswith(" --by YOUR-NAME") for page in pages)


def test_all_of_it_is_there_for_who_asks(store: Store, run: Run, small: tuple[str, ...]) -> None:
    """`--verbose` prints what audits, planners and probes say."""
    del store, small
    code, out, _ = run("demo", "--verbose")
    assert code == 0
    for name in ("census", "gc_references", "probe:", "problem number 16"):
        assert name in out
