"""A store of Hindsight's shape, and what its client does to it: facts of banks, their entities, links between them, and an archive."""

from __future__ import annotations

import json
import uuid
from random import Random
from typing import Final

from slowwave.store.logins import Connection

DDL: Final = """
CREATE TABLE {schema}.documents (id text, bank_id text, PRIMARY KEY (id, bank_id));
CREATE TABLE {schema}.chunks (chunk_id text PRIMARY KEY, document_id text NOT NULL, bank_id text NOT NULL,
  FOREIGN KEY (document_id, bank_id) REFERENCES {schema}.documents ON DELETE CASCADE);
CREATE TABLE {schema}.entities (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), canonical_name text NOT NULL, bank_id text NOT NULL);
CREATE UNIQUE INDEX ON {schema}.entities (bank_id, lower(canonical_name));
CREATE TABLE {schema}.memory_units (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), bank_id text NOT NULL, document_id text,
  text text NOT NULL, embedding public.vector({dimensions}), context text, event_date timestamptz, occurred_start timestamptz,
  occurred_end timestamptz, mentioned_at timestamptz,
  fact_type text NOT NULL DEFAULT 'world' CHECK (fact_type IN ('world', 'experience', 'observation')),
  metadata jsonb NOT NULL DEFAULT '{{}}',
  created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
  chunk_id text REFERENCES {schema}.chunks ON DELETE CASCADE, tags varchar[] NOT NULL DEFAULT '{{}}', proof_count int DEFAULT 1,
  source_memory_ids uuid[] DEFAULT '{{}}', consolidated_at timestamptz, observation_scopes jsonb, text_signals text, search_vector tsvector,
  consolidation_failed_at timestamptz, edited_at timestamptz, attachment_ids text[] NOT NULL DEFAULT '{{}}',
  FOREIGN KEY (document_id, bank_id) REFERENCES {schema}.documents ON DELETE CASCADE);
CREATE INDEX ON {schema}.memory_units USING hnsw (embedding public.vector_cosine_ops) WHERE fact_type = 'world' AND bank_id = 'anna';
CREATE INDEX ON {schema}.memory_units USING gin (search_vector);
CREATE TABLE {schema}.invalidated_memory_units (id uuid NOT NULL DEFAULT gen_random_uuid(), bank_id text NOT NULL, document_id text,
  text text NOT NULL, context text, event_date timestamptz, occurred_start timestamptz, occurred_end timestamptz, mentioned_at timestamptz,
  fact_type text NOT NULL DEFAULT 'world', metadata jsonb NOT NULL DEFAULT '{{}}', created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(), chunk_id text, tags varchar[] NOT NULL DEFAULT '{{}}', proof_count int DEFAULT 1,
  source_memory_ids uuid[] DEFAULT '{{}}', consolidated_at timestamptz, observation_scopes jsonb, text_signals text,
  consolidation_failed_at timestamptz, edited_at timestamptz, invalidation_reason text, invalidated_at timestamptz DEFAULT now(),
  entity_ids uuid[], causal_links jsonb NOT NULL DEFAULT '[]', attachment_ids text[] NOT NULL DEFAULT '{{}}',
  FOREIGN KEY (document_id, bank_id) REFERENCES {schema}.documents ON DELETE CASCADE);
CREATE UNIQUE INDEX ON {schema}.invalidated_memory_units (id);
CREATE TABLE {schema}.unit_entities (unit_id uuid REFERENCES {schema}.memory_units ON DELETE CASCADE,
  entity_id uuid REFERENCES {schema}.entities ON DELETE CASCADE, PRIMARY KEY (unit_id, entity_id));
CREATE TABLE {schema}.memory_links (
  from_unit_id uuid NOT NULL REFERENCES {schema}.memory_units ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  to_unit_id uuid NOT NULL REFERENCES {schema}.memory_units ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  link_type text NOT NULL
    CHECK (link_type IN ('temporal', 'semantic', 'entity', 'causes', 'caused_by', 'enables', 'prevents')),
  entity_id uuid REFERENCES {schema}.entities ON DELETE CASCADE,
  weight double precision NOT NULL DEFAULT 1 CHECK (weight >= 0.0 AND weight <= 1.0),
  created_at timestamptz NOT NULL DEFAULT now(), bank_id text NOT NULL);
CREATE UNIQUE INDEX ON {schema}.memory_links (from_unit_id, to_unit_id, link_type,
  coalesce(entity_id, '00000000-0000-0000-0000-000000000000'::uuid));
"""
_ADD: Final = """
INSERT INTO {schema}.memory_units (id, bank_id, document_id, text, embedding, context, mentioned_at, fact_type, tags, text_signals,
  search_vector) VALUES (%s, %s, 'day', %s, %s, 'chat', '2026-11-20 10:00:00+00'::timestamptz + %s * interval '1 hour', %s, %s, 'Anna',
  to_tsvector('english', %s))
"""
_LINK: Final = """
INSERT INTO {schema}.memory_links (from_unit_id, to_unit_id, link_type, entity_id, weight, bank_id)
SELECT %(id)s, m.id, k.kind, k.entity, %(weight)s, %(bank)s FROM {schema}.memory_units m
CROSS JOIN (VALUES ('semantic', NULL::uuid), ('entity', %(entity)s::uuid), ('temporal', NULL)) k (kind, entity)
WHERE m.bank_id = %(bank)s AND m.id <> %(id)s ORDER BY md5(m.id::text || k.kind), k.kind LIMIT 4 ON CONFLICT DO NOTHING
"""


def add(connection: Connection, schema: str, bank: str, text: str, vector: list[float], n: int, r: Random) -> str:
    """The client retains a fact: with an entity, and links to facts before it."""
    id_ = str(uuid.UUID(int=r.getrandbits(128)))
    entity = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{bank} {n % 2}"))
    connection.execute(f"INSERT INTO {schema}.documents VALUES ('day', %s) ON CONFLICT DO NOTHING".encode(), (bank,))
    connection.execute(
        f"INSERT INTO {schema}.entities VALUES (%s, %s, %s) ON CONFLICT DO NOTHING".encode(),
        (entity, f"Thing {n % 2}", bank),
    )
    given = (id_, bank, text, json.dumps(vector), n, "experience" if n % 5 == 4 else "world", ["a b", 'q"'], text)
    connection.execute(_ADD.format(schema=schema).encode(), given)
    connection.execute(f"INSERT INTO {schema}.unit_entities VALUES (%s, %s)".encode(), (id_, entity))
    linked = {"id": id_, "bank": bank, "entity": entity, "weight": round(r.random(), 3)}
    connection.execute(_LINK.format(schema=schema).encode(), linked)
    return id_
