"""Tables of the store in SQLAlchemy Core, the only catalogue of columns and types; and pauses of the garbage collector.

Over 900 lines: the module is the whole schema, so that every column is found in one place.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.types import UserDefinedType

# The tables of the store, as SQLAlchemy Core: the only catalogue of columns and their types.
#
# Migrations create them, the exporter reads them and the mutations write them, all by this catalogue. Triggers, roles and indexes that
# SQLAlchemy does not express are in the migrations.
#

metadata = MetaData()


class Vector(UserDefinedType[str]):
    """The type ``vector`` of pgvector without a fixed dimension, which the model of the row determines."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the SQL name of the type."""
        return "vector"


def _instant(name: str, *, required: bool = False, now: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=not required, server_default=text("now()") if now else None)


def _id() -> Column[Any]:
    return Column("id", Uuid, primary_key=True)


def _namespace() -> Column[Any]:
    return Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id"), nullable=False)


def _count(name: str, default: int = 0) -> Column[Any]:
    return Column(name, Integer, nullable=False, server_default=str(default))


def _score(name: str, default: float = 1.0) -> Column[Any]:
    return Column(name, Double, nullable=False, server_default=str(default))


def _ids(name: str) -> Column[Any]:
    return Column(name, ARRAY(Uuid), nullable=False, server_default="{}")


def _json(name: str, default: str = "{}") -> Column[Any]:
    return Column(name, JSONB, nullable=False, server_default=default)


def _bitemporal() -> list[Column[Any]]:
    """Return the columns of world time (valid_*) and system time (recorded_at, invalidated_*)."""
    return [
        _instant("valid_from"),
        _instant("valid_to"),
        *_system(),
    ]


def _system() -> list[Column[Any]]:
    return [
        _instant("recorded_at", required=True, now=True),
        _instant("invalidated_at"),
        Column("invalidated_by", Uuid),
    ]


def _versioned() -> list[Column[Any]]:
    """Return the columns that triggers maintain; no digest, comparison or snapshot depends on them."""
    return [
        Column("content_version", BigInteger, nullable=False, server_default="1"),
        _instant("updated_at", required=True, now=True),
    ]


namespaces = Table(
    "namespaces",
    metadata,
    _id(),
    Column("slug", Text, nullable=False, unique=True),
    Column("read_only", Boolean, nullable=False, server_default="false"),
    _json("settings"),
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),  # 12 hexadecimal digits
    _namespace(),
    Column("name", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),  # SHA-256 of the secret
    Column("scopes", ARRAY(Text), nullable=False),
    _instant("expires_at", required=True),
    _instant("recorded_at", required=True, now=True),
    _instant("revoked_at"),
    schema="memory",
)

lock_rows = Table(
    "lock_rows",
    metadata,
    Column("key", BigInteger, primary_key=True, autoincrement=False),  # of the name that memory.lock_name locks
    schema="memory",
)

model_calls = Table(
    "model_calls",
    metadata,
    _id(),
    _namespace(),
    Column("step", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)

session_items = Table(
    "session_items",
    metadata,
    Column("id", BigInteger, primary_key=True),
    _namespace(),
    Column("session_id", Text, nullable=False),
    Column("page", Integer, nullable=False),
    Column("item", Text, nullable=False),  # JSON, as it was given
    _instant("recorded_at", required=True, now=True),
    _instant("invalidated_at"),
    schema="memory",
)

changes = Table(
    "changes",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("namespace_id", Uuid, nullable=False),
    Column("table_name", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)

corpora = Table(
    "corpora",
    metadata,
    _id(),
    _namespace(),
    Column("root", Text, nullable=False),  # a folder
    Column("profile", Text, nullable=False),
    _score("standing"),  # the weight of its search results compared with others
    _json("settings"),
    _json("sync_state"),  # the state of the files at the last sync
    _instant("synced_at"),
    *_system(),
    *_versioned(),
    schema="memory",
)

documents = Table(
    "documents",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("source", Text, nullable=False, server_default=""),
    Column("title", Text, nullable=False, server_default=""),
    Column("content", Text, nullable=False, server_default=""),
    _json("metadata"),
    *_bitemporal(),
    *_versioned(),
    Column("corpus_id", Uuid, ForeignKey("memory.corpora.id")),
    Column("path", Text),  # relative to the corpus's root, with slashes
    Column("content_hash", Text),  # SHA-256 of the file's bytes
    Column("plane", Text, nullable=False, server_default="durable"),  # durable, sessions
    Column(
        "version_of", Uuid, ForeignKey("memory.documents.id")
    ),  # the document of which this was the text until invalidated_at
    schema="memory",
)

pending_files = Table(
    "pending_files",
    metadata,
    Column("corpus_id", Uuid, ForeignKey("memory.corpora.id"), primary_key=True),
    Column("path", Text, primary_key=True),
    _namespace(),
    Column("was_hash", Text),  # SHA-256 of the file's text before the first write that it has not followed
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)

folder_blocks = Table(  # of folders that are worked on in place: slowwave.sources
    "folder_blocks",
    metadata,
    _id(),
    Column("folder", Text, ForeignKey("night.stores.name"), nullable=False),
    Column("path", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", Text, nullable=False),  # block, other, left
    *(Column(name, Text, nullable=False, server_default="") for name in ("section", "lead", "body", "tail", "said")),
    Column("gone", Boolean, nullable=False, server_default="false"),
    Column("place", Text, nullable=False, server_default=""),
    _instant("day"),
    _instant("recorded_at", required=True, now=True),
    Column("vector", Vector),
    Index("folder_blocks_path", "folder", "path", "position"),
    schema="memory",
)

folder_files = Table(
    "folder_files",
    metadata,
    Column("folder", Text, ForeignKey("night.stores.name"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("mtime", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    schema="memory",
)

proposals = Table(
    "proposals",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    _namespace(),
    Column("fingerprint", Text, nullable=False),  # SHA-256 of the request and of its inputs
    Column("about", Text, nullable=False),
    Column("actions", JSONB, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("sources", ARRAY(Text), nullable=False, server_default="{}"),  # paths of pages
    Column("agent", Text, nullable=False, server_default=""),
    Column("session_id", Text, nullable=False, server_default=""),
    Column("token_id", Text),
    _instant("recorded_at", required=True, now=True),
    Column("state", Text, nullable=False, server_default="kept"),  # kept, planned, refused, rejected
    Column("plan_hash", Text),
    Column("said", Text, nullable=False, server_default=""),  # why it could not be planned, or approved
    Column("verdict", Text),  # approve, reject, or done after the approver acted on it
    Column("verdict_plan", Text),  # the plan that was reviewed
    Column("verdict_by", Text),
    Column("verdict_reason", Text, nullable=False, server_default=""),
    _instant("verdict_at"),
    schema="memory",
)

night_requests = Table(  # agents insert rows through memory.request_night
    "night_requests",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    _namespace(),
    Column("reason", Text, nullable=False, server_default=""),
    Column("agent", Text, nullable=False, server_default=""),
    Column("token_id", Text),
    _instant("recorded_at", required=True, now=True),
    _instant("taken_at"),  # null while the request is open
    Column("run_id", Uuid),
    Column("outcome", Text, nullable=False, server_default=""),  # why there was no run
    schema="memory",
)

purges = Table(
    "purges",
    metadata,
    _id(),
    _namespace(),
    Column("path", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    _instant("recorded_at", required=True, now=True),
    Column("tombstones", ARRAY(Text), nullable=False, server_default="{}"),  # hashes of path and texts
    schema="memory",
)

erasures = Table(  # only plans insert rows: a trigger deletes the rows that they name
    "erasures",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    _namespace(),
    Column("table_name", Text, nullable=False),
    Column(
        "row_id", Uuid, nullable=False
    ),  # session_items: memory.session_item_id; model_answers: night.model_answer_id
    Column("reason", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    Column("recorded_by", Uuid),  # the item of the plan
    schema="memory",
)

chunks = Table(
    "chunks",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("document_id", Uuid, ForeignKey("memory.documents.id"), nullable=False),
    Column("ordinal", Integer, nullable=False, server_default="0"),
    Column("content", Text, nullable=False),
    *_system(),
    *_versioned(),
    Column("start_line", Integer),  # of the document's content, from 1
    Column("end_line", Integer),
    Column("content_hash", Text),  # SHA-256 of the text
    Column("speaker", Text),  # the name of the sender of a message; null for other passages
    schema="memory",
)

entities = Table(
    "entities",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("source", Text, nullable=False, server_default=""),
    Column("entity_type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    _json("attributes"),
    _ids("source_document_ids"),
    _ids("source_chunk_ids"),
    _count("mention_count"),
    _score("confidence"),
    Column("pinned", Boolean, nullable=False, server_default="false"),
    Column("state", Text, nullable=False, server_default="active"),
    Column("merged_into", Uuid),
    *_bitemporal(),
    *_versioned(),
    schema="memory",
)

entity_aliases = Table(
    "entity_aliases",
    metadata,
    _id(),
    _namespace(),
    Column("entity_id", Uuid, ForeignKey("memory.entities.id"), nullable=False),
    Column("alias", Text, nullable=False),
    Column("source", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    Column("recorded_by", Uuid),
    schema="memory",
)

links = Table(
    "links",
    metadata,
    _id(),
    _namespace(),
    Column("document_id", Uuid, ForeignKey("memory.documents.id"), nullable=False),
    Column("kind", Text, nullable=False),  # wikilink, markdown, embed, mention
    Column("target", Text, nullable=False),  # as it is written
    Column("target_document_id", Uuid, ForeignKey("memory.documents.id", deferrable=True, initially="IMMEDIATE")),
    Column("entity_id", Uuid, ForeignKey("memory.entities.id")),
    Column("anchor", Text, nullable=False, server_default=""),  # the heading or block that it names
    Column("line", Integer, nullable=False),
    Column("awaited_id", Uuid),  # the document that it will refer to once that exists; a plan names it in advance
    *_system(),
    *_versioned(),
    schema="memory",
)

relationships = Table(
    "relationships",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("source_entity_id", Uuid, ForeignKey("memory.entities.id"), nullable=False),
    Column("target_entity_id", Uuid, ForeignKey("memory.entities.id"), nullable=False),
    Column("relationship_type", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    _json("properties"),
    _ids("source_document_ids"),
    _ids("source_chunk_ids"),
    _score("confidence"),
    _score("weight"),
    *_bitemporal(),
    *_versioned(),
    schema="memory",
)

memory_facts = Table(
    "memory_facts",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("subject", Text, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("fact_text", Text, nullable=False, server_default=""),
    _score("confidence"),
    Column("is_active", Boolean, nullable=False, server_default="true"),
    Column("superseded_by", Uuid),
    Column("session_id", Text),
    _ids("source_chunk_ids"),
    *_bitemporal(),
    *_versioned(),
    schema="memory",
)

memories = Table(
    "memories",
    metadata,
    _id(),
    _namespace(),
    Column("external_id", Text),
    Column("kind", Text, nullable=False),  # episodic, semantic, procedural, working, event, claim, topic, summary
    Column("ring", Text, nullable=False, server_default="working"),
    Column("scope", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False, server_default="active"),  # active, merged, archived, quarantined
    Column("stage", Text, nullable=False, server_default="full"),
    Column("subject", Text, nullable=False, server_default=""),
    Column("author", Text, nullable=False, server_default=""),
    Column("source", Text, nullable=False, server_default=""),
    Column("session_id", Text),
    _score("importance", 0.5),
    _score("confidence"),
    _count("access_count"),
    _count("reinforcement_count"),
    _instant("last_accessed_at"),
    Column("pinned", Boolean, nullable=False, server_default="false"),
    Column("visibility", Text, nullable=False, server_default="private"),
    Column("sensitivity", Text, nullable=False, server_default=""),
    _json("tags", "[]"),
    _json("attributes"),
    _ids("source_document_ids"),
    _ids("source_chunk_ids"),
    Column("current_version_id", Uuid),
    Column("merged_into", Uuid),
    *_bitemporal(),
    *_versioned(),
    schema="memory",
)

memory_versions = Table(
    "memory_versions",
    metadata,
    _id(),
    _namespace(),
    Column("memory_id", Uuid, ForeignKey("memory.memories.id"), nullable=False),
    Column("ordinal", Integer, nullable=False, server_default="1"),
    Column("content", Text, nullable=False),
    Column("reason", Text, nullable=False, server_default="import"),
    _instant("recorded_at", required=True, now=True),
    Column("recorded_by", Uuid),
    schema="memory",
)

claim_events = Table(  # written by memory.remember and memory.forget and by plans; it contains no statement
    "claim_events",
    metadata,
    _id(),
    _namespace(),
    Column("claim_id", Uuid, nullable=False),
    Column("event", Text, nullable=False),  # added, supported, replaced, contradicted, retired, invalidated
    Column("other_id", Uuid),  # the claim that replaced or contradicts it
    Column("evidence_id", Uuid),  # the document that contains the evidence
    Column("agent", Text, nullable=False, server_default=""),
    Column("session_id", Text),
    Column("reason", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)

recall_events = (
    Table(  # partitioned by month on occurred_at, see memory.ensure_recall_partitions; memory.log_recall writes it
        "recall_events",
        metadata,
        Column("id", Uuid, primary_key=True),
        _namespace(),
        Column("external_id", Text),
        Column("occurred_at", DateTime(timezone=True), primary_key=True),
        Column("query", Text, nullable=False),
        _ids("hit_ids"),  # entities, chunks or memories, best first
        _ids("selected_ids"),  # the hits that the agent used
        Column("scores", ARRAY(Double), nullable=False, server_default="{}"),
        schema="memory",
    )
)

promotions = Table(
    "promotions",
    metadata,
    _id(),
    _namespace(),
    Column("memory_id", Uuid, ForeignKey("memory.memories.id"), nullable=False),
    Column("from_ring", Text, nullable=False),
    Column("to_ring", Text, nullable=False),
    _json("scores"),
    *_system(),
    *_versioned(),
    schema="memory",
)

pages = Table(
    "pages",
    metadata,
    _id(),
    _namespace(),
    Column("path", Text, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("body", Text, nullable=False, server_default=""),
    Column("input_hash", Text, nullable=False, server_default=""),
    *_system(),
    *_versioned(),
    schema="memory",
)

communities = Table(
    "communities",
    metadata,
    _id(),
    _namespace(),
    _ids("member_ids"),
    _json("payload"),
    Column("depth", Integer, nullable=False, server_default="1"),
    *_bitemporal(),
    *_versioned(),
    schema="memory",
)

vector_models = Table(
    "vector_models",
    metadata,
    Column("model", Text, primary_key=True),
    Column("dimensions", Integer, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="memory",
)


def _vectors(name: str, of: str, *more: Column[Any]) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Uuid, ForeignKey(f"memory.{of}.id"), primary_key=True),
        Column("model", Text, ForeignKey("memory.vector_models.model"), primary_key=True),
        _namespace(),
        Column("vector", Vector, nullable=False),
        *more,
        schema="memory",
    )


entity_vectors = _vectors("entity_vectors", "entities")
chunk_vectors = _vectors(
    "chunk_vectors", "chunks", Column("speaker", Text)
)  # the speaker in the text that was embedded
memory_vectors = _vectors("memory_vectors", "memories")

search_texts = Table(  # maintained by triggers, used by slowwave.search
    "search_texts",
    metadata,
    _id(),
    _namespace(),
    Column("kind", Text, nullable=False),  # chunks, entities, memories
    Column("plane", Text, nullable=False),
    Column("live", Boolean, nullable=False),
    Column("length", Integer, nullable=False),
    Column("words", TSVECTOR, nullable=False),
    schema="memory",
)

search_statistics = Table(
    "search_statistics",
    metadata,
    _namespace(),
    Column("texts", BigInteger, nullable=False),
    Column("words", BigInteger, nullable=False),
    schema="memory",
)

runs = Table(
    "runs",
    metadata,
    _id(),
    _namespace(),
    Column("mode", Text, nullable=False),  # plan, apply, undo, deep
    Column("state", Text, nullable=False),
    Column("trigger", Text, nullable=False, server_default="manual"),
    Column("plan_hash", Text),
    Column("approval_id", Uuid),
    Column("undo_of", Uuid),
    Column("dagster_run_id", Text),
    _instant("started_at", required=True, now=True),
    _instant("heartbeat_at", required=True, now=True),
    _instant("finished_at"),
    _instant("cancel_requested_at"),
    Column("change_counter", BigInteger),
    Column("settings_fingerprint", Text),
    _json("counts"),
    Column("error", Text),
    _json("parameters"),  # operations and scope, as they were requested
    _json("progress"),  # phase, done, total
    _instant("pause_requested_at"),
    Column("process", Text, nullable=False, server_default=""),  # machine and process id
    schema="night",
)

plans = Table(
    "plans",
    metadata,
    Column("plan_hash", Text, primary_key=True),
    _namespace(),
    Column("run_id", Uuid, nullable=False),
    Column("snapshot_id", Text, nullable=False),
    Column("settings_fingerprint", Text, nullable=False),
    Column("state", Text, nullable=False),  # awaiting_approval, approved, rejected, expired, superseded, empty
    _instant("recorded_at", required=True, now=True),
    _instant("expires_at", required=True),
    _json("header"),
    _json("probes"),
    _json("summary"),
    Column("seal", Text, nullable=False),  # the value of night.plan_seal when the plan was written
    schema="night",
)

plan_items = Table(
    "plan_items",
    metadata,
    Column("plan_hash", Text, ForeignKey("night.plans.plan_hash"), primary_key=True),
    Column("item_id", Uuid, primary_key=True),
    _namespace(),
    Column("ordinal", Integer, nullable=False),
    Column("operation", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("risk", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),
    Column("reason", Text, nullable=False, server_default=""),
    _json("mutation", "null"),
    _json("evidence"),
    _json("sources", "[]"),
    Column("subject", Text, nullable=False, server_default=""),  # the subject that a rejection of this item remembers
    Column("tokens", Integer, nullable=False, server_default="0"),
    Column("question", Text, nullable=False, server_default=""),  # the code of a review item's question
    schema="night",
)

approvals = Table(
    "approvals",
    metadata,
    _id(),
    _namespace(),
    Column("plan_hash", Text, ForeignKey("night.plans.plan_hash"), nullable=False),
    Column("approver", Text, nullable=False),
    Column("channel", Text, nullable=False),
    _ids("item_ids"),
    Column("forced", Boolean, nullable=False, server_default="false"),
    Column("note", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    _instant("expires_at", required=True),
    Column("seal", Text, nullable=False),  # the plan's seal at the time of the approval
    _json("probes"),  # the probes' figures about these items, without text of memory
    Column("login", Text, nullable=False, server_default=""),  # the database login that approved
    Column("policy_id", Uuid, ForeignKey("night.policies.id")),  # the policy that gave it, if a person accepted one
    schema="night",
)

policies = Table(
    "policies",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    _namespace(),
    Column("plan_hash", Text, ForeignKey("night.plans.plan_hash")),  # whose review taught it; null for low-risk changes
    Column("operation", Text, nullable=False),
    Column("kind", JSONB, nullable=False),  # of questions or of low-risk changes, see slowwave.plans.policies
    Column("says", Text, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("agreed", Integer, nullable=False),  # those with its verdict
    Column("least", Double, nullable=False),  # minimum probability of the items that it decides
    Column("per_night", Integer, nullable=False),
    Column("accepted_by", Text, nullable=False),
    Column("login", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    Column("verdict", Text, nullable=False, server_default="yes"),
    Column("most", Double, nullable=False, server_default="1"),  # maximum probability
    schema="night",
)

policy_revocations = Table(
    "policy_revocations",
    metadata,
    Column("policy_id", Uuid, ForeignKey("night.policies.id"), primary_key=True),
    _namespace(),
    Column("revoked_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

approval_rules = Table(
    "approval_rules",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id")),  # null: all namespaces without a separate rule
    Column("signatures", Integer, nullable=False),
    Column("not_author", Boolean, nullable=False, server_default="false"),
    Column("own_login", Boolean, nullable=False, server_default="false"),
    Column("set_by", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

countersignatures = Table(
    "countersignatures",
    metadata,
    Column("approval_id", Uuid, ForeignKey("night.approvals.id"), primary_key=True),
    _namespace(),
    Column("plan_hash", Text, nullable=False),
    Column("signed_by", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("login", Text, nullable=False, server_default=""),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

revocations = Table(
    "revocations",
    metadata,
    Column("approval_id", Uuid, ForeignKey("night.approvals.id"), primary_key=True),
    _namespace(),
    Column("plan_hash", Text, nullable=False),
    Column("revoked_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

applied = Table(
    "applied",
    metadata,
    Column("approval_id", Uuid, ForeignKey("night.approvals.id"), primary_key=True),
    _namespace(),
    Column("plan_hash", Text, nullable=False),
    Column("run_id", Uuid, nullable=False),
    _json("counts"),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

journal = Table(
    "journal",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("namespace_id", Uuid, nullable=False),  # triggers check that it exists
    Column("run_id", Uuid, nullable=False),
    Column("item_id", Uuid, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("row_id", Uuid, nullable=False),
    Column("row_key", Text, nullable=False, server_default=""),  # the model, for rows of a vectors table
    Column("column_name", Text, nullable=False, server_default=""),  # empty: the whole row
    Column("action", Text, nullable=False),  # set, add, insert, delete
    Column("before_hash", Text),
    Column("after_hash", Text),
    Column("undoes", BigInteger),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

before_images = Table(
    "before_images",
    metadata,
    Column("journal_id", BigInteger, primary_key=True, autoincrement=False),  # triggers check that the entry exists
    Column("namespace_id", Uuid, nullable=False),
    Column("before", Text),
    Column("after", Text),
    schema="night",
)

memory_events = Table(
    "memory_events",
    metadata,
    _id(),
    _namespace(),
    Column("sequence", BigInteger, nullable=False),
    Column("run_id", Uuid, nullable=False),
    Column("item_id", Uuid, nullable=False),
    Column("event", Text, nullable=False),
    Column("payload_hash", Text, nullable=False),
    Column("previous_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

store = Table(
    "store",
    metadata,
    Column("only_one", Boolean, primary_key=True, server_default="true"),
    Column("id", Uuid, nullable=False),
    schema="night",
)

conflicts = Table(
    "conflicts",
    metadata,
    _id(),
    _namespace(),
    Column("table_name", Text, nullable=False),
    Column("row_a_id", Uuid, nullable=False),
    Column("row_b_id", Uuid, nullable=False),
    Column("reason", Text, nullable=False),
    Column("resolution", Text, nullable=False, server_default="detected"),  # detected, deferred, kept, invalidated
    _json("evidence"),
    _instant("recorded_at", required=True, now=True),
    _instant("resolved_at"),
    Column("seen", Text, nullable=False, server_default=""),  # hash of the contents of both rows
    Column("run_id", Uuid),  # the run that detected it
    Column("winner_id", Uuid),
    Column("loser_id", Uuid),
    Column("resolved_by", Text),  # a person's name, a policy or a run
    Column("note", Text, nullable=False, server_default=""),
    schema="night",
)

llm_usage = Table(
    "llm_usage",
    metadata,
    _id(),
    _namespace(),
    Column("run_id", Uuid, nullable=False),
    Column("operation", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

model_answers = Table(
    "model_answers",
    metadata,
    Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id"), primary_key=True),
    Column("key", Text, primary_key=True),  # SHA-256 of the model and the question
    Column("model", Text, nullable=False),
    Column("answer", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Text, primary_key=True),
    _namespace(),
    Column("location", Text, nullable=False),
    Column("change_counter", BigInteger, nullable=False),
    Column("vector_model", Text),
    _json("row_counts"),
    _instant("taken_at", required=True),
    _instant("deleted_at"),
    Column("digest", Text, nullable=False, server_default=text("''")),
    schema="night",
)

findings = Table(
    "findings",
    metadata,
    _id(),
    _namespace(),
    Column("run_id", Uuid),
    Column("operation", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("message", Text, nullable=False),
    _json("details"),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

rejections = Table(
    "rejections",
    metadata,
    _id(),
    _namespace(),
    Column("operation", Text, nullable=False),
    Column("subject", Text, nullable=False),  # the rows and the values that the item saw of them
    _ids("row_ids"),
    Column("reason", Text, nullable=False),
    Column("rejected_by", Text, nullable=False),
    Column("plan_hash", Text),
    Column("item_id", Uuid),
    _instant("recorded_at", required=True, now=True),
    Column("policy_id", Uuid, ForeignKey("night.policies.id")),  # the policy that gave it, if a person accepted one
    schema="night",
)

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("rejection_id", Uuid, ForeignKey("night.rejections.id"), primary_key=True),
    _namespace(),
    Column("withdrawn_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

review_drafts = Table(
    "review_drafts",
    metadata,
    Column("id", BigInteger, primary_key=True),
    _namespace(),
    Column("plan_hash", Text, ForeignKey("night.plans.plan_hash"), nullable=False),
    Column("item_id", Uuid, nullable=False),
    Column("verdict", Text, nullable=False),  # yes, no, skip; none withdraws the reviewer's earlier verdict
    Column("note", Text, nullable=False, server_default=""),
    Column("reviewer", Text, nullable=False),
    Column("undoes", BigInteger, ForeignKey("night.review_drafts.id")),  # the reviewer's own draft that this withdraws
    _instant("recorded_at", required=True, now=True),
    Column("amended", Text, ForeignKey("night.plans.plan_hash")),  # the plan that resulted from the item, if any
    schema="night",
)

review_signatures = Table(
    "review_signatures",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    _namespace(),
    Column("plan_hash", Text, ForeignKey("night.plans.plan_hash"), nullable=False),
    Column("approval_id", Uuid, ForeignKey("night.approvals.id")),
    Column("signed_by", Text, nullable=False),
    _count("approved"),
    _count("rejected"),
    Column("last_draft", BigInteger, nullable=False, server_default="0"),  # drafts up to this one are used
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

switches = Table(
    "switches",
    metadata,
    Column("name", Text, primary_key=True),  # apply_disabled
    Column("is_on", Boolean, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    _instant("set_at", required=True, now=True),
    schema="night",
)

stores = Table(
    "stores",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # the binding of the package, or `table`
    Column(
        "binding", Text, nullable=False, server_default=""
    ),  # a user's binding, in the format of slowwave.bindings.files
    _json("parameters"),
    _json("fingerprint"),  # bound table → lines of its structure when it was connected
    Column("embedding_model", Text, nullable=False, server_default=""),
    Column("writing", Boolean, nullable=False, server_default="false"),
    _instant("recorded_at", required=True, now=True),
    _instant("disconnected_at"),
    _json("namespace_settings"),  # for the namespaces that nights enter
    schema="night",
)

store_namespaces = Table(
    "store_namespaces",
    metadata,
    Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id"), primary_key=True),
    Column("store", Text, ForeignKey("night.stores.name"), nullable=False),
    Column("native", Text),  # its name in the store; null if the whole store is one namespace
    Column("sign", Text, nullable=False, server_default=""),  # of its rows at the last night
    _instant("recorded_at", required=True, now=True),
    schema="night",
)

notices = Table(  # messages to endpoints, pending and sent: slowwave.night.delivery
    "notices",
    metadata,
    _id(),
    Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id")),  # null for a message about all namespaces
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", Text, nullable=False, server_default=""),
    Column("recorded_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    _instant("delivered_at"),
    _instant("given_up_at"),
    Column("claim", Uuid),  # the process that is sending it
    _instant("claimed_until"),  # or, without a claim, the earliest instant of the next attempt
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("level", Text, nullable=False, server_default="none"),  # of redact_text, at which the body was written
    Column("number", BigInteger, Identity(always=True), nullable=False),
    schema="night",
)

overlay = Table(
    "overlay",
    metadata,
    Column("namespace_id", Uuid, ForeignKey("memory.namespaces.id"), primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("row_id", Uuid, primary_key=True),
    _json("cells"),  # column of the catalogue → value
    schema="night",
)

DERIVED_COLUMNS: Final = ("content_version", "updated_at", "sync_state", "synced_at")
"""Columns that triggers maintain, and the sync state of a folder: never exported, digested or compared."""

COUNTERS: Final = {"entities": ("mention_count",), "memories": ("access_count", "reinforcement_count")}
"""Columns that are written only as deltas; they have no fingerprint."""

EXPORTED: Final = (
    corpora,
    documents,
    chunks,
    entities,
    entity_aliases,
    links,
    relationships,
    memory_facts,
    memories,
    memory_versions,
    claim_events,
    recall_events,
    promotions,
    pages,
    communities,
)
"""Row tables of a snapshot; their vectors are exported separately."""

VECTORS: Final = {"entity_vectors": "entities", "chunk_vectors": "chunks", "memory_vectors": "memories"}
"""Vectors table → the table whose rows it describes."""


# Python's garbage collector while many rows are loaded.
#
# It searches for cycles among all objects of a program. A night, or loading a large plan, creates millions of objects without cycles.

SELDOM: Final = (100_000, 50, 100)
"""Thresholds of the garbage collector while many rows are read; by default the first is 700."""

_LOCK: Final = Lock()
_inside: list[tuple[int, int, int]] = []
"""For each active context, the thresholds that the last one to end restores."""


@contextmanager
def few_collections() -> Generator[None]:
    """Run the garbage collector rarely while any thread is inside this context.

    A process whose collector is off, or already runs that rarely, is left alone.
    """
    with _LOCK:
        before = _inside[0] if _inside else gc.get_threshold()
        _inside.append(before)
        if 0 < before[0] < SELDOM[0]:
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        with _LOCK:
            _inside.pop()
            if not _inside:
                gc.set_threshold(*before)
