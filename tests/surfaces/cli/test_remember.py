"""``slowwave remember``, ``forget``, ``history NS SUBJECT`` and ``why NS CLAIM``: what agents do, by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slowwave.store.connect import Store
from tests.memories import remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.corpus.pages import put


@pytest.fixture
def acme(store: Store) -> Store:
    """A namespace that knows nothing yet."""
    remember(store, "acme")
    return store


def test_a_statement_from_its_beginning_to_its_end(acme: Store, run: Run) -> None:
    """Remembered, contradicted, corrected, asked for, forgotten; the words of memory are no markup."""
    code, out, _ = run(
        "remember",
        "acme",
        "[bold]The review[/] takes 40 days.",
        "--subject",
        "Rowan",
        "--scope",
        "project",
        "--agent",
        "mara",
    )
    assert code == 0
    assert "written · project:rowan" in out
    code, out, _ = run("remember", "acme", "[bold]The review[/] takes 50 days.", "--subject", "Rowan", "--json")
    against = json.loads(out)
    (other,) = against["conflicts_with"]
    code, out, _ = run(
        "remember",
        "acme",
        "[bold]The review[/] takes 60 days.",
        "--subject",
        "Rowan",
        "--replace",
        "--claim",
        other[:8],
        "--reason",
        "Measured.",
    )
    assert code == 0
    assert "replaced · project:rowan" in out
    assert "[bold]The review[/] takes 40 days." in out
    code, out, _ = run("history", "acme", "Rowan")
    assert code == 0
    assert "Rowan (project:rowan)" in out
    assert ": Measured" in out
    assert "replaced by" in out
    code, out, _ = run("why", "acme", other[:8])
    assert code == 0
    assert other in out
    assert "sources/semantic/" in out
    assert "[bold]The review[/] takes 40 days." in out
    assert json.loads(run("why", "acme", other, "--json")[1])["status"] == "replaced"
    code, out, _ = run("forget", "acme", "Rowan", "--dry-run")
    assert (code, "3 statements would be forgotten" in out) == (0, True)
    code, out, _ = run("forget", "acme", "Rowan", "--reason", "Over.")
    assert (code, "3 statements forgotten" in out) == (0, True)
    out = run("history", "acme", "Rowan")[1]
    assert "(forgotten)" in out
    assert "review" not in out


def test_what_is_refused_has_the_code_of_a_refusal(acme: Store, run: Run) -> None:
    """A subject that nobody knows, one in doubt, a field that cannot be, an id of nobody."""
    code, out, _ = run("remember", "acme", "It is late.", "--subject", "Nobody")
    assert (code, "Nothing was stored" in out) == (2, True)
    assert run("forget", "acme", "Nobody")[0] == 2
    assert run("remember", "acme", "It is late.", "--subject", "Nobody", "--kind", "rumour")[0] == 2
    assert run("history", "acme", "Nobody")[0] == 2
    assert run("why", "acme", "0123abcd")[0] == 2
    code, _, err = run("forget", "acme", "Nobody", "--claim", "0123abcd")
    assert (code, "is no claim of acme" in err) == (2, True)


def test_the_inbox_needs_no_subject(acme: Store, run: Run) -> None:
    code, out, _ = run("remember", "acme", "Ask Mara.", "--inbox")
    assert (code, "inbox/semantic/" in out) == (0, True)


def test_forget_plans_to_delete_stored_rows_and_a_subject_names_that_command(
    acme: Store, run: Run, tmp_path: Path
) -> None:
    """J23, J24: ending claims says where else the subject is stored; the plan is shown, approved and applied like any other."""
    file = tmp_path / "notes.jsonl"
    rows = [
        {"id": "m1", "text": "Rowan Quillfeather has the boat key."},
        {"id": "m2", "text": "The ferry leaves at seven."},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert run("import", "memories", str(file), "--namespace", "acme")[0] == 0
    assert (
        run("remember", "acme", "Rowan Quillfeather is kind.", "--subject", "Rowan Quillfeather", "--scope", "person")[
            0
        ]
        == 0
    )
    out = " ".join(run("forget", "acme", "Rowan Quillfeather")[1].split())
    assert "1 other memory names" in out
    assert "forget acme --entity 'Rowan Quillfeather'" in out
    assert run("forget", "acme", "Rowan", "--match", "boat")[0] == 2
    assert run("forget", "acme", "--match", "boat", "--dry-run")[0] == 2
    assert run("forget", "acme")[0] == 2
    code, out, _ = run("forget", "acme", "--match", "boat key", "--json")
    plan = json.loads(out)
    assert (code, plan["rows"]["memories"], "cannot be undone" in plan["message"]) == (0, 1, True)
    shown = run("plans", "diff", "acme", plan["plan_hash"])[1]
    assert "Rowan Quillfeather has the boat key." in shown
    assert "cannot be undone" in " ".join(shown.split())
    assert run("plans", "approve", "acme", plan["plan_hash"], "--by", "mara", "--force", "--note", "Asked.")[0] == 0
    assert "1 applied" in run("apply", "acme")[1]
    code, _, err = run("undo", "acme", "last")
    assert (code, "forgot rows for good" in " ".join(err.split())) == (2, True)
    assert (
        "left out 1 row that a plan forgot for good" in run("import", "memories", str(file), "--namespace", "acme")[2]
    )


def test_forget_text_lists_the_pages_that_the_plan_deletes(acme: Store, run: Run) -> None:
    """J23: before approval, in both forms of output and in the diff of the plan."""
    page = "Ada Moss keeps the key."
    put(acme, target="people/ada.md", content=page, frontmatter={"title": "Ada", "type": "person"})
    code, out, _ = run("forget", "acme", "--match", "ada moss", "--json")
    asked = json.loads(out)
    assert (code, asked["pages"], asked["edited"], asked["histories"]) == (0, ["people/ada.md"], [], [])
    assert asked["rows"]["documents"] == 1
    code, out, _ = run("forget", "acme", "--match", "ada moss")
    assert "deletes the page people/ada.md." in out
    assert "cannot be undone" in out
    code, out, _ = run("plans", "diff", "acme", asked["plan_hash"][:12])
    assert (code, "people/ada.md" in out, page in out) == (0, True, True)


def test_diff_and_apply_of_a_large_erasure_list_all_and_offer_no_undo(run: Run, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    rows = [{"id": f"m{n}", "text": f"Ada Moss has boat number {n}."} for n in range(100, 160)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert run("import", "memories", str(file), "--namespace", "acme")[0] == 0
    out = " ".join(run("forget", "acme", "--match", "ada moss")[1].split())
    (hash_,) = re.findall(r"plans diff acme (\w+) --all", out)
    assert "more lines" in run("plans", "diff", "acme", hash_)[1]
    shown = run("plans", "diff", "acme", hash_, "--all")[1]
    assert "more lines" not in shown
    assert all(f"boat number {n}." in shown for n in range(100, 160))
    shown = " ".join(run("plans", "show", "acme", hash_)[1].split())
    assert "Nothing is lost" not in shown
    assert re.search(r"\d+ rows are deleted for good", shown)
    assert run("plans", "approve", "acme", hash_, "--by", "mara", "--force", "--note", "Asked.")[0] == 0
    applied = run("apply", "acme")[1]
    assert "deleted rows for good and cannot be undone" in " ".join(applied.split())
    assert "slowwave undo" not in applied
