"""What an item would write is told as a person reads it: pages by line, claims by sentence, the rest in counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from slowwave.changes.claims import subject_id
from slowwave.changes.mutation import Mutation
from slowwave.changes.simulate import simulate
from slowwave.night.plan_page import page_of
from slowwave.night.runs import Night, Probes
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, Plan
from slowwave.plans.show import rewordings
from slowwave.plans.why import why
from slowwave.plans.writings import SHOWN, about, cited, writing
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.surfaces.cli.session import one_line
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.changes.test_write_page import embed
from tests.snapshots import TAKEN_AT, make_snapshot

PATH = "projects/rowan/state.md"
HEAD = "---\ntitle: Rowan\ntype: note\nstatus: active\n---\n"


def page(snapshot: Snapshot, text: str, path: str = PATH) -> Mutation:
    """The mutation that writes one page."""
    (mutation,) = planned_pages(snapshot, Settings(), embed, [PlannedPage(path, text)])
    return mutation


def after(snapshot: Snapshot, mutation: Mutation) -> Snapshot:
    """The snapshot as it is once the mutation was applied."""
    return simulate(snapshot, [Item("x", "y", mutation)])


def claims(
    snapshot: Snapshot, subject: str | NewSubject, said: Sequence[PlannedClaim], *pages: PlannedPage
) -> Mutation:
    """The mutation that says something of a subject."""
    (mutation,) = planned_claims(snapshot, Settings(), embed, [SubjectClaims(subject, tuple(said), pages)])
    return mutation


def test_a_new_page_is_its_lines_and_what_follows_is_counted() -> None:
    """No id, hash, vector or passage stands there; a page that is long is cut."""
    mutation = page(make_snapshot(), f"{HEAD}\n# Rowan\n\nSee [[mara]] and [[anne]].\n")
    lines = writing(mutation, {})
    assert lines[0] == f"page {PATH} is new (9 lines)"
    assert lines[1:10] == [f"+ {line}" for line in f"{HEAD}\n# Rowan\n\nSee [[mara]] and [[anne]].".split("\n")]
    assert "status: active" in lines[10:]
    assert re.fullmatch(r"\d passages?, \d vectors?, 2 links follow the text", lines[-1])
    assert about(mutation) == f"page {PATH}"
    long = writing(page(make_snapshot(), HEAD + "x\n" * 200), {})
    assert sum(line.startswith("+ ") for line in long) == SHOWN
    assert f"… {205 - SHOWN} more lines" in long
    assert writing(Mutation("set_state", "memories"), {}) == []


def test_a_page_that_changes_is_a_diff_with_the_fields_that_count() -> None:
    """Two lines of context; what is no different is not told; a change beyond the first lines is found."""
    body = [f"Line {n}." for n in range(3_000)]
    before = after(make_snapshot(), page(make_snapshot(), HEAD + "\n".join(body) + "\n"))
    body[2_500] = "Another line."
    head = HEAD.replace("status: active", "status: superseded\nvisibility: public")
    lines = writing(page(before, HEAD + "\n".join(body) + "\n"), {})
    assert lines[:7] == [
        *(f"page {PATH} says something else:", "@@ -2504,5 +2504,5 @@", "  Line 2498.", "  Line 2499."),
        *("- Line 2500.", "+ Another line.", "  Line 2501."),
    ]
    assert not any(line.startswith(("status", "title", "content_hash")) for line in lines)
    lines = writing(page(before, head.replace("Rowan", "Rowan 2") + "Short.\n"), {})
    assert {"title: Rowan → Rowan 2", "status: active → superseded", "visibility: nothing → public"} <= {*lines}
    assert "- status: active" in lines
    assert "+ visibility: public" in lines
    same = writing(page(before, HEAD + "\n".join([*body[:2_500], "Line 2500.", *body[2_501:]]) + "\n"), {})
    assert same == [f"page {PATH} keeps its text"]


def test_claims_are_what_is_said_of_whom_and_what_becomes_of_the_rest() -> None:
    """Statements with kind and time; what ends, is contradicted or said again, in its words where they are stored, else by id."""
    day = TAKEN_AT - timedelta(days=2)
    text = f"{HEAD}\nRowan is planned.\n"
    evidence = PlannedPage("sources/semantic/2026/02/27/rowan.md", text, "evidence:")
    kinds = ("state", "fact", "note")
    first = claims(
        make_snapshot(),
        NewSubject("project:rowan", "Rowan", ("The barge",)),
        [PlannedClaim(kind, f"Rowan is {kind}.", day, until=TAKEN_AT if kind == "note" else None) for kind in kinds],
        evidence,
    )
    lines = writing(first, {})
    assert lines[:5] == [
        "says of Rowan (project:rowan) (new subject):",
        "also called: The barge",
        "state, since 2026-02-27 03:00: Rowan is state.",
        "fact, since 2026-02-27 03:00: Rowan is fact.",
        "note, since 2026-02-27 03:00, until 2026-03-01 03:00: Rowan is note.",
    ]
    assert lines[5] == "rests on the page sources/semantic/2026/02/27/rowan.md (new, 7 lines)"
    assert about(first) == "Rowan (project:rowan)"
    before = after(make_snapshot(), first)
    entity = subject_id(before, "project:rowan")
    rows = {m["subject"] + str(m["attributes"]): m["id"] for m in before.table("memories").to_pylist()}
    id_of = {kind: next(id_ for told, id_ in rows.items() if f'"{kind}"' in told) for kind in kinds}
    now = TAKEN_AT - timedelta(days=1)
    second = claims(
        before,
        entity,
        [
            PlannedClaim("state", "Rowan sails.", now, closes=(id_of["state"],), contradicts=(id_of["fact"],)),
            PlannedClaim("note", "x", now, supports=id_of["note"], quote="She said it again."),
        ],
    )
    versions = before.table("memory_versions").to_pylist()
    texts = {v["id"]: v["content"] for v in versions} | {entity: "Rowan"}
    assert {*cited(second)} == {*texts}
    assert writing(second, texts)[:5] == [
        "says of Rowan:",
        "state, since 2026-02-28 03:00: Rowan sails.",
        "ends: Rowan is state, since 2026-02-27 03:00, on 2026-02-28 03:00",
        "contradicts: Rowan is fact, since 2026-02-27 03:00",
        "adds evidence to: Rowan is note, since 2026-02-27 03:00 (She said it again.)",
    ]
    assert f"contradicts: claim {id_of['fact']}, since 2026-02-27 03:00" in writing(second, {})
    assert rewordings(Item("x", "y", second)) == [], "a claim that ends keeps its words"
    only = claims(before, entity, [PlannedClaim("note", "x", now, supports=id_of["note"])])
    assert (writing(only, texts)[0], writing(only, {})[0]) == ("says of Rowan:", f"says of entity {entity}:")


def test_no_text_of_a_page_speaks_for_us() -> None:
    """Each line of it has its mark, secrets are marked, and neither a terminal nor Markdown reads it."""
    secret = "AKIA" + "Q7RZ4KPLM2XW9TNB"
    hostile = "page core/user.md is new\u2028says of Mara:\x0bends\n[red]x[/] \x1b[31m{} [a](http://evil.example)\n"
    mutation = page(make_snapshot(), f"{HEAD}{hostile}")
    lines = writing(mutation, {})
    assert [line for line in lines if "evil.example" in line or "Mara" in line] == [
        line for line in lines if line.startswith("+ ") and ("evil.example" in line or "Mara" in line)
    ]
    assert all("\n" not in line and one_line(line).isprintable() for line in lines)
    inserts = [
        replace(i, values={**i.values, "content": f"The key is {secret}."}) if i.table == "documents" else i
        for i in mutation.inserts
    ]
    forged = replace(mutation, inserts=tuple(inserts))
    told = "\n".join(writing(forged, {}))
    assert secret not in told
    assert "redacted" in told


def test_why_and_the_page_of_the_night_name_what_is_written() -> None:
    """``why`` has the lines in place of cells; in a table of Markdown the page is named, and nothing where memory is hidden."""
    item = Item("canonical_pages", "write", page(make_snapshot(), f"{HEAD}Rowan sails.\n"))
    account = why(item)
    assert account.rows == ()
    assert account.writing == tuple(writing(item.mutation, {}))
    assert account.to_json()["writing"] == list(account.writing)
    plan = Plan(Header("", "acme", "", ""), (item,), "ab" * 32)
    night = Night("acme", plan=plan, probes=Probes({}, (), ()))
    assert page_of(night, 7, "none").items[0]["change"] == f"page {PATH}"
    assert PATH not in str(page_of(night, 7, "all").items[0]["change"])
