"""Who or what a name means: by reference, name, alias, or nearly; two who may be meant are two, and never the first of them."""

from __future__ import annotations

import pytest

from slowwave.store.connect import Store
from slowwave.wiki.claims.subjects import Resolution, name_key, resolve
from slowwave.wiki.claims.trail import SubjectHistoryRequest, subject_history
from tests.memories import ago, ask, remember
from tests.snapshots import uid
from tests.wiki.claims import tell


@pytest.fixture
def known(acme: Store) -> Store:
    """Persons, a project and a concept of one name, an alias, an entity that was merged; one of another namespace."""
    remember(
        acme,
        "acme",
        entities=[
            {"id": "mara", "entity_type": "person", "name": "Mara Lind"},
            {"id": "nils", "entity_type": "person", "name": "Nils Berg"},
            {"id": "lena", "entity_type": "person", "name": "Nils Holm"},
            {"id": "rowan", "entity_type": "project", "name": "Rowan"},
            {"id": "tree", "entity_type": "concept", "name": "Rowan"},
            {"id": "plan", "entity_type": "project", "name": "Harbour Renewal Plan"},
            {"id": "old", "entity_type": "project", "name": "Quayside"},
            {"id": "gone", "entity_type": "project", "name": "Retired", "invalidated_at": ago(3)},
            {"id": "suite", "entity_type": "decision", "name": "How the suite is cut", **ref("decision:public-suite")},
            {"id": "split", "entity_type": "decision", "name": "Where it is cut", **ref("decision:split")},
            {"id": "cut", "entity_type": "concept", "name": "Cuts", **ref("concept:split")},
        ],
        entity_aliases=[
            {"id": "a", "entity_id": "plan", "alias": "HRP"},
            {"id": "b", "entity_id": "old", "alias": "Quay work"},
            {"id": "c", "entity_id": "rowan", "alias": "The Tree"},
            {"id": "d", "entity_id": "tree", "alias": "the tree"},
        ],
    )
    remember(acme, "rival", entities=[{"id": "theirs", "entity_type": "person", "name": "Zora Quist"}])
    ask(
        acme,
        "UPDATE memory.entities SET merged_into = %s, invalidated_at = now() WHERE id = %s RETURNING 1",
        uid("plan"),
        uid("old"),
    )
    return acme


def ref(named: str) -> dict[str, str]:
    return {"source": "semantic", "external_id": named}


def found(store: Store, said: str, scope: str | None = None) -> Resolution:
    with store.connect("server") as connection:
        return resolve(connection, uid("acme"), said, scope)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "scope", "meant", "by", "sureness"),
    [
        ("person:mara-lind", None, "mara", "name", "high"),
        ("mara LIND", None, "mara", "name", "high"),
        ("Lind, Mara", None, "mara", "matching", "medium"),
        ("Mara", None, "mara", "matching", "medium"),
        ("Rowan", "project", "rowan", "name", "high"),
        ("concept:rowan", None, "tree", "name", "high"),
        ("hrp", None, "plan", "alias", "high"),
        ("Quayside", None, "plan", "name", "high"),
        ("quay work", None, "plan", "alias", "high"),
        ("harbour-renewal plan", None, "plan", "name", "high"),
        ("public-suite", None, "suite", "slug", "high"),
        ("2026-04-public-suite", None, "suite", "slug", "high"),
        ("2026-04-07-split", "decision", "split", "slug", "high"),
    ],
)
def test_a_name_that_means_one(known: Store, said: str, scope: str | None, meant: str, by: str, sureness: str) -> None:
    """However it is written; the name of what was merged means what it was merged into."""
    answer = found(known, said, scope)
    assert answer.subject is not None
    assert (answer.outcome, answer.subject.id, answer.matched_by, answer.sureness) == (
        "known",
        uid(meant),
        by,
        sureness,
    )
    assert found(known, uid(meant)).matched_by == "id"


@pytest.mark.parametrize(
    ("said", "scope", "meant"),
    [
        ("Rowan", None, {"rowan", "tree"}),
        ("the tree", None, {"rowan", "tree"}),
        ("Nils", None, {"nils", "lena"}),
        ("Nils", "person", {"nils", "lena"}),
    ],
)
def test_dory_two_candidates_are_an_answer_and_never_the_first_of_them(
    known: Store, said: str, scope: str | None, meant: set[str]
) -> None:
    """Both are named, by what tells them apart."""
    answer = found(known, said, scope)
    assert (answer.outcome, answer.subject, answer.new) == ("ambiguous", None, None)
    assert {c.subject_id for c in answer.candidates} == {uid(name) for name in meant}


def test_nobody_is_made_of_an_unknown_name_without_its_family(known: Store) -> None:
    """Neither of another namespace's, nor of one that is retired, nor of an id that is not there."""
    for said in ("Zora Quist", "Retired", uid("theirs"), "!!!", "core:anything"):
        answer = found(known, said)
        assert (answer.outcome, answer.subject, answer.new) == ("unresolved", None, None), said
    assert found(known, "Anything", "core").outcome == "unresolved"
    assert str(found(known, "Zora Quist", "person").new) == "person:zora-quist"
    assert str(found(known, "core:user").new) == "core:user"


def test_dory_a_low_confidence_subject_is_refused_and_a_slip_makes_no_new_one_unless_it_is_given_as_a_reference(
    known: Store,
) -> None:
    """``Harbour Renewel Plan`` may be a slip: who means another writes its reference. Figures are no slips."""
    answer = found(known, "Harbour Renewel Plan", "project")
    assert (answer.outcome, [c.subject_id for c in answer.candidates]) == ("ambiguous", [uid("plan")])
    assert found(known, "project:harbour-renewel-plan").outcome == "created"
    tell(known, "Crane 11 is red.", "Crane 11", scope="concept")
    assert found(known, "Crane 12", "concept").outcome == "created"


def test_dory_learnt_aliases_survive_what_is_said_later(known: Store) -> None:
    """A name that is only written otherwise is learnt; nothing that is said takes an alias away."""
    before = ask(known, "SELECT id, alias FROM memory.entity_aliases ORDER BY alias")
    tell(known, "Mara likes tea.", "Lind, Mara")
    tell(known, "Mara likes tea.", "Mara Lind")
    after = ask(known, "SELECT id, alias FROM memory.entity_aliases ORDER BY alias")
    assert set(before) < set(after)
    assert {alias for _, alias in set(after) - set(before)} == {"Lind, Mara"}
    assert found(known, "Lind, Mara").matched_by == "alias"


@pytest.mark.parametrize(
    "name", ["Mara Lind", "Łódź’s Söhne", "O'Neill & Sons", "東京 Tower", "C++", " a\tb ", "x" * 400, "ÀÉ (2nd)"]
)
def test_the_store_and_the_program_have_one_key_of_a_name(acme: Store, name: str) -> None:
    assert ask(acme, "SELECT memory.name_key(%s)", name) == [(name_key(name),)]


def test_a_name_is_looked_up_by_index(acme: Store) -> None:
    """However many entities there are: no plan of these queries reads them all."""
    remember(
        acme, "acme", entities=[{"id": f"e{n}", "entity_type": "concept", "name": f"Crane {n}"} for n in range(2_000)]
    )
    ask(acme, "ANALYZE memory.entities")
    query = "EXPLAIN SELECT id FROM memory.entities e WHERE namespace_id = %s AND memory.name_key(e.name) COLLATE \"C\" = 'crane 7'"
    assert "entities_name_key" in str(ask(acme, query, uid("acme")))


@pytest.fixture
def paged(acme: Store) -> Store:
    """Pages about persons, a project and a decision in a vault, of whom nothing was claimed yet."""
    pages = (
        ("People/Mara Lindqvist.md", "Mara Lindqvist", "person", {"aliases": ["Mara", "M. Lindqvist"]}),
        ("people/alex.md", "Alex", "person", {}),
        ("People/李娜.md", "李娜", "person", {}),
        ("projects/lantern/state.md", "Lantern", "project", {}),
        ("decisions/2026-04-07-homeserver.md", "HomeServer daemon host", "decision", {}),
        ("People/Tom Ek.md", "Tom Ek", "person", {"aliases": ["Tom"]}),
        ("People/Tom Dahl.md", "Tom Dahl", "person", {"aliases": ["Tom"]}),
        ("People/Gone.md", "Nils Gone", "person", {"forgotten": True}),
        ("notes/tides.md", "Tides", "note", {}),
    )
    remember(
        acme,
        "acme",
        corpora=[{"id": "vault", "root": "/vault", "profile": "vault"}],
        documents=[
            {
                "id": path,
                "path": path,
                "title": title,
                "content": title,
                "corpus_id": "vault",
                "metadata": {"type": kind, **more},
            }
            for path, title, kind, more in pages
        ],
    )
    return acme


@pytest.mark.parametrize(
    ("said", "ref", "name"),
    [
        ("Mara Lindqvist", "person:mara-lindqvist", "Mara Lindqvist"),
        ("Mara", "person:mara-lindqvist", "Mara Lindqvist"),
        ("mara-lindqvist", "person:mara-lindqvist", "Mara Lindqvist"),
        ("Alex", "person:alex", "Alex"),
        ("people/alex.md", "person:alex", "Alex"),
        ("person:alex", "person:alex", "Alex"),
        ("Lantern", "project:lantern", "Lantern"),
        ("homeserver", "decision:homeserver-daemon-host", "HomeServer daemon host"),
    ],
)
def test_resolve_name_of_a_page_makes_its_subject_known(paged: Store, said: str, ref: str, name: str) -> None:
    """D4: by title, alias, file name with or without its date, path and reference; `remember` and `history` take it."""
    meant = found(paged, said)
    assert (meant.outcome, str(meant.new), meant.name, meant.matched_by) == ("created", ref, name, "page")
    with paged.connect("server") as connection:
        history = subject_history(connection, "acme", SubjectHistoryRequest(subject=said))
    assert (history.subject_ref, history.subject, history.claims) == (ref, name, ())
    told = tell(paged, "Prefers tabs over spaces.", said, kind="preference")
    assert (told.result, told.subject_ref) == ("written", ref)
    again = found(paged, said)
    assert again.subject is not None
    assert (again.outcome, again.subject.name, str(again.subject.ref)) == ("known", name, ref)


@pytest.mark.parametrize("said", ["Tom", "Nils Gone", "Tides", "state", "Nobody"])
def test_resolve_name_of_no_page_or_of_two_makes_nobody_known(paged: Store, said: str) -> None:
    """An alias of two persons, a page that was forgotten, a page about nobody, a file name that says nothing."""
    assert found(paged, said).outcome == "unresolved"
