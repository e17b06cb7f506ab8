"""Dead links: what leads nowhere, by its reason; mentions and rows that are retired are none."""

from __future__ import annotations

from slowwave.operations import AUDITS
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dead_links = AUDITS["dead_links"]


def link(name: str, target: str | None, **more: object) -> dict[str, object]:
    row = {"id": uid(name), "document_id": uid("a"), "kind": "wikilink", "target": name, "line": 3}
    return row | {"target_document_id": uid(target) if target else None, "anchor": "", **more}


def test_links_that_lead_nowhere_are_counted_by_reason() -> None:
    """No page, no heading, no block; a page that links to itself; pages that nothing links to, sessions apart."""
    page = {"corpus_id": uid("corpus"), "plane": "durable"}
    snapshot = make_snapshot(
        documents=[
            {**page, "id": uid("a"), "path": "a.md"},
            {**page, "id": uid("b"), "path": "b.md", "metadata": {"headings": ["Fee market"], "blocks": ["one"]}},
            {**page, "id": uid("lonely"), "path": "lonely.md"},
            {**page, "id": uid("session"), "path": "logs/sessions/s.md", "plane": "sessions"},
            {**page, "id": uid("gone"), "path": "gone.md", "invalidated_at": TAKEN_AT},
            {"id": uid("of an import"), "content": "x"},
        ],
        links=[
            link("fine", "b"),
            link("by heading", "b", anchor="fee-market"),
            link("by block", "b", anchor="^one"),
            link("no page", None),
            link("to a page that is gone", "gone"),
            link("no heading", "b", anchor="Fees"),
            link("no block", "b", anchor="^two"),
            link("itself", "a"),
            link("a name", None, kind="mention"),
            link("retired", None, invalidated_at=TAKEN_AT),
        ],
    )
    report = dead_links(make_inputs(snapshot))
    assert report.numbers == {
        **{"pages": 4, "links": 8, "mentions": 1, "dead": 4, "no_page": 2, "no_heading": 1, "no_block": 1},
        **{"pages_that_link_to_themselves": 1, "pages_without_backlink": 2},
    }
    assert {finding.rows[1] for finding in report.findings} == {
        uid(name) for name in ("no page", "to a page that is gone", "no heading", "no block")
    }


def test_a_namespace_without_a_corpus_has_nothing_to_say() -> None:
    assert dead_links(make_inputs(make_snapshot())).numbers["pages"] == 0


def test_findings_are_in_the_order_in_which_a_person_mends_them() -> None:
    """By page and line, whatever the ids are."""
    page = {"corpus_id": uid("corpus"), "plane": "durable"}
    names = [f"{n}.md" for n in range(8)]
    snapshot = make_snapshot(
        documents=[{**page, "id": uid(name), "path": name} for name in names],
        links=[link(f"{name} {line}", None, document_id=uid(name), line=line) for name in names for line in (12, 3)],
    )
    found = dead_links(make_inputs(snapshot))
    assert [one.message.split(":")[0] for one in found.findings] == [
        f"“{name}”, line {line}" for name in names for line in (3, 12)
    ]
    assert found.table[0]["path"] == "0.md"
