"""What `slowwave doctor` says of a store that is connected: each trouble by its name, with its remedy, and audits go on where they can."""

from __future__ import annotations

import pytest

from slowwave.bindings.checks import diagnose_stores
from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write, stop_writing
from slowwave.sources.following import look_at_stores
from slowwave.store.connect import Store
from tests.bindings.clients import DIMENSIONS, MODEL, embedder, embedding, run_as_owner
from tests.bindings.test_files import PAGE

MADE = (
    f"CREATE TABLE memories (id uuid PRIMARY KEY, vector vector({DIMENSIONS}), payload jsonb)",
    *(
        "INSERT INTO memories SELECT gen_random_uuid(), '"
        + str(embedding(text))
        + f"', jsonb_build_object('data', d, 'hash', md5(d), 'text_lemmatized', d, 'user_id', 'anna') FROM (VALUES ('{text}')) v (d)"
        for text in ("Anna prefers tea", "Ben plays the violin", "Clara is in Rome", "Dmitri sold a bicycle")
    ),
)
GIVEN = {"collection": "memories"}


def said(store: Store) -> dict[str, bool]:
    """Finding → whether it is a problem, but for what nobody named."""
    return {d.finding: d.problem for d in diagnose_stores(store) if "which model" not in d.finding}


def test_a_store_as_its_client_made_it_has_nothing_to_say_but_that_its_model_is_not_named(store: Store) -> None:
    """Which keeps texts from being rewritten, and nothing else."""
    run_as_owner(store, *MADE)
    found = connect_store(store, "mem0", parameters=GIVEN, grant=True)
    assert found.version == "mem0ai 2.0 to 2.2"
    assert said(store) == {}
    assert [(d.problem, "not rewritten" in d.finding) for d in diagnose_stores(store)] == [(False, True)]


def test_a_right_that_is_missing_is_given_as_a_statement_that_works(store: Store) -> None:
    """Connecting changes no right by itself; with --grant it does."""
    run_as_owner(store, *MADE)
    found = connect_store(store, "mem0", parameters=GIVEN)
    assert found.grants == ('GRANT SELECT ON "public"."memories" TO slowwave_reader',)
    assert (found.rows, found.namespaces) == (None, 0)
    problems = [d for d in diagnose_stores(store) if d.problem]
    assert [d.statements for d in problems] == [found.grants]
    run_as_owner(store, *found.grants)
    assert said(store) == {}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("ALTER TABLE memories ADD COLUMN score real", "memories has score real, which is new"),
        ("ALTER TABLE memories ALTER payload SET NOT NULL", "memories lacks payload jsonb"),
        ("CREATE UNIQUE INDEX ON memories ((payload ->> 'hash'))", "unique ("),
        ("ALTER TABLE memories ADD CHECK (payload <> '{}')", "memories has check "),
    ],
)
def test_a_structure_that_is_not_known_is_told_by_its_difference(store: Store, change: str, named: str) -> None:
    """Whether it was so when the store was connected, or became so."""
    run_as_owner(store, *MADE)
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    run_as_owner(store, change)
    changed = [finding for finding in said(store) if "no longer as they were" in finding]
    assert len(changed) == 1
    assert named in changed[0]
    found = connect_store(store, "mem0", parameters=GIVEN)
    assert found.version == ""
    unknown = [finding for finding in said(store) if "no version that is known" in finding]
    assert len(unknown) == 1
    assert named in unknown[0]


def test_a_table_is_told_by_its_own_name(store: Store) -> None:
    """Not by what a binding calls it."""
    run_as_owner(store, *MADE, "ALTER TABLE memories RENAME TO team_notes")
    connect_store(store, "mem0", parameters={"collection": "team_notes"}, grant=True)
    run_as_owner(store, "ALTER TABLE team_notes ADD COLUMN score real")
    assert ["team_notes has score real, which is new" in finding for finding in said(store)] == [True]


def test_a_trigger_of_others_is_named(store: Store) -> None:
    """It would change what a plan writes."""
    run_as_owner(
        store,
        *MADE,
        "CREATE FUNCTION public.stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER stamp_it BEFORE UPDATE ON memories FOR EACH ROW EXECUTE FUNCTION public.stamp()",
    )
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    assert [(problem, "stamp_it" in finding) for finding, problem in said(store).items()] == [(False, True)]


def test_what_keeps_plans_from_being_applied_is_a_problem_once_they_may_be(store: Store) -> None:
    """A trigger, and rights that either login lost: all of them at once, each with its statement."""
    run_as_owner(store, *MADE)
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    assert let_write(store, "mem0", grant=True) == []
    run_as_owner(
        store,
        "CREATE FUNCTION public.stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER stamp_it BEFORE UPDATE ON memories FOR EACH ROW EXECUTE FUNCTION public.stamp()",
    )
    assert [(d.problem, "write mem0 --off" in d.remedy) for d in diagnose_stores(store)] == [(True, True)]
    run_as_owner(
        store, "DROP TRIGGER stamp_it ON memories", "REVOKE ALL ON memories FROM slowwave_reader, slowwave_applier"
    )
    run_as_owner(store, *(statement for d in diagnose_stores(store) for statement in d.statements))
    assert said(store) == {}
    assert not any(d.problem for d in diagnose_stores(store))


def test_a_table_of_ones_own_that_names_no_way_to_retire_a_row_is_told_so(store: Store) -> None:
    """Before a plan leaves out what it is there for. The page's own example names one."""
    example = PAGE.read_text().split("```toml\n")[1].split("```")[0]
    run_as_owner(
        store,
        "CREATE TABLE notes (id bigint PRIMARY KEY, user_id text, body text, metadata jsonb, created_at timestamptz, "
        "deleted_at timestamptz, embedding vector(3))",
    )
    without = "\n".join(line for line in example.splitlines() if not line.startswith(("retire ", "invalidated_at")))
    for text, told in ((without, 1), (example, 0)):
        found = connect_store(store, "table", own_text=text, grant=True).found
        assert sum("no way to retire" in d.finding for d in found) == told


def test_row_security_that_hides_rows_is_told_with_how_many(store: Store) -> None:
    """And with the policy that shows them."""
    run_as_owner(
        store,
        *MADE,
        "ALTER TABLE memories ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY partly ON memories USING (payload ->> 'data' < 'C')",
    )
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    problem = next(d for d in diagnose_stores(store) if d.problem)
    assert "hides 2 rows" in problem.finding
    assert [problem.finding in told for told in look_at_stores(store)] == [True]
    run_as_owner(store, *problem.statements)
    assert said(store) == {}
    assert look_at_stores(store) == []


def test_a_table_that_is_gone_is_named(store: Store) -> None:
    """Nothing else is asked of that store."""
    run_as_owner(store, *MADE)
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    run_as_owner(store, "DROP TABLE memories")
    assert ["public.memories" in d.finding for d in diagnose_stores(store)] == [True]


def test_the_stores_own_embedder_gives_its_vectors_again_and_another_does_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three stored rows are embedded anew; a vector of another text among them is seen."""
    run_as_owner(store, *MADE)
    with embedder() as server:
        monkeypatch.setenv("SLOWWAVE_EMBEDDING_ENDPOINT", server.url)
        monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", MODEL)
        found = connect_store(store, "mem0", parameters=GIVEN, embedding_model=MODEL, grant=True)
        assert found.found == ()
        assert len(server.requests) == 1
        assert len(server.requests[0]["input"]) == 3
        run_as_owner(store, f"UPDATE memories SET vector = '{embedding('something else')}'")
        assert ["cosine" in d.finding for d in diagnose_stores(store)] == [True]
        monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", "another")
        assert ["another" in d.finding for d in diagnose_stores(store)] == [True]
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", MODEL)
    assert ["does not answer" in d.finding for d in diagnose_stores(store)] == [True]


def test_a_client_that_lemmatizes_is_found_by_its_rows(store: Store) -> None:
    """Then the column does not follow the text as the binding says."""
    lemmas = """UPDATE memories SET payload = payload || '{"text_lemmatized": "prefer"}' WHERE payload ->> 'data' LIKE 'Anna%'"""
    run_as_owner(store, *MADE, lemmas)
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    assert ["lemmas" in finding and "1 of 4" in finding for finding in said(store)] == [True]


def test_words_of_a_text_that_the_client_fills_keep_texts_as_they_are(store: Store) -> None:
    """LangChain's hybrid search has such a column; one that the table generates follows by itself."""
    words = "tsvector GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED"
    made = "CREATE TABLE notes (langchain_id uuid PRIMARY KEY, content text NOT NULL, embedding vector(3), langchain_metadata json"
    run_as_owner(store, f"{made}, content_tsv {words})")
    connect_store(store, "langchain_v2", parameters={"table": "notes"}, grant=True)
    assert said(store) == {}
    run_as_owner(store, "DROP TABLE notes", f"{made}, content_tsv tsvector)")
    connect_store(store, "langchain_v2", parameters={"table": "notes"}, grant=True)
    assert ["content_tsv" in finding for finding in said(store)] == [True]


def test_store_with_an_unreadable_binding_does_not_hide_or_block_the_others(store: Store) -> None:
    """The finding of the other store is still reported, and its writing can be allowed and stopped."""
    run_as_owner(store, *MADE)
    connect_store(store, "mem0", parameters=GIVEN, grant=True)
    run_as_owner(
        store,
        "INSERT INTO night.stores (name, kind, binding, parameters, fingerprint, embedding_model, namespace_settings) "
        "SELECT 'aged', kind, 'a binding of no version', parameters, fingerprint, embedding_model, namespace_settings "
        "FROM night.stores",
    )
    findings = [d.finding for d in diagnose_stores(store)]
    assert len(findings) == 2
    assert any("not rewritten" in finding for finding in findings)
    assert let_write(store, "mem0", grant=True) == []
    stop_writing(store, "mem0")
