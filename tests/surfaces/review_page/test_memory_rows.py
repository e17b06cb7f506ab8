"""Rows as the memory pages read them: lists, searches, neighbours and history, from Slowwave's own memory."""

from __future__ import annotations

import uuid

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from slowwave.surfaces.review_page.memory_rows import COUNTED, PAGE, NamespaceRows
from tests.memories import ask
from tests.surfaces.review_page.planted import SLUG, plant

pytestmark = pytest.mark.slow

STATED = "Mara Reyes 0 keeps the key of the crane."


def test_list_has_pages_a_text_filter_and_a_filter_of_states(store: Store) -> None:
    """60 entities are two pages without overlap; a retired one is listed only with all states."""
    plant(store, asked=24, decided=6)
    ask(store, "UPDATE memory.entities SET invalidated_at = now() WHERE name = 'Mara Reyes 0' RETURNING 1")
    with store.connect("reader") as connection:
        rows = NamespaceRows(connection, SLUG)
        first, second = rows.listed("entities"), rows.listed("entities", page=2)
        assert (len(first), len(second)) == (PAGE + 1, 9)
        assert first[PAGE] == second[0]
        assert len({row.id for row in (*first[:PAGE], *second)}) == 59
        assert [row.state for row in rows.listed("entities", text="mara reyes 0", every=True)] == ["retired"]
        assert "Mara Reyes 0" not in {row.text for row in rows.listed("entities", text="mara reyes 0")}
        assert rows.listed("entities", text="100%_{x}'") == []
        live, every = rows.counts(), rows.counts(every=True)
        assert (live["entities"], every["entities"], live["memories"]) == (59, 60, 3)
        assert max(every.values()) <= COUNTED


def test_search_finds_rows_of_all_kinds_and_is_no_recall(store: Store) -> None:
    """The passage leads to its document; nights take no look of a person for a recall of an agent."""
    plant(store)
    Memory(SLUG, store).remember(STATED, "Mara Reyes 0")
    before = ask(store, "SELECT count(*) FROM memory.recall_events")
    with store.connect("reader") as connection:
        rows = NamespaceRows(connection, SLUG)
        found, _ = rows.search("Mara Reyes 0 crane")
        assert {"memories", "documents"} <= {row.kind for row in found}
        passage = next(row for row in found if row.passage)
        text = rows.passage(passage.id, passage.passage)
        assert text is not None
        assert "crane" in text[0]
        for text in ("who keeps the key of the crane", "Mara Reyes 0 keeps the key"):
            found, _ = rows.search(text)
            assert [row.kind for row in found if row.text == STATED] == ["memories"], "the claim, and not its evidence"
    assert ask(store, "SELECT count(*) FROM memory.recall_events") == before


def test_search_of_a_fact_returns_it_before_rows_that_share_fewer_words(store: Store) -> None:
    """The index of searches has no facts: a question found fifty other rows and not the fact that answers it."""
    namespace = str(uuid.uuid5(uuid.NAMESPACE_DNS, SLUG))
    plant(store, asked=40)
    people = ("Mara Reyes", "Noor Haddad", "Iris Lindqvist", "Zoë Novak")
    duties = ("deploys", "invoices", "rotas", "contracts", "batteries", "patches", "hiring plans", "travel requests")
    facts = [(who, f"{verb}s", duty) for verb in ("own", "review") for who in people for duty in duties]
    facts += [("Lucia Silva", "approves", "rollbacks"), ("Emeka Moreau", "approves", "deploys")]
    insert = "INSERT INTO memory.memory_facts (id, namespace_id, subject, predicate, object, fact_text) VALUES (%s, %s, %s, %s, %s, %s)"
    with store.connect("owner") as owner, owner.transaction():
        for fact in facts:
            owner.execute(insert, (str(uuid.uuid4()), namespace, *fact, " ".join(fact) + "."))
    with store.connect("reader") as connection:
        rows = NamespaceRows(connection, SLUG)
        found, warnings = rows.search("Who approves rollbacks?")
        assert (found[0].kind, found[0].text) == ("facts", "Lucia Silva approves rollbacks.")
        assert warnings == ()
        assert [row.score for row in found] == sorted((row.score for row in found), reverse=True)
        listed = [row.text for row in rows.listed("facts", text="Who approves rollbacks, please?")]
        assert listed == ["Lucia Silva approves rollbacks."], "at least half of the words"
        assert {row.text.split()[-1] for row in rows.listed("facts", text="battery")} == {"batteries."}
        first, second = rows.listed("facts", text="who reviews?"), rows.listed("facts", text="who reviews?", page=2)
        assert (len(first), second) == (len(people) * len(duties), [])
        assert rows.listed("facts", text="lbacks")[0].text == "Lucia Silva approves rollbacks.", "a part of a word"


def test_claim_leads_to_its_subject_its_evidence_and_its_successor(store: Store) -> None:
    """And the successor back to it, with the page of evidence as the source of both."""
    plant(store)
    memory = Memory(SLUG, store)
    old = memory.remember("Wilhelmina drinks black tea.", "Wilhelmina", scope="person", kind="preference").claim_id
    new = memory.remember("Wilhelmina drinks coffee.", "Wilhelmina", kind="preference", action="replace").claim_id
    assert old
    assert new
    with store.connect("reader") as connection:
        rows = NamespaceRows(connection, SLUG)
        ended, current = rows.row("memories", old), rows.row("memories", new)
    assert ended is not None
    assert current is not None
    assert (ended.row.state, current.row.state) == ("ended", "")
    near = {heading: [row.id for row in found] for heading, found in ended.neighbours}
    assert near["Replaced by"] == [new]
    assert {heading: [row.id for row in found] for heading, found in current.neighbours}["Replaces"] == [old]
    assert "Entities" in near
    assert current.claim is not None
    assert current.claim.subject_ref == "person:wilhelmina"
    (source,) = current.sources
    assert (source.text, source.place.startswith("sources/semantic/"), source.line > 0) == (
        "Wilhelmina drinks coffee.",
        True,
        True,
    )


def test_row_of_another_namespace_is_not_there(store: Store) -> None:
    """An id is found in its own namespace alone."""
    plant(store)
    other = plant(store, slug="elsewhere")
    row = next(iter(other.items[0].mutation.row_ids()))
    with store.connect("reader") as connection:
        assert NamespaceRows(connection, SLUG).row("entities", row) is None
        assert NamespaceRows(connection, "elsewhere").row("entities", row) is not None
        with pytest.raises(Refused, match="There is no namespace"):
            NamespaceRows(connection, "nowhere")
