"""A store of khora's shape without a graph beside it: events and facts, entities and what relates them."""

from __future__ import annotations

import json
import uuid
from random import Random
from typing import Final

from slowwave.store.logins import Connection

ANNA, BEN = (str(uuid.uuid5(uuid.NAMESPACE_OID, user)) for user in ("anna", "ben"))
"""Rows of ``memory_namespaces``."""

DDL: Final = """
CREATE TABLE {schema}.memory_namespaces (id uuid PRIMARY KEY, is_active boolean NOT NULL DEFAULT true);
CREATE TABLE {schema}.chunks (id uuid PRIMARY KEY, namespace_id uuid NOT NULL REFERENCES {schema}.memory_namespaces ON DELETE CASCADE);
CREATE TABLE {schema}.chronicle_events (id uuid PRIMARY KEY,
  namespace_id uuid NOT NULL REFERENCES {schema}.memory_namespaces ON DELETE CASCADE,
  chunk_id uuid NOT NULL REFERENCES {schema}.chunks ON DELETE CASCADE, subject varchar(512) NOT NULL, verb varchar(255) NOT NULL,
  object varchar(512), observation_date timestamptz NOT NULL DEFAULT now(), referenced_date timestamptz, relative_offset varchar(255),
  confidence double precision NOT NULL DEFAULT 1, source_text text NOT NULL DEFAULT '', embedding public.vector({dimensions}),
  created_at timestamptz DEFAULT now(), session_id uuid, invalidated_at timestamptz, invalidated_by uuid,
  merged_into_event_id uuid REFERENCES {schema}.chronicle_events ON DELETE SET NULL);
CREATE INDEX ON {schema}.chronicle_events USING hnsw (embedding public.vector_cosine_ops);
CREATE INDEX ON {schema}.chronicle_events (namespace_id, referenced_date) WHERE invalidated_at IS NULL;
CREATE TABLE {schema}.memory_facts (id uuid PRIMARY KEY,
  namespace_id uuid NOT NULL REFERENCES {schema}.memory_namespaces ON DELETE CASCADE, subject varchar(512) NOT NULL,
  predicate varchar(255) NOT NULL, object varchar(512) NOT NULL, fact_text text NOT NULL, confidence double precision NOT NULL DEFAULT 1,
  is_active boolean NOT NULL DEFAULT true, superseded_by uuid REFERENCES {schema}.memory_facts ON DELETE SET NULL,
  source_chunk_ids uuid[] NOT NULL DEFAULT '{{}}', created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
  session_id uuid, valid_to timestamptz, invalidated_at timestamptz, invalidated_by uuid);
CREATE INDEX ON {schema}.memory_facts (namespace_id, subject) WHERE invalidated_at IS NULL;
CREATE TABLE {schema}.entities (id uuid PRIMARY KEY, namespace_id uuid NOT NULL REFERENCES {schema}.memory_namespaces ON DELETE CASCADE,
  name varchar(512) NOT NULL, entity_type varchar(64), description text DEFAULT '', attributes jsonb DEFAULT '{{}}',
  source_document_ids uuid[] DEFAULT '{{}}', source_chunk_ids uuid[] DEFAULT '{{}}', mention_count int DEFAULT 1,
  embedding_model varchar(128) DEFAULT '', valid_from timestamptz, embedding public.vector({dimensions}), valid_until timestamptz,
  confidence double precision DEFAULT 1, metadata jsonb DEFAULT '{{}}', created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(), UNIQUE (namespace_id, name, entity_type));
CREATE TABLE {schema}.relationships (id uuid PRIMARY KEY,
  namespace_id uuid NOT NULL REFERENCES {schema}.memory_namespaces ON DELETE CASCADE,
  source_entity_id uuid NOT NULL REFERENCES {schema}.entities ON DELETE CASCADE,
  target_entity_id uuid NOT NULL REFERENCES {schema}.entities ON DELETE CASCADE, relationship_type varchar(64),
  description text DEFAULT '', properties jsonb DEFAULT '{{}}', source_document_ids uuid[] DEFAULT '{{}}',
  source_chunk_ids uuid[] DEFAULT '{{}}', valid_from timestamptz, valid_until timestamptz, confidence double precision DEFAULT 1,
  weight double precision DEFAULT 1, metadata jsonb DEFAULT '{{}}', created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(), valid_to timestamptz, invalidated_at timestamptz, invalidated_by uuid);
"""


def add(connection: Connection, schema: str, namespace: str, text: str, vector: list[float], r: Random) -> str:
    """The client remembers a text: one event and one fact of it, and what they are about."""
    id_, chunk = (str(uuid.UUID(int=r.getrandbits(128))) for _ in range(2))
    person, thing = (str(uuid.uuid5(uuid.UUID(namespace), name)) for name in ("Anna", "Tea"))
    edge = str(uuid.uuid5(uuid.UUID(namespace), "likes"))
    words = text.split()
    said = (words[0], words[1] if len(words) > 1 else "says", " ".join(words[2:]))
    for statement, given in (
        ("INSERT INTO {}.memory_namespaces VALUES (%s) ON CONFLICT DO NOTHING", (namespace,)),
        ("INSERT INTO {}.chunks VALUES (%s, %s)", (chunk, namespace)),
        (
            "INSERT INTO {}.chronicle_events (id, namespace_id, chunk_id, subject, verb, object, source_text, embedding) "
            "VALUES (%s, %s, %s, %s, %s, 'it', %s, %s)",
            (id_, namespace, chunk, *said[:2], text, json.dumps(vector)),
        ),
        (
            "INSERT INTO {}.memory_facts (id, namespace_id, subject, predicate, object, fact_text, source_chunk_ids) "
            "VALUES (%s, %s, %s, %s, %s, %s, ARRAY[%s]::uuid[])",
            (str(uuid.uuid5(uuid.UUID(id_), "fact")), namespace, *said, text, chunk),
        ),
        (
            "INSERT INTO {}.entities (id, namespace_id, name, entity_type) VALUES (%s, %s, 'Anna', 'person'), (%s, %s, 'Tea', 'thing') "
            "ON CONFLICT DO NOTHING",
            (person, namespace, thing, namespace),
        ),
        (
            "INSERT INTO {}.relationships (id, namespace_id, source_entity_id, target_entity_id, relationship_type) "
            "VALUES (%s, %s, %s, %s, 'likes') ON CONFLICT DO NOTHING",
            (edge, namespace, person, thing),
        ),
    ):
        connection.execute(statement.format(schema).encode(), given)
    return id_
