"""The text index: what is in it, that it is fresh, and that it ranks as BM25 over the same texts does."""

import random
import subprocess
import sys

import bm25s
import numpy as np
import pyarrow as pa
import pytest

from slowwave.search.bm25 import Counts, postings
from slowwave.search.candidates import VECTORS, Domain, by_substring, by_vector, by_words, cosines
from slowwave.search.request import SearchScope
from slowwave.search.rows import searched_rows
from slowwave.search.words import asked, words
from slowwave.store import tables
from slowwave.store.connect import Store
from tests.memories import MODEL, ago, ask, remember, unit
from tests.snapshots import make_snapshot, uid

WORDS = [f"word{n}" for n in range(80)]


def domain(slug: str = "acme", **fields: object) -> Domain:
    return Domain(uid(slug), ("durable",), SearchScope(), **fields)  # type: ignore[arg-type]


def passages(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, [1 / (n + 1) for n in range(80)], k=rng.randint(5, 60))) for _ in range(count)]


def filled(store: Store, texts: list[str], slug: str = "acme") -> None:
    remember(
        store,
        slug,
        documents=[{"id": f"{slug} d"}],
        chunks=[{"id": f"{slug} {n}", "document_id": f"{slug} d", "content": text} for n, text in enumerate(texts)],
    )


def found(store: Store, query: str, limit: int = 10, **fields: object) -> tuple[list[str], np.ndarray]:
    with store.connect("reader") as connection:
        result = by_words(connection, domain(**fields), query, limit)
    return result.ids, result.scores


def test_scores_are_those_of_the_probes_bm25(store: Store):
    """The same words, weights and lengths, whether they are read from the index or from a snapshot's texts."""
    texts = passages(120)
    filled(store, texts)
    filled(store, passages(50, 2), "other")
    counts = Counts.from_texts(pa.array(texts, pa.large_string()))
    for query in ("word3 word40", "word0 word0 word7", "what is word20?"):
        whole = (counts.count_known([asked(query)]) @ postings(counts.matrix, np.arange(len(counts.words)))).toarray()[
            0
        ]
        ids, scores = found(store, query, 200)
        assert dict(zip(ids, scores, strict=True)) == pytest.approx(
            {uid(f"acme {n}"): score for n, score in enumerate(whole) if score > 0}, abs=1e-4
        )


def test_the_order_is_near_that_of_a_bm25_library(store: Store):
    """bm25s over the same words: nine in ten of its ten best are among ours. Counts of a word are levels here, exact there."""
    texts = passages(200)
    filled(store, texts)
    vocabulary = {word: n for n, word in enumerate(sorted({w for t in texts for w in words(t)}))}
    library = bm25s.BM25(k1=1.2, b=0.75)
    library.index(([[vocabulary[w] for w in words(t)] for t in texts], vocabulary), show_progress=False)
    same = []
    for n in range(0, 60, 3):
        query = f"word{n} word{n + 5} word{n + 11}"
        best = library.get_scores([vocabulary[w] for w in asked(query) if w in vocabulary]).argsort()[::-1][:10]
        ids, _ = found(store, query)
        same.append(len({uid(f"acme {m}") for m in best} & set(ids)) / 10)
    assert np.mean(same) >= 0.9


def test_the_index_is_fresh_at_commit_and_follows_every_change(store: Store):
    """Rows by plain SQL, new texts, aliases, retirement, return and deletion; an entity's arrays touch nothing of it."""
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": "c", "document_id": "d", "content": "a harbour ledger"}],
        entities=[{"id": "e", "name": "Anna", "entity_type": "PERSON"}],
        memories=[{"id": "m", "kind": "semantic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "ships in the harbour"}],
    )
    assert set(found(store, "harbours")[0]) == {uid("c"), uid("m")}
    ask(store, "UPDATE memory.chunks SET content = 'a garden' WHERE id = %s", uid("c"))
    assert found(store, "harbour")[0] == [uid("m")]
    assert found(store, "gardens")[0] == [uid("c")]
    remember(store, "acme", entity_aliases=[{"id": "a", "entity_id": "e", "alias": "Dr Reyes"}])
    assert found(store, "reyes")[0] == [uid("e")]
    before = ask(store, "SELECT ctid FROM memory.search_texts ORDER BY id")
    ask(store, "UPDATE memory.entities SET source_chunk_ids = ARRAY[%s::uuid], mention_count = 7", uid("c"))
    assert ask(store, "SELECT ctid FROM memory.search_texts ORDER BY id") == before
    ask(store, "UPDATE memory.entities SET state = 'quarantined'")
    assert found(store, "anna")[0] == []
    ask(store, "UPDATE memory.entities SET state = 'active'")
    assert found(store, "anna")[0] == [uid("e")]
    ask(store, "DELETE FROM memory.chunks")
    assert found(store, "garden")[0] == []
    assert ask(store, "SELECT sum(texts)::int, sum(words)::int FROM memory.search_statistics") == [(2, 7)]


def test_a_title_is_part_of_what_is_searched(store: Store):
    """Of every passage of a document, as a subject is of its memory; in a snapshot as in the store, and when it changes."""
    remember(
        store,
        "acme",
        documents=[{"id": "d", "title": "Heat pump"}],
        chunks=[{"id": n, "document_id": "d", "content": f"part {n}"} for n in ("one", "two")],
        memories=[{"id": "m", "kind": "semantic", "subject": "Mara", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "keeps bees"}],
    )
    assert set(found(store, "heat pumps")[0]) == {uid("one"), uid("two")}
    assert found(store, "mara")[0] == [uid("m")]
    snapshot = make_snapshot(
        documents=[{"id": uid("d"), "title": "Heat pump"}, {"id": uid("e"), "title": ""}],
        chunks=[{"id": uid(n), "document_id": uid(d), "content": f"part {n}"} for n, d in (("one", "d"), ("two", "e"))],
        memories=[{"id": uid("m"), "kind": "semantic", "subject": "Mara", "current_version_id": uid("v")}],
        memory_versions=[{"id": uid("v"), "memory_id": uid("m"), "content": "keeps bees"}],
    )
    rows = searched_rows(snapshot)
    assert dict(zip(rows.ids.to_pylist(), rows.texts.to_pylist(), strict=True)) == {
        uid("one"): "Heat pump\npart one",
        uid("two"): "part two",
        uid("m"): "Mara\nkeeps bees",
    }
    ask(store, "UPDATE memory.documents SET title = 'Boiler'")
    ask(store, "UPDATE memory.memories SET subject = 'Ana'")
    assert found(store, "heat pumps mara")[0] == []
    assert set(found(store, "boiler ana")[0]) == {uid("one"), uid("two"), uid("m")}


def test_a_search_loads_neither_the_catalogue_nor_what_reads_columns():
    """Its tables are those of the catalogue; a process that searches is as light as one that asks plain SQL."""
    assert set(VECTORS) == tables.VECTORS.keys()
    program = "import sys, slowwave.search.search; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"sqlalchemy", "pyarrow", "scipy", "pandas", "duckdb"}.isdisjoint(loaded)


def test_a_namespace_never_finds_anothers_rows(store: Store):
    filled(store, ["planted marker"], "other")
    filled(store, ["a marker of ours"])
    assert found(store, "planted marker")[0] == [uid("acme 0")]


def test_a_text_of_a_hundred_thousand_words_is_indexed(store: Store):
    filled(store, [" ".join(f"w{n}" for n in range(100_000)) + " common" * 9])
    assert found(store, "common")[0] == [uid("acme 0")]


def test_dory_vectors_come_from_an_index_and_not_from_a_pass_over_all(store: Store):
    """The seed compared all. Here the model's HNSW index answers, in a namespace beside a larger one."""
    vectors = np.random.default_rng(3).normal(size=(300, 512))
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": f"c{n}", "document_id": "d", "content": "x"} for n in range(300)],
        chunk_vectors=[{"id": f"c{n}", "vector": unit(*v)} for n, v in enumerate(vectors)],
    )
    indexes = ask(store, "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%%chunk_vectors USING hnsw%%'")
    assert indexes == [(1,)]
    with store.connect("reader") as connection:
        near = by_vector(connection, domain(), MODEL, np.array(unit(*vectors[17])), 10)
        exact = cosines(connection, MODEL, np.array([unit(*vectors[17])]), [uid("c17"), uid("none")])
    assert near.ids[0] == uid("c17")
    assert near.scores[0] == pytest.approx(1, abs=1e-5)
    assert exact == pytest.approx({uid("c17"): 1}, abs=1e-5)


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ({"path_glob": "people/*.md"}, {"anna"}),
        ({"path_glob": "**/*.md"}, {"anna", "plan"}),
        ({"type": ("project",)}, {"plan"}),
        ({"status": ("done",)}, {"plan"}),
        ({"tags": ("a", "b")}, {"plan"}),
        ({"tags": ("a",)}, {"anna", "plan"}),
        ({"tags": ("#A", "Team")}, {"anna"}),
        ({"tags": ("#team/Design",)}, {"anna"}),
        ({"tags": ("tea",)}, set()),
        ({"tags": ("#",)}, {"anna", "plan"}),
        ({"agent": ("claude",), "device": ("laptop",)}, {"anna"}),
        ({"session_id": ("s1",), "session_key": "s2"}, {"anna", "plan"}),
        ({"since": "2026-03-01"}, {"plan"}),
        ({"until": "2026-03-01", "type": ("person",)}, {"anna"}),
    ],
)
def test_dory_every_filter_of_a_scope_holds(store: Store, scope: dict[str, object], names: set[str]):
    """In the search itself, so that what is filtered out takes nobody's place."""
    remember(
        store,
        "acme",
        corpora=[{"id": "corpus", "root": "/nowhere", "profile": "plain"}],
        documents=[
            {"id": "anna d", "corpus_id": "corpus", "path": "people/anna.md",
             "metadata": {"type": "person", "tags": ["a", "#Team/design"], "agent": "claude", "device": "laptop", "session_id": "s1",
                          "updated": "2026-02-01"}},
            {"id": "plan d", "corpus_id": "corpus", "path": "projects/x/state.md",
             "metadata": {"type": "project", "status": "done", "tags": ["b", "a"], "session_id": "s2", "date": "2026-04-01"}},
        ],
        chunks=[
            {"id": name, "document_id": f"{name} d", "content": "the same ledger", "start_line": 1, "end_line": 3}
            for name in ("anna", "plan")
        ],
    )  # fmt: skip
    asked_for = Domain(uid("acme"), ("durable",), SearchScope.model_validate(scope))
    with store.connect("reader") as connection:
        assert set(by_words(connection, asked_for, "ledger", 1 if len(names) == 1 else 5).ids) == {
            uid(n) for n in names
        }
        assert set(by_substring(connection, asked_for, "Same Ledger", 5).ids) == {uid(n) for n in names}


def test_what_stood_then_is_found_as_of_then(store: Store):
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[
            {"id": "old", "document_id": "d", "content": "ledger", "recorded_at": ago(9), "invalidated_at": ago(3)},
            {"id": "new", "document_id": "d", "content": "ledger", "recorded_at": ago(2)},
        ],
    )
    assert found(store, "ledger", as_of=ago(5))[0] == [uid("old")]
    assert found(store, "ledger")[0] == [uid("new")]
    assert set(found(store, "ledger", retired=True)[0]) == {uid("old"), uid("new")}


def test_each_search_by_words_is_planned_for_its_namespace(store: Store):
    """Never by a plan that was prepared for any namespace: among several, that one reads a namespace's whole index for each word."""
    filled(store, passages(20))
    with store.connect("reader") as connection:
        for n in range(12):
            by_words(connection, domain(), f"word{n} word3", 10)
        statements = [str(r[0]) for r in connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()]
    assert not [s for s in statements if "memory.search_texts" in s]
