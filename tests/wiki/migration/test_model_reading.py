"""A model reads what the rules leave as evidence: strictly, within a budget, never twice, and never more than the page says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slowwave.models.endpoint import EndpointChat
from slowwave.models.panel import Budget, StoredAnswers
from slowwave.store.configured_models import WRITER
from slowwave.wiki.migration.pages import PageReader
from tests.endpoints import Server, completion
from tests.wiki.migration.folders import migrated, page

DIARY = page("daily", "Day", "Mara moved to Oslo on 2 May. The weather was fine.", date="2026-05-02")
STATEMENT = {
    "family": "person",
    "subject": "Mara",
    "kind": "person_fact",
    "statement": "Mara lives in Oslo.",
    "quote": "Mara moved to Oslo",
    "date": "2026-05-02",
    "confidence": "high",
}


class Reading:
    """A reader of a local model, with what it was asked and what was kept."""

    def __init__(self, *texts: str, budget: Budget | None = None) -> None:
        self.server = Server(lambda _, n: (200, completion(texts[min(n, len(texts)) - 1]), {}))
        self.kept: dict[str, str] = {}
        chat = EndpointChat(self.server.url, "reader", role=WRITER)
        answers = StoredAnswers(self.kept.get, lambda key, _, answer: self.kept.update({key: answer}))
        self.reader = PageReader(chat, replace(budget or Budget(), answers=answers))

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()


def said(*statements: dict[str, Any]) -> str:
    return json.dumps({"statements": list(statements)})


def test_what_a_model_reads_is_for_a_person_to_look_at(tmp_path: Path) -> None:
    """It rests on words of the page; the page is data in the question; pages that the rules understood are not asked about."""
    files = {"logs/daily/2026-05-02.md": DIARY, "people/jo.md": page("person", "Jo", "Jo rows.")}
    with Reading(
        said(STATEMENT, {**STATEMENT, "statement": "Mara is rich.", "quote": "Mara inherited a bank"})
    ) as model:
        found = migrated(tmp_path, files, model.reader)
        assert len(model.server.requests) == 1
        assert json.loads(model.server.requests[0]["messages"][1]["content"])["page"] == DIARY
        subjects = {str(s.plan.subject.ref): s for s in found.audited.subjects}
        assert [claim.statement for claim in subjects["person:mara"].plan.claims] == ["Mara lives in Oslo."]
        assert subjects["person:mara"].plan.level == "medium"
        assert (found.audited.verdict, found.audited.repaired) == ("review", ())


def test_an_answer_is_not_asked_for_twice(tmp_path: Path) -> None:
    """A run that was ended is taken up: the same plan, and no call."""
    with Reading(said(STATEMENT)) as model:
        first = migrated(tmp_path, {"logs/daily/2026-05-02.md": DIARY}, model.reader)
        second = migrated(tmp_path, {}, model.reader)
        assert len(model.server.requests) == 1
        assert (second.run_id, second.audited) == (first.run_id, first.audited)
        assert (model.reader.asked, model.reader.reused) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [
        "I think that Mara lives in Oslo.",
        said({**STATEMENT, "kind": "gossip"}),
        said({**STATEMENT, "extra": "x"}),
        json.dumps({"statements": [STATEMENT], "more": 1}),
        said({**STATEMENT, "subject": 3}),
        said({k: v for k, v in STATEMENT.items() if k != "quote"}),
    ],
)
def test_an_answer_of_another_form_leaves_the_page_as_evidence(answer: str, tmp_path: Path) -> None:
    """It is told in the report, and the run goes on."""
    with Reading(answer) as model:
        (found,) = migrated(tmp_path, {"logs/daily/2026-05-02.md": DIARY}, model.reader).pages
        assert (found.resolution, bool(found.problem)) == ("evidence_only", True)


def test_dory_a_budget_that_is_spent_and_a_model_that_is_down_degrade(tmp_path: Path) -> None:
    """Nothing is asked beyond the budget; a server that is gone costs its page alone."""
    files = {"logs/daily/2026-05-02.md": DIARY}
    with Reading(said(STATEMENT), budget=Budget(per_run=10)) as model:
        (found,) = migrated(tmp_path, files, model.reader).pages
        assert (found.problem, model.server.requests) == ("the token budget was spent", [])
    with Reading(said(STATEMENT)) as model:
        model.server.close()
        (found,) = migrated(tmp_path, files, model.reader).pages
        assert (found.resolution, found.problem) == ("evidence_only", "the model gave no answer (unreachable)")
