"""Limits of mutations of claims and pages, by the cells of a mutation alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.changes.cells import CLAIMS, Cell, Guard, Insert, Value, Write
from slowwave.changes.mutation import Mutation, Row, check, claim_fault, erased, forget_fault, page_fault
from slowwave.errors import Refused

PAGE, CORPUS, OTHER, ENTITY = (f"00000000-0000-0000-0000-00000000000{n}" for n in range(4))
LATER = "2026-01-01T00:00:00+00:00"
PLACE: dict[str, Value] = {
    **{"corpus_id": CORPUS, "path": "ideas/moon.md", "plane": "durable", "invalidated_at": None, "version_of": None}
}


def page(kind: str = "write_page", root: str = "/notes", place: dict[str, Value] | None = None) -> Mutation:
    """A mutation that changes the text of an existing page."""
    place = PLACE if place is None else place
    guards = (Guard("corpora", CORPUS, ("root",), (root,)), Guard.on("documents", PAGE, place, place))
    return Mutation(kind, "documents", (Write(Cell("documents", PAGE, "content"), "set", "Old.", "New."),), guards)


def test_live_page_of_guarded_corpus_may_be_written() -> None:
    assert page_fault(page()) == ""
    assert page_fault(page("forget_rows", "evidence:")) == "", "forgetting reaches what claims rest on"


@pytest.mark.parametrize(
    "change",
    [
        *({"invalidated_at": LATER}, {"version_of": OTHER}, {"plane": "sessions"}, {"corpus_id": OTHER}),
    ],
)
def test_page_that_guards_do_not_show_to_be_live_is_refused(change: dict[str, Value]) -> None:
    """A retired page, an earlier version, a page of another plane, and one of a corpus whose root no guard names."""
    assert "without holding that it is a live page" in page_fault(page(place={**PLACE, **change}))


@pytest.mark.parametrize("missing", sorted(PLACE.keys() - {"path"}))
def test_page_with_incomplete_guard_is_refused(missing: str) -> None:
    place = {name: value for name, value in PLACE.items() if name != missing}
    mutation = page(place=place)
    if missing == "corpus_id":  # the write alone shows that the page is there
        mutation = replace(mutation, guards=mutation.guards[:1])
    assert "without holding that it is a live page" in page_fault(mutation)


@pytest.mark.parametrize(
    ("kind", "root"), [("write_page", "sessions:"), ("forget_rows", "sessions:"), ("write_page", "evidence:")]
)
def test_page_of_sessions_or_evidence_is_refused(kind: str, root: str) -> None:
    assert page_fault(page(kind, root)) == f"may not write document {PAGE} of {root}"


@pytest.mark.parametrize(("seen", "allowed"), [(None, True), (LATER, False)])
def test_page_that_ends_shows_by_its_write_whether_it_was_live(seen: Value, allowed: bool) -> None:
    """The write of ``invalidated_at`` holds the value that the plan saw, so no guard is needed for that column."""
    place = {name: value for name, value in PLACE.items() if name != "invalidated_at"}
    mutation = page("forget_rows", place=place)
    ending = Write(Cell("documents", PAGE, "invalidated_at"), "now", seen)
    assert (page_fault(replace(mutation, writes=(ending, *mutation.writes))) == "") is allowed


def claim(attributes: str | None, *guards: Guard) -> Mutation:
    """A mutation that makes one claim."""
    values: dict[str, Value] = {"kind": "claim", "state": "active"}
    values |= {"attributes": attributes} if attributes else {}
    return Mutation("write_claims", "memories", guards=guards, inserts=(Insert("memories", values),))


def test_claim_about_entity_whose_claims_are_not_guarded_is_refused() -> None:
    """Without the guard, another claim of the same subject could be written in the meantime."""
    about = f'{{"entity_id": "{ENTITY}"}}'
    assert claim_fault(claim(about, Guard("entities", ENTITY, (CLAIMS,), ((),)))) == ""
    assert f"may say nothing of entity {ENTITY}," in claim_fault(
        claim(about, Guard("entities", ENTITY, ("name",), ("R",)))
    )
    for nothing in (None, "{}", "[]", '{"entity_id": null}'):
        assert "may say nothing of entity , of which" in claim_fault(claim(nothing))


def test_claims_may_write_rows_of_other_tables_without_guard_of_a_claim() -> None:
    """Their page is held to the limits of pages instead."""
    write = Write(Cell("documents", PAGE, "content"), "set", "Old.", "New.")
    assert claim_fault(Mutation("write_claims", "memories", (write,))) == ""
    memory = Write(Cell("memories", PAGE, "valid_to"), "set", None, LATER)
    assert "does not hold to be a claim" in claim_fault(Mutation("write_claims", "memories", (memory,)))


def erasure(table: str = "memories", row: str = PAGE, **more: Value) -> Mutation:
    """A mutation that deletes one row for good."""
    note = Insert("erasures", {"table_name": table, "row_id": row, "reason": "asked", **more})
    return Mutation("forget_rows", "erasures", inserts=(note,), rows=(Row(PAGE),))


def test_erasure_names_each_of_its_rows_once_and_does_nothing_else() -> None:
    fine = erasure()
    assert (forget_fault(fine), erased(fine)) == ("", [("memories", PAGE)])
    ending = Write(Cell("memories", PAGE, "valid_to"), "set", None, LATER)
    faults = {
        "may not erase rows of 'runs'": erasure("runs"),
        "lists each row that it erases once": erasure(row=OTHER),
        "may note of rows that they were erased, and nothing else": erasure(namespace_id=OTHER),
        "may erase rows or end them, not both in one item": replace(fine, writes=(ending,)),
    }
    assert {forget_fault(mutation): mutation for mutation in faults.values()} == faults
    assert "not both" in forget_fault(replace(fine, table="memories"))
    assert "lists each row" in forget_fault(replace(fine, inserts=(*fine.inserts, *fine.inserts)))


def test_cell_points_only_at_row_that_same_item_inserts() -> None:
    """The number of an inserted row counts from zero, and its table is the one that the column points to."""
    new = Insert("documents", {"corpus_id": CORPUS, "path": "ideas/moon.md", "plane": "durable"}, OTHER)
    link = Guard.on("links", ENTITY, {"document_id": PAGE}, ("document_id",))
    pages = replace(
        page(), guards=(*page().guards, link), inserts=(replace(new, values={**PLACE, "path": "ideas/sun.md"}),)
    )

    def pointing(n: Value) -> Mutation:
        write = Write(Cell("links", ENTITY, "target_document_id"), "row", None, n)
        return replace(pages, writes=(*pages.writes, write))

    check(pointing(0))
    for n in (1, -1, "0", None):
        with pytest.raises(Refused, match=r"points links\.target_document_id at a row that it does not insert"):
            check(pointing(n))
    other = replace(pointing(0), inserts=(Insert("corpora", {"root": "pages:"}, OTHER),))
    with pytest.raises(Refused, match="at a row that it does not insert"):
        check(other)


def test_document_attributes_change_without_guards_of_a_page() -> None:
    """The limits of pages are those of kinds that insert documents."""
    write = Write(Cell("documents", PAGE, "metadata"), "set", "{}", '{"a": 1}')
    check(Mutation("set_attributes", "documents", (write,)))


def test_forgotten_page_may_rewrite_its_tombstone_and_no_other_page() -> None:
    """A tombstone that is there already gets a new text and new metadata."""
    stone = {**PLACE, "path": "ideas/moon.tombstone.md"}
    mark = Write(Cell("documents", PAGE, "metadata"), "set", "{}", '{"forgotten": true}')
    again = tuple(Write(Cell("documents", OTHER, c), "set", "{}", '{"a": 1}') for c in ("metadata", "content"))
    mutation = page("forget_rows", "pages:")
    mutation = replace(
        mutation, writes=(mark, *again), guards=(*mutation.guards, Guard.on("documents", OTHER, stone, stone))
    )
    assert forget_fault(mutation) == ""
    elsewhere = {**PLACE, "path": "ideas/sun.md"}
    guards = (*mutation.guards[:-1], Guard.on("documents", OTHER, elsewhere, elsewhere))
    assert "and the tombstone beside it" in forget_fault(replace(mutation, guards=guards))
    assert "may forget one page" in forget_fault(replace(mutation, writes=again))
