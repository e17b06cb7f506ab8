"""The story that docs/claims.md tells: an agent over MCP remembers, contradicts and corrects itself and forgets; then a night."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client, StdioServerParameters

from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ask, remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.corpus.pages import text_of

DOCS: Final = Path(__file__).parents[3] / "docs" / "claims.md"
ORDER: Final = ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH")


def calls() -> list[tuple[str, dict[str, Any], str]]:
    """(tool, arguments, what it answers) of the section of the page."""
    section = DOCS.read_text().split("## An agent over MCP")[1].split("```")[1]
    found = re.findall(r"^([a-z_]+) (\{.*\})\n((?:  .*\n)+)", section, re.MULTILINE)
    assert len(found) == 10, "every call of the page, each with its answer"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return [(t, json.loads(asked), " ".join(answer.split()).replace("DAY", today)) for t, asked, answer in found]


def named(value: Any, claims: list[str]) -> Any:
    """Arguments with the ids of claims in place of the words by which the page names them."""
    if isinstance(value, list):
        return [named(one, claims) for one in value]
    return claims[ORDER.index(value)] if value in ORDER else value


def talked(program: Path, environment: dict[str, str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Make the calls of the page by the official client; the claims that were stored, and all answers."""

    async def talk() -> tuple[list[str], list[dict[str, Any]]]:
        command = StdioServerParameters(command=str(program), args=["mcp", "harbour"], env=environment)
        claims: list[str] = []
        answers: list[dict[str, Any]] = []
        async with Client(command) as client:
            for tool, asked, expected in calls():
                told = await client.call_tool(tool, {k: named(v, claims) for k, v in asked.items()})
                text = told.content[0].text
                assert not told.is_error, text
                answers.append(json.loads(text) if text.startswith("{") else {"text": text})
                said = answers[-1].get("message") or "; ".join(
                    f"{c['statement'] or '(forgotten)'} {c['status']}" for c in answers[-1].get("claims", ())
                )
                assert (said or answers[-1].get("status") or text) == expected
                if claim := answers[-1].get("claim_id"):
                    claims.append(claim)
        return claims, answers

    return anyio.run(talk)


def test_an_agent_remembers_contradicts_and_corrects_itself_and_forgets(store: Store, run: Run, programs: Path) -> None:
    """Each answer as the page has it; then the page, the claims, why, history, and the next night's plan, undone to the first digest."""
    told = {f"note {n}": f"Berth {n} was swept on day {n} of the season." for n in range(40)}
    remember(
        store,
        "harbour",
        {"operations": {"canonical_pages": {"min_claims": 1}}},
        memories=[{"id": n, "kind": "semantic", "current_version_id": f"v {n}"} for n in told],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": text} for n, text in told.items()],
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    claims, answers = talked(programs / "slowwave", {**kept, "SLOWWAVE_DATABASE_URL": store.logins["server"]})
    assert [len(a.get("conflicts_with", ())) for a in answers[:4]] == [0, 0, 1, 0]
    assert answers[1]["claim_id"] == answers[0]["claim_id"], "said again, not twice"
    assert set(answers[3]["replaced"]) == {claims[0], claims[2]}
    held = {"versions": 1, "evidence": 1, "snapshots": 0, "memories": 0, "passages": 0, "plans": 0}
    assert answers[6]["still_held"] == held
    first = digest(store, "harbour")

    code, out, _ = run("why", "harbour", claims[0])
    assert (code, "The review of Rowan takes 40 days." in out) == (0, True)
    assert (
        "stated again" in out,
        "contradicted" in out,
        "Measured in May." in out,
        "over mcp" in out or "mcp" in out,
    ) == (
        *(True, True, True),
        True,
    )
    code, out, _ = run("history", "harbour", "Rowan")
    assert (code, out.count(" replaced ") >= 2, f"replaced by {claims[3][:8]}" in out) == (0, True, True)
    code, out, _ = run("history", "harbour", "Mara Lind")
    assert (code, "pot" in out, "forgotten on" in out, "She asked for it" in out) == (0, False, True, True)

    code, out, _ = run("night", "harbour", "--ops", "canonical_pages")
    assert (code, "awaiting approval" in out) == (0, True), out
    code, out, _ = run("plans", "diff", "harbour")
    assert (code, bool(re.search(r"\+ .*The review of Rowan takes 60 days\.", out)), "spare key" in out) == (
        0,
        True,
        False,
    ), out
    ((plan_hash,),) = ask(store, "SELECT plan_hash FROM night.plans WHERE state = 'awaiting_approval'")
    code, _, refused = run("plans", "approve", "harbour", str(plan_hash), "--by", "mara")
    assert code == 0, refused
    assert re.search(r"completed: \d+ applied\.\n", run("apply", "harbour")[1])
    page = text_of(store, "projects/rowan/state.md")
    assert "The review of Rowan takes 60 days. [" in page
    assert "takes 40 days. (ended)" in page
    assert not ask(
        store, "SELECT 1 FROM memory.documents WHERE invalidated_at IS NULL AND content LIKE '%%spare key%%'"
    )
    assert run("undo", "harbour", "last")[0] == 0
    assert digest(store, "harbour") == first
