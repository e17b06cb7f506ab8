"""Stores that are not ours, in a schema of their own: shaped like Mem0, LangGraph's store, LangChain's tables, and a person's own table.

Two users keep notes in each. What their client does is done here by plain SQL, as that client does it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from slowwave.bindings.binding import (
    Binding,
    BoundColumn,
    BoundTable,
    Derived,
    KeyColumn,
    Parent,
    RetiredWhen,
    Retirement,
    Stamp,
    row_id_sql,
)
from slowwave.bindings.files import built_in, built_in_text, read_binding
from slowwave.changes.relations import Catalogue, bound_catalogue, row_types
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from tests.bindings import hindsight, khora, letta

ANNA, BEN = "anna", "ben"

_DDL: Final = {
    "mem0": """
CREATE TABLE {schema}.mem0 (id uuid PRIMARY KEY, vector public.vector(4), payload jsonb);
CREATE INDEX ON {schema}.mem0 USING gin (to_tsvector('simple', payload ->> 'text_lemmatized'));
""",
    "langgraph": """
CREATE TABLE {schema}.store (prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL, created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(), expires_at timestamptz, ttl_minutes int, PRIMARY KEY (prefix, key));
CREATE TABLE {schema}.store_vectors (prefix text NOT NULL, key text NOT NULL, field_name text NOT NULL, embedding public.vector(4),
  created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), PRIMARY KEY (prefix, key, field_name),
  FOREIGN KEY (prefix, key) REFERENCES {schema}.store (prefix, key) ON DELETE CASCADE);
""",
    "langchain": """
CREATE TABLE {schema}.langchain_pg_collection (uuid uuid PRIMARY KEY, name varchar NOT NULL UNIQUE, cmetadata json);
CREATE TABLE {schema}.langchain_pg_embedding (id varchar PRIMARY KEY, collection_id uuid REFERENCES {schema}.langchain_pg_collection
  ON DELETE CASCADE, embedding public.vector, document varchar, cmetadata jsonb);
INSERT INTO {schema}.langchain_pg_collection VALUES ('00000000-0000-0000-0000-000000000001', 'notes', null);
""",
    "hindsight": hindsight.DDL,
    "khora": khora.DDL,
    "letta": letta.DDL,
    "notes": """
CREATE TABLE {schema}."User Notes" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner varchar(40), body text NOT NULL, meta json,
  "gone at" timestamptz, embedding public.vector(4), words tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED);
""",
}


def binding_of(shape: str, schema: str) -> Binding:
    """The binding of a shape's tables in a schema."""
    if shape in built_in() and shape not in _TABLES:
        return read_binding(built_in_text(shape), {"schema": schema})
    return Binding(shape, {"mem0": "Mem0", "langgraph": "LangGraph", "notes": "Notes"}[shape], _TABLES[shape](schema))


def _mem0(schema: str) -> Mapping[str, BoundTable]:
    def at(*path: str, kind: str = "text") -> BoundColumn:
        return BoundColumn("payload", path, kind, "jsonb")

    table = BoundTable(
        name="memories",
        schema=schema,
        table="mem0",
        key=(KeyColumn("id", "uuid"),),
        namespace=at("user_id"),
        apart=(at("user_id"), at("agent_id")),
        columns={
            "content": at("data"),
            "hash": at("hash"),
            "lemmas": at("text_lemmatized"),
            "updated_at": at("updated_at"),
            "expires": at("expiration_date"),
            "author": at("actor_id"),
            "vector": BoundColumn("vector", type="vector"),
        },
        retired=RetiredWhen(at("expiration_date", kind="date"), "past"),
        derived=(Derived("hash", "md5"), Derived("lemmas", "copy"), Derived("vector", "embedding")),
        stamps=(Stamp("updated_at", "iso"),),
        retire=Retirement("columns", (("expires", "1970-01-01"),)),
        lose=(("hash", None),),
    )
    return {"memories": table}


def _langgraph(schema: str) -> Mapping[str, BoundTable]:
    rows = BoundTable(
        name="memories",
        schema=schema,
        table="store",
        key=(KeyColumn("prefix", "text"), KeyColumn("key", "text")),
        namespace=BoundColumn("prefix"),
        columns={
            "content": BoundColumn("value", ("content",), "text", "jsonb"),
            "updated_at": BoundColumn("updated_at", type="timestamptz"),
        },
        retired=RetiredWhen(BoundColumn("expires_at", type="timestamptz"), "past"),
        derived=(Derived("vector", "embedding", table="vectors"),),
        stamps=(Stamp("updated_at", "instant"),),
        volatile=("expires_at", "ttl_minutes"),
        retire=Retirement("delete"),
        cascades=("vectors",),
    )
    vectors = BoundTable(
        name="vectors",
        schema=schema,
        table="store_vectors",
        key=(KeyColumn("prefix", "text"), KeyColumn("key", "text"), KeyColumn("field_name", "text")),
        columns={
            "vector": BoundColumn("embedding", type="vector"),
            "updated_at": BoundColumn("updated_at", type="timestamptz"),
        },
        only=(("field_name", ("content",)),),
        stamps=(Stamp("updated_at", "instant"),),
        parent=Parent("memories", (("prefix", "prefix"), ("key", "key"))),
    )
    return {"memories": rows, "vectors": vectors}


def _notes(schema: str) -> Mapping[str, BoundTable]:
    table = BoundTable(
        name="memories",
        schema=schema,
        table="User Notes",
        key=(KeyColumn("id", "bigint"),),
        namespace=BoundColumn("owner"),
        columns={
            "content": BoundColumn("body"),
            "source": BoundColumn("meta", ("from",), "text", "json"),
            "digest": BoundColumn("meta", ("hash",), "text", "json"),
            "gone": BoundColumn("gone at", type="timestamptz"),
            "vector": BoundColumn("embedding", type="vector"),
        },
        retired=RetiredWhen(BoundColumn("gone at", type="timestamptz"), "past"),
        derived=(Derived("digest", "md5"), Derived("vector", "embedding")),
        retire=Retirement("columns", (("gone", "1970-01-01 00:00:00+00"),)),
    )
    return {"memories": table}


_TABLES: Final = {"mem0": _mem0, "langgraph": _langgraph, "notes": _notes}

_WHOSE: Final = {
    "mem0": ("mem0", "payload ->> 'user_id'"),
    "langgraph": ("store", "prefix"),
    "langchain": ("langchain_pg_embedding", "cmetadata ->> 'user_id'"),
    "hindsight": ("memory_units", "bank_id"),
    "khora": ("chronicle_events", "namespace_id"),
    "letta": ("archival_passages", "archive_id"),
    "notes": ('"User Notes"', "owner"),
}
"""The table with the texts of a shape, and whose a row of it is."""


@dataclass(frozen=True)
class Peer:
    """A store of others with rows in it, and the namespace of ours that is Anna's part of it."""

    shape: str
    schema: str
    namespace_id: str
    slug: str
    binding: Binding

    @property
    def bound(self) -> BoundTable:
        return self.binding.tables["memories"]

    def catalogue(self, connection: Connection, user: str = ANNA) -> Catalogue:
        return bound_catalogue(self.binding, self.native(user), row_types(connection, self.binding))

    def native(self, user: str) -> str:
        """What the store calls a user."""
        return {ANNA: khora.ANNA, BEN: khora.BEN}[user] if self.shape == "khora" else user

    def deleting(self) -> Peer:
        """The same store, whose rows are retired by deleting them."""
        bound = replace(self.bound, retire=Retirement("delete"))
        return replace(self, binding=replace(self.binding, tables={**self.binding.tables, "memories": bound}))

    def ids(self, connection: Connection, user: str = ANNA) -> list[str]:
        """Ids of a user's rows as snapshots have them, sorted."""
        id_ = row_id_sql(self.binding, self.bound, "t").as_string(connection)
        table, owner = _WHOSE[self.shape]
        rows = connection.execute(
            f"SELECT {id_}::text FROM {self.schema}.{table} t WHERE {owner} = %s ORDER BY 1".encode(),
            (self.native(user),),
        )
        return [str(i) for (i,) in rows]

    def tables(self) -> dict[str, str]:
        """Every row of every table, one hash a table."""
        return {name: f'"{bound.schema}"."{bound.table}"' for name, bound in self.binding.tables.items()}

    def digest(self, connection: Connection, *, but: Sequence[str] = ()) -> dict[str, str]:
        """Table → MD5 over all its rows, whoever's; without the columns ``but``, which their client moves by reading."""
        less = "".join(f" - '{c}'" for c in but)
        found: dict[str, str] = {}
        for name, table in self.tables().items():
            row = f"(to_jsonb(t){less})::text || coalesce(t::text, '')" if not but else f"(to_jsonb(t){less})::text"
            query = f"SELECT md5(coalesce(string_agg({row}, '|' ORDER BY {row}), '')) FROM {table} t"
            found[name] = str(connection.execute(query.encode()).fetchone())
        return found


def make_peer(store: Store, shape: str, r: Random, rows: int = 6) -> Peer:
    """A store of one shape, with as many rows for each of two users, of which some say what others of them say."""
    schema, namespace_id = f"peer_{uuid.uuid4().hex[:10]}", str(uuid.uuid4())
    peer = Peer(shape, schema, namespace_id, f"{shape}-{schema}", binding_of(shape, schema))
    with store.connect("owner") as connection, connection.transaction():
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(_DDL[shape].format(schema=schema, dimensions=4).encode())
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO slowwave_applier, slowwave_reader".encode())
        connection.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO slowwave_applier".encode()
        )
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO slowwave_reader".encode())
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (%s, %s)", (namespace_id, peer.slug))
        for user in (ANNA, BEN):
            for n in range(rows):
                add(connection, peer, user, f'Note {r.randrange(4)} of {user}: "quoted", {{x}}, 50 %.', n, r)
    return peer


def add(connection: Connection, peer: Peer, user: str, text: str, n: int, r: Random) -> None:
    """The client adds a row."""
    vector = json.dumps([round(r.random(), 3) for _ in range(4)])
    s = peer.schema
    if peer.shape == "mem0":
        payload = _payload(user, text) | ({"nested": {"b": 1, "a": [None]}} if n % 2 else {"agent_id": None})
        connection.execute(
            f"INSERT INTO {s}.mem0 VALUES (%s, %s, %s)".encode(),
            (
                uuid.uuid5(uuid.UUID(int=r.getrandbits(128)), f"{user} {n} {text}"),
                vector if n % 3 else None,
                json.dumps(payload),
            ),
        )
    elif peer.shape == "langgraph":
        key = f"k{n} \"'{{,}}\\"
        value = json.dumps({"content": text, "title": f"note {n}"})
        connection.execute(
            f"INSERT INTO {s}.store (prefix, key, value, expires_at, ttl_minutes) "
            "VALUES (%s, %s, %s, now() + interval '1 day', 60)".encode(),
            (user, key, value),
        )
        for name in ["content", "title"][: n % 3]:
            connection.execute(
                f"INSERT INTO {s}.store_vectors (prefix, key, field_name, embedding) VALUES (%s, %s, %s, %s)".encode(),
                (user, key, name, vector),
            )
    elif peer.shape == "khora":
        khora.add(connection, s, peer.native(user), text, json.loads(vector), r)
    elif peer.shape == "hindsight":
        hindsight.add(connection, s, user, text, json.loads(vector), n, r)
    elif peer.shape == "letta":
        letta.add(connection, s, user, text, json.loads(vector), n, r)
    elif peer.shape == "langchain":
        connection.execute(
            f"INSERT INTO {s}.langchain_pg_embedding VALUES (%s, '00000000-0000-0000-0000-000000000001', %s, %s, %s)".encode(),
            (f"{user} {n} \"'{{,}}", vector, text, json.dumps({"user_id": user, "source": f"day {n}"})),
        )
    else:
        meta = f'{{"z": 1,  "from": "chat",\n "hash": "{_md5(text)}"}}' if n % 3 else None
        connection.execute(
            f'INSERT INTO {s}."User Notes" (owner, body, meta, embedding) VALUES (%s, %s, %s, %s)'.encode(),
            (user, text, meta, vector),
        )


def client_writes(connection: Connection, peer: Peer, user: str, r: Random) -> None:
    """Whatever a client does by day: it reads, says something new, rewrites a row, or deletes one."""
    s, doing = peer.schema, r.choice(["add", "rewrite", "delete", "read"])
    if doing == "add":
        add(connection, peer, user, f"New {r.randrange(99)}", 100 + r.randrange(10**6), r)
        return
    name, owner = _WHOSE[peer.shape]
    table = f"{s}.{name}"
    rows = connection.execute(
        f"SELECT ctid::text FROM {table} WHERE {owner} = %s ORDER BY ctid".encode(), (peer.native(user),)
    ).fetchall()
    if not rows:
        return
    (ctid,) = r.choice(rows)
    text = f"Said anew {r.randrange(99)}"
    if doing == "delete":
        connection.execute(f"DELETE FROM {table} WHERE ctid = %s::tid".encode(), (ctid,))
    elif doing == "read":
        if peer.shape == "langgraph":
            connection.execute(
                f"UPDATE {table} SET expires_at = now() + interval '2 days' WHERE ctid = %s::tid".encode(), (ctid,)
            )
    elif peer.shape == "mem0":
        payload = json.dumps(_payload(user, text))
        connection.execute(
            f"UPDATE {table} SET payload = %s, vector = '[1,0,0,1]' WHERE ctid = %s::tid".encode(), (payload, ctid)
        )
    elif peer.shape == "langgraph":
        connection.execute(
            f"UPDATE {table} SET value = %s, updated_at = now() WHERE ctid = %s::tid".encode(),
            (json.dumps({"content": text}), ctid),
        )
    elif peer.shape == "khora":
        connection.execute(
            f"UPDATE {table} SET source_text = %s, embedding = '[1,0,0,1]' WHERE ctid = %s::tid".encode(), (text, ctid)
        )
    elif peer.shape == "hindsight":
        connection.execute(
            f"UPDATE {table} SET text = %s, embedding = '[1,0,0,1]', edited_at = now() WHERE ctid = %s::tid".encode(),
            (text, ctid),
        )
    elif peer.shape == "letta":
        connection.execute(
            f"UPDATE {table} SET text = %s, embedding = '[1,0,0,1]', updated_at = now() WHERE ctid = %s::tid".encode(),
            (text, ctid),
        )
    elif peer.shape == "langchain":
        connection.execute(
            f"UPDATE {table} SET document = %s, embedding = '[1,0,0,1]' WHERE ctid = %s::tid".encode(), (text, ctid)
        )
    else:
        connection.execute(f"UPDATE {table} SET body = %s WHERE ctid = %s::tid".encode(), (text, ctid))


def _payload(user: str, text: str) -> dict[str, Any]:
    stamp = "2026-11-22T01:09:19.374076+00:00"
    return {
        "data": text,
        "hash": _md5(text),
        "text_lemmatized": text,
        "user_id": user,
        "created_at": stamp,
        "updated_at": stamp,
    }


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
