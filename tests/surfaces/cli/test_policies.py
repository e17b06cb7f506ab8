"""In the terminal: a rule that answers teach is accepted with r, listed, and revoked by the command that was printed."""

from __future__ import annotations

import io
import json
import re

import pytest

from slowwave.store.connect import Store
from tests.memories import ask
from tests.plans.review.reviews import asking_of_a_kind
from tests.plans.review.test_rules import TEN, answer, likeliest
from tests.surfaces.cli.conftest import Run


def test_answers_teach_a_rule_that_is_accepted_and_revoked(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = asking_of_a_kind(store, 14)
    answer(review, likeliest(review)[-TEN:])

    def said(*lines: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, text, problem = run("plans", "review", review.slug, "--by", "mara")
        assert code == 0, problem
        return text

    code, told, _ = run("plans", "review", review.slug, "--by", "mara", "--json")
    (rule,) = json.loads(told)["rules"]
    assert (code, rule["agreed"], rule["per_night"]) == (0, TEN, 3)
    assert "1 rule for the nights to come" in " ".join(said("q").split())
    assert "Not accepted" in said("r", "", "q")
    accepted = said("r", "y 2", "r", "q")
    assert ("Accepted: 2 a night" in accepted, "No rule yet" in accepted) == (True, True)
    assert ask(store, "SELECT accepted_by, per_night FROM night.policies") == [("mara", 2)]
    assert "policy of mara of" in run("policies", "list", review.slug)[1]
    (command,) = re.findall(r"slowwave (policies revoke \S+ \S+) --by", accepted)
    code, told, _ = run(*command.split(), "--by", "otto", "--reason", "two families")
    assert (code, "Revoked the policy of mara" in told) == (0, True)
    assert json.loads(run("policies", "list", "--json")[1])[0]["revoked_by"] == "otto"
    answer(review, likeliest(review)[-TEN:], "no")
    told = " ".join(said("r", "y", "q").split())
    assert ("10 of 10 answered no" in told, "nights reject such questions by themselves" in told) == (True, True)
    listed = " ".join(run("policies", "list", review.slug)[1].split())
    assert ("says yes" in listed, "says no" in listed, "rejected 0, 0 taken back · rejects" in listed) == (True,) * 3
    assert [(p["verdict"], p["approved"], p["rejected"]) for p in json.loads(run("policies", "list", "--json")[1])] == [
        ("yes", 0, 0),
        ("no", 0, 0),
    ]
