"""A store of Letta's shape, and what its client does to it: passages of archives, and their tags in a table beside them."""

from __future__ import annotations

import json
import uuid
from random import Random
from typing import Final

from slowwave.store.logins import Connection

DDL: Final = """
CREATE TABLE {schema}.organizations (id varchar PRIMARY KEY);
INSERT INTO {schema}.organizations VALUES ('org-00000000-0000-4000-8000-000000000000');
CREATE TABLE {schema}.archives (id varchar PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE {schema}.archival_passages (id varchar NOT NULL, text varchar NOT NULL, embedding_config json, metadata_ json NOT NULL,
  tags json, embedding public.vector({dimensions}), created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
  is_deleted boolean DEFAULT false NOT NULL, _created_by_id varchar, _last_updated_by_id varchar,
  organization_id varchar NOT NULL REFERENCES {schema}.organizations, archive_id varchar NOT NULL REFERENCES {schema}.archives
  ON DELETE CASCADE, PRIMARY KEY (id));
CREATE INDEX archival_passages_created_at_id_idx ON {schema}.archival_passages (created_at, id);
CREATE INDEX ix_archival_passages_archive_id ON {schema}.archival_passages (archive_id);
CREATE TABLE {schema}.passage_tags (id varchar NOT NULL, tag varchar NOT NULL, passage_id varchar NOT NULL REFERENCES
  {schema}.archival_passages ON DELETE CASCADE, archive_id varchar NOT NULL REFERENCES {schema}.archives ON DELETE CASCADE,
  created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), is_deleted boolean DEFAULT false NOT NULL,
  _created_by_id varchar, _last_updated_by_id varchar, organization_id varchar NOT NULL REFERENCES {schema}.organizations,
  PRIMARY KEY (id), CONSTRAINT uq_passage_tag UNIQUE (passage_id, tag));
CREATE INDEX ix_passage_tags_tag ON {schema}.passage_tags (tag);
"""
BLOCKS: Final = """
CREATE TABLE organizations (id varchar PRIMARY KEY);
INSERT INTO organizations VALUES ('org-1');
CREATE TABLE block (template_name varchar, description varchar, label varchar NOT NULL, is_template boolean DEFAULT false NOT NULL,
  preserve_on_migration boolean, value varchar NOT NULL, "limit" integer DEFAULT 5000 NOT NULL, metadata_ json,
  read_only boolean DEFAULT false NOT NULL, hidden boolean, current_history_entry_id varchar, version integer DEFAULT 1 NOT NULL,
  organization_id varchar NOT NULL REFERENCES organizations, id varchar PRIMARY KEY, created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(), is_deleted boolean DEFAULT false NOT NULL, _created_by_id varchar, _last_updated_by_id varchar,
  project_id varchar, entity_id varchar, base_template_id varchar, template_id varchar, deployment_id varchar,
  CONSTRAINT unique_block_id_label UNIQUE (id, label));
CREATE TABLE block_history (id varchar PRIMARY KEY, block_id varchar NOT NULL REFERENCES block ON DELETE CASCADE);
ALTER TABLE block ADD CONSTRAINT fk_block_current_history_entry FOREIGN KEY (current_history_entry_id) REFERENCES block_history(id);
"""
"""Memory blocks, as the tables of letta 0.16.8 have them."""

_ADD: Final = """
INSERT INTO {schema}.archival_passages (id, text, embedding_config, metadata_, tags, embedding, organization_id, archive_id)
VALUES (%s, %s, '{{"embedding_model":  "stub"}}', '{{ }}', %s, %s, 'org-00000000-0000-4000-8000-000000000000', %s)
"""
_TAG: Final = """
INSERT INTO {schema}.passage_tags (id, tag, passage_id, archive_id, organization_id)
VALUES (%s, %s, %s, %s, 'org-00000000-0000-4000-8000-000000000000')
"""


def add(connection: Connection, schema: str, archive: str, text: str, vector: list[float], n: int, r: Random) -> str:
    """The client inserts a passage, with its tags in both places; some have none."""
    id_ = f"passage-{uuid.UUID(int=r.getrandbits(128))}"
    tags = ["seed", 'q"'][: n % 3]
    connection.execute(
        f"INSERT INTO {schema}.archives VALUES (%s, 'notes') ON CONFLICT DO NOTHING".encode(), (archive,)
    )
    connection.execute(
        _ADD.format(schema=schema).encode(),
        (id_, text, json.dumps(tags) if tags else None, json.dumps(vector), archive),
    )
    for tag in tags:
        tagged = (f"passage_tag-{uuid.UUID(int=r.getrandbits(128))}", tag, id_, archive)
        connection.execute(_TAG.format(schema=schema).encode(), tagged)
    return id_
