"""In the terminal: a rule that answers teach is accepted with r, listed, and revoked by the command that was printed."""

from __future__ import annotations

import io
import json
import re

import pytest

from slowwave.store.connect import Store
from tests.memories import ask, remember
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
    assert "1 rule for later nights" in " ".join(said("q").split())
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
    assert ("answers yes" in listed, "answers no" in listed, "rejected 0, 0 undone · rejects" in listed) == (True,) * 3
    assert [(p["verdict"], p["approved"], p["rejected"]) for p in json.loads(run("policies", "list", "--json")[1])] == [
        ("yes", 0, 0),
        ("no", 0, 0),
    ]


def test_policy_for_low_risk_changes_is_accepted_listed_and_revoked(store: Store, run: Run) -> None:
    """The former setting is reported with this command."""
    remember(store, "acme", {"auto_approve": ["gc_references"]}, memories=[])
    assert "slowwave policies accept NAMESPACE OPERATION --by NAME" in run("status")[2].replace("\n", " ")
    accept = ("policies", "accept", "acme", "gc_references", "archive_stale", "--per-night", "40")
    code, _, problem = run(*accept)
    assert (code, "--by NAME" in problem) == (2, True)
    assert "setting is not a person" in run(*accept, "--by", "setting")[2]
    assert "makes no low-risk change" in run("policies", "accept", "acme", "purge_expired", "--by", "mara")[2]
    code, out, _ = run(*accept, "--by", "mara")
    assert (code, "Accepted: Low-risk changes by archive_stale, gc_references, 40 a night" in out) == (0, True)
    assert "of this kind already" in run(*accept, "--by", "otto")[2]
    part = ("policies", "accept", "acme", "gc_references", "--by", "otto")
    assert "covers archive_stale, gc_references already: revoke it first" in run(*part)[2].replace("\n", " ")
    (command,) = re.findall(r"slowwave (policies revoke \S+ \S+) --by", out)
    assert "no questions, low risk · 40 a night at most · approved 0" in run("policies", "list", "acme")[1]
    assert run(*command.split(), "--by", "otto", "--reason", "too early")[0] == 0
    (shown,) = json.loads(run("policies", "list", "--json")[1])
    assert (shown["kind"], shown["revoked_by"]) == (
        {"operations": ["archive_stale", "gc_references"], "risk": "low"},
        "otto",
    )


def test_policy_is_accepted_for_all_namespaces_that_have_none(store: Store, run: Run) -> None:
    """A later namespace gets it when it is accepted again; a refusal accepts it nowhere."""
    for slug in ("acme", "beta"):
        remember(store, slug, memories=[])
    accept = ("policies", "accept", "ALL", "gc_references", "--by", "mara")
    assert run("policies", "accept", "beta", *accept[3:])[0] == 0
    assert run(*accept[:3], "purge_expired", *accept[4:])[0] == 2
    code, out, _ = run(*accept)
    assert (code, "Accepted for 1 namespace: low-risk changes by gc_references, 1,000 a night" in out) == (0, True)
    assert "1 namespace had the policy already." in out
    remember(store, "later", memories=[])
    assert [one["namespace"] for one in json.loads(run(*accept, "--json")[1])] == ["later"]
    assert run(*accept)[1] == "Every namespace has this policy already: low-risk changes by gc_references.\n"
    listed = json.loads(run("policies", "list", "--json")[1])
    assert sorted(one["namespace"] for one in listed) == ["acme", "beta", "later"]
