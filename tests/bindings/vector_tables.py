"""Tables of texts and vectors as LangChain's own clients fill them, and as LlamaIndex and Supabase lay them out."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import psycopg
from langchain_core.embeddings import Embeddings

from slowwave.store.connect import Store
from tests.bindings.clients import DIMENSIONS, embedding, texts

ANNA, BEN = "anna", "ben"

LLAMAINDEX: Final = f"""
CREATE TABLE data_notes (id bigserial PRIMARY KEY, text varchar NOT NULL, metadata_ json, node_id varchar, embedding vector({DIMENSIONS}),
  text_search_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED);
CREATE INDEX notes_idx_1 ON data_notes ((metadata_ ->> 'ref_doc_id'));
CREATE INDEX ON data_notes USING hnsw (embedding vector_cosine_ops);
"""
SUPABASE: Final = f"""
CREATE TABLE documents (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), content text, metadata jsonb, embedding vector({DIMENSIONS}));
CREATE FUNCTION match_documents(query_embedding vector({DIMENSIONS}), match_count int, filter jsonb) RETURNS TABLE (id uuid, content text)
LANGUAGE sql AS $$ SELECT d.id, d.content FROM documents d WHERE d.metadata @> filter ORDER BY d.embedding <=> query_embedding
LIMIT match_count $$;
"""
_SEARCH: Final = """
SELECT text FROM data_notes WHERE metadata_ ->> 'user_id' = %s ORDER BY embedding::vector <=> %s::vector LIMIT %s
"""


class Words(Embeddings):
    """The embedder of all tests, as LangChain asks for one."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embedding(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return embedding(text)


@dataclass(frozen=True)
class Table:
    """One table and what its client does: ``add`` texts of a user and return their ids, find the nearest, and delete by id."""

    name: str
    kind: str
    parameters: dict[str, str]
    add: Callable[[Sequence[str], str], list[str]]
    find: Callable[[str, str, int], list[str]]
    delete: Callable[[Sequence[str]], None]


def langchain(store: Store) -> Table:
    """PGVector: every collection in one table."""
    from langchain_postgres import PGVector

    client = PGVector(embeddings=Words(), collection_name="notes", connection=_sqlalchemy(store), use_jsonb=True)
    return _langchain(client, "langchain_pg_embedding", "langchain", {})


def langchain_v2(store: Store) -> Table:
    """PGVectorStore: a table of its own."""
    from langchain_postgres import PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(_sqlalchemy(store))
    engine.init_vectorstore_table("notes", DIMENSIONS)
    client = PGVectorStore.create_sync(engine, Words(), "notes")
    return _langchain(client, "notes", "langchain_v2", {"table": "notes"})


def llamaindex(store: Store, vectors: str = "vector") -> Table:
    """A table of LlamaIndex's shape: a node's metadata is JSON that holds the node again, without its text."""
    with psycopg.connect(store.owner) as connection:
        connection.execute(LLAMAINDEX.replace(" vector", f" {vectors}").encode())

    def add(said: Sequence[str], user: str) -> list[str]:
        rows = []
        for text in said:
            node = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{user} {text}"))
            meta = {
                "user_id": user,
                "_node_content": json.dumps({"id_": node, "text": ""}),
                "ref_doc_id": f"day-{user}",
            }
            rows.append((text, json.dumps(meta, indent=1), node, str(embedding(text))))
        with psycopg.connect(store.owner) as connection:
            made = [
                connection.execute(
                    "INSERT INTO data_notes (text, metadata_, node_id, embedding) VALUES (%s, %s, %s, %s) RETURNING id::text",
                    row,
                ).fetchone()
                for row in rows
            ]
        return [str(row[0]) for row in made if row]

    def find(text: str, user: str, count: int) -> list[str]:
        with psycopg.connect(store.owner) as connection:
            return [str(t) for (t,) in connection.execute(_SEARCH, (user, str(embedding(text)), count))]

    def delete(ids: Sequence[str]) -> None:
        with psycopg.connect(store.owner) as connection:
            connection.execute("DELETE FROM data_notes WHERE id = ANY(%s::bigint[])", (list(ids),))

    return Table("data_notes", "llamaindex", {"table": "data_notes"}, add, find, delete)


def supabase(store: Store) -> Table:
    """A table of Supabase's guides, and their function of matching."""
    with psycopg.connect(store.owner) as connection:
        connection.execute(SUPABASE.encode())

    def add(said: Sequence[str], user: str) -> list[str]:
        with psycopg.connect(store.owner) as connection:
            made = [
                connection.execute(
                    "INSERT INTO documents (content, metadata, embedding) VALUES (%s, %s, %s) RETURNING id::text",
                    (text, json.dumps({"user_id": user, "source": "chat"}), str(embedding(text))),
                ).fetchone()
                for text in said
            ]
        return [str(row[0]) for row in made if row]

    def find(text: str, user: str, count: int) -> list[str]:
        with psycopg.connect(store.owner) as connection:
            found = connection.execute(
                "SELECT content FROM match_documents(%s::vector, %s, %s)",
                (str(embedding(text)), count, json.dumps({"user_id": user})),
            )
            return [str(t) for (t,) in found]

    def delete(ids: Sequence[str]) -> None:
        with psycopg.connect(store.owner) as connection:
            connection.execute("DELETE FROM documents WHERE id = ANY(%s::uuid[])", (list(ids),))

    return Table("documents", "supabase", {"id_type": "uuid"}, add, find, delete)


TABLES: Final = {
    "langchain": langchain,
    "langchain_v2": langchain_v2,
    "llamaindex": llamaindex,
    "llamaindex, halfvec": partial(llamaindex, vectors="halfvec"),
    "supabase": supabase,
}


def fill(table: Table, count: int = 60) -> None:
    """Two users, of which Anna's texts hold what is wrong."""
    table.add(texts(count, "Anna"), ANNA)
    table.add(texts(count, "Ben")[6:], BEN)


def _langchain(client: Any, name: str, kind: str, parameters: dict[str, str]) -> Table:
    def add(said: Sequence[str], user: str) -> list[str]:
        return client.add_texts(list(said), metadatas=[{"user_id": user, "source": "chat"} for _ in said])

    def find(text: str, user: str, count: int) -> list[str]:
        return [d.page_content for d in client.similarity_search(text, k=count, filter={"user_id": user})]

    def delete(ids: Sequence[str]) -> None:
        client.delete(list(ids))

    return Table(name, kind, parameters, add, find, delete)


def _sqlalchemy(store: Store) -> str:
    return store.owner.replace("postgresql://", "postgresql+psycopg://", 1)
