"""The benchmark of models: a stub endpoint that knows the answers finds what the rules miss, and one that errs is counted as wrong."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import model
from benchmarks.model import LabelledPair, compare, sets
from slowwave.models.endpoint import Answer
from slowwave.store.settings import Settings
from tests.endpoints import Server, completion

CHANGED = LabelledPair("Mara commutes by bike through the park.", "Mara takes the tram to the office.", True)
BOTH = LabelledPair("The office has a canteen on the roof.", "The office has a garden behind the canteen.", False)
FLAGGED = LabelledPair("The build takes 12 minutes.", "The build takes 21 minutes.", True)

Knows = Callable[[Mapping[str, Any]], str]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Two models at a local server, which the environment names; they label what has a tram in it as changed."""
    server = Server(
        lambda body, _: (200, completion(answer(body, lambda text: "changed" if "tram" in text else "both")), {})
    )
    monkeypatch.setenv("SLOWWAVE_JUDGE_ENDPOINT", server.url)
    monkeypatch.setenv("SLOWWAVE_JUDGE_MODELS", '["first", "second"]')
    yield server
    server.close()


def answer(body: Mapping[str, Any], label: Callable[[str], str]) -> str:
    """The answer of a model that labels by the texts and quotes them whole."""
    line = body["messages"][1]["content"].split("\n")[1]
    sides = json.loads(line)
    return json.dumps({"label": label(line), "quote_a": sides["a"]["text"], "quote_b": sides["b"]["text"]})


def test_models_are_counted_beside_the_rules(endpoint: Server) -> None:
    """The rules find one conflict of two; the models find the other, are not asked about the first, and cost 100 tokens an answer."""
    found = compare([CHANGED, BOTH, FLAGGED], Settings())
    assert (found.pairs, found.conflicts, found.found, found.wrong) == (3, 2, 1, 0)
    assert (found.found_with, found.wrong_with, found.asked, found.tokens) == (2, 0, 2, 400)


def test_wrong_answers_are_counted(endpoint: Server) -> None:
    """Models that label everything as changed ask about what may both hold."""
    endpoint.answer = lambda body, _: (200, completion(answer(body, lambda _: "changed")), {})
    found = compare([CHANGED, BOTH, FLAGGED], Settings())
    assert (found.found, found.wrong, found.found_with, found.wrong_with) == (1, 0, 2, 1)


def write_sets(folder: Path) -> Path:
    """Small sets in the form of the development data."""
    for name in ("contradictions_dev", "memorybank", "clusters_dev"):
        (folder / name).mkdir()
    rows = [{"a": p.a, "b": p.b, "label": "contradiction" if p.conflict else "entailment"} for p in (CHANGED, BOTH)]
    (folder / "contradictions_dev" / "fever_symmetric_dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    turn = {"role": "user", "content": "My sister bought 3 wonderful paintings in Paris and is happy."}
    (folder / "memorybank" / "messages.jsonl").write_text(json.dumps(turn))
    with (folder / "clusters_dev" / "clinc150_val.csv").open("w", newline="") as file:
        written = csv.writer(file)
        written.writerows(
            [("text", "cluster"), ("book a flight to Rome", "fly"), ("what time is it", ""), ("fly me to Rome", "fly")]
        )
    return folder


def test_sets_are_labelled_by_their_sources(tmp_path: Path) -> None:
    """A retold sentence conflicts if it is denied or has another number or name; requests of one intent never do."""
    found = sets(write_sets(tmp_path), 50)
    assert sorted(pair.conflict for pair in found["contradictions_dev"]) == [False, True]
    retold = {pair.b: pair.conflict for pair in found["memorybank, retold"]}
    assert any(" not " in text and conflict for text, conflict in retold.items())
    assert not retold["Note: My sister bought 3 wonderful paintings in Paris and is happy."]
    (intent,) = found["clusters_dev, requests of one intent"]
    assert ({intent.a, intent.b}, intent.conflict) == ({"book a flight to Rome", "fly me to Rome"}, False)
    assert len(found["changed facts of this repository"]) == 50
    assert sets(tmp_path, 50) == found


def write_turns(folder: Path) -> Path:
    """Two people who each say five things in one week, and one of them twice."""
    said = [
        "I sold 12 hens in Porto.",
        "I repaired the barn.",
        "I do not sell ducks.",
        "I ordered 40 kg of corn.",
        "I met Otto Beck. I repaired the barn.",
    ]
    rows = [
        {"namespace": who, "role": "user", "created_at": f"2026-03-0{day}T09:00:00+00:00", "content": text}
        for who in ("ana", "bo")
        for day, text in enumerate(said, 2)
    ]
    (folder / "memorybank").mkdir()
    (folder / "memorybank" / "messages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_drafts_are_counted_by_operation_and_check(tmp_path: Path) -> None:
    """A faithful writer drafts a reflection for each person; one that invents a number has every draft discarded; tokens are the calls'."""
    own = model.people(write_turns(tmp_path), 2)
    none = model.drafted("weekly_reflections", own, Settings(), None)
    assert (none.calls, none.proposed, none.tokens) == (0, 0, 0)
    assert none.live[0] == none.live[1]
    kept = model.drafted("weekly_reflections", own, Settings(), model.Trimmer())
    assert (kept.calls, kept.proposed, kept.discarded) == (2, 2, {})
    assert kept.tokens > 0
    assert kept.live[1] > kept.live[0]
    assert kept.recall[0] == kept.recall[1] == 1

    class Inventor(model.Trimmer):
        def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
            found = super().ask(system, user, schema, max_tokens)
            return Answer(found.text.replace("12", "13"), found.tokens)

    lost = model.drafted("weekly_reflections", own, Settings(), Inventor())
    assert (lost.calls, lost.proposed, lost.discarded) == (2, 0, {"says what no cited memory says": 2})


def test_the_command_prints_drafts_of_an_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without judges only the drafts are measured; the stub server trims as ``--trim`` does."""
    trimmer = model.Trimmer()

    def reply(body: Mapping[str, Any], _: int) -> tuple[int, Any, dict[str, str]]:
        system, user = (message["content"] for message in body["messages"])
        return 200, completion(trimmer.ask(system, user, {}, 0).text), {}

    server = Server(reply)
    monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", server.url)
    monkeypatch.setenv("SLOWWAVE_CONSOLIDATION_MODEL", "scribe")
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(sys, "argv", ["model", str(write_turns(tmp_path)), "--price", "5"])
    model.main()
    server.close()
    rows = [line for line in capsys.readouterr().out.splitlines() if "weekly_reflections" in line]
    cells = [[cell.strip() for cell in row.split("│")][2:8] for row in rows]
    assert cells == [["none", "0", "0", "–", "0", "0.0000"], ["scribe", "2", "2", "–", "200", "0.0010"]]


def test_the_command_prints_tokens_and_cost(
    endpoint: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with a row for each set; without a model it refuses."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["model", str(write_sets(tmp_path)), "--pairs", "2", "--price", "5"])
    model.main()
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "contradictions_dev" in line)
    assert [cell.strip() for cell in row.split("│")][2:9] == ["2", "1", "0 / 0", "1 / 0", "2", "400", "0.0020"]
    assert "clusters_dev" in out
    monkeypatch.setenv("SLOWWAVE_JUDGE_MODELS", "[]")
    with pytest.raises(SystemExit):
        model.main()
    assert "SLOWWAVE_JUDGE_MODELS" in capsys.readouterr().err
