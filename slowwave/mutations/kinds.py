"""The kinds of mutations: a small closed set, and which cells each may touch. What else a kind may not do, its own limits say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind may do: the cells it writes, by table, and the tables it inserts into and deletes from."""

    writes: Mapping[str, frozenset[str]]
    inserts: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()


_INVALIDATE: Final = frozenset({"invalidated_at", "invalidated_by", "valid_to"})
_WORLDLY: Final[tuple[str, ...]] = ("documents", "entities", "relationships", "memory_facts", "memories", "communities")
_REFERENCES: Final = frozenset({"source_chunk_ids", "source_document_ids"})
_VECTOR_TABLES: Final = ("entity_vectors", "chunk_vectors", "memory_vectors")

_PAGE_CELLS: Final[Mapping[str, frozenset[str]]] = {
    "documents": frozenset({"title", "content", "metadata", "valid_from", "content_hash"}),
    "chunks": frozenset({"ordinal", "start_line", "end_line", "invalidated_at", "invalidated_by"}),
    "links": frozenset({"target_document_id", "invalidated_at", "invalidated_by"}),
}
_PAGE_ROWS: Final = frozenset({"corpora", "documents", "chunks", "links", "chunk_vectors"})

KINDS: Final[Mapping[str, Kind]] = {
    "merge_rows": Kind(
        {
            "entities": frozenset(
                {"source_chunk_ids", "source_document_ids", "attributes", "description", "confidence", "pinned"}
                | {"mention_count", "state", "merged_into", "invalidated_at", "invalidated_by", "valid_from"}
                | {"entity_type", "name"}
            ),
            "relationships": frozenset({"source_entity_id", "target_entity_id", "invalidated_at", "invalidated_by"})
            | {
                "description",
                "properties",
                "source_chunk_ids",
                "source_document_ids",
                "confidence",
                "weight",
                "valid_from",
            },
            "entity_vectors": frozenset({"vector"}),
            "memory_facts": frozenset({"source_chunk_ids", "confidence", "valid_from", "is_active", "superseded_by"})
            | {"invalidated_at", "invalidated_by"},
            "memories": frozenset({"tags", "importance", "confidence", "source_chunk_ids", "source_document_ids"})
            | {"access_count", "reinforcement_count", "valid_from", "state", "merged_into", "pinned"}
            | {"invalidated_at", "invalidated_by"},
        },
        frozenset({"entity_aliases", "entity_vectors"}),
    ),
    "rename_type": Kind({"entities": frozenset({"entity_type"}), "relationships": frozenset({"relationship_type"})}),
    "insert_summary": Kind(
        {
            "communities": frozenset({"valid_to"}),
            "memories": frozenset({"state", "merged_into", "invalidated_at", "invalidated_by"})
            | {"access_count", "reinforcement_count"},
        },
        frozenset({"communities", "memories", "memory_versions", "memory_vectors"}),
    ),
    "new_version": Kind(
        {
            "memories": frozenset({"current_version_id", "stage", "attributes", "state"}),
            "memory_vectors": frozenset({"vector"}),
        },
        frozenset({"memory_versions", "memory_vectors"}),
    ),
    "set_vector": Kind({t: frozenset({"vector"}) for t in _VECTOR_TABLES}, frozenset(_VECTOR_TABLES)),
    "filter_references": Kind(
        {
            "entities": _REFERENCES,
            "relationships": _REFERENCES,
            "memories": _REFERENCES,
            "memory_facts": frozenset({"source_chunk_ids"}),
        }
    ),
    "invalidate_rows": Kind(
        {
            **dict.fromkeys(_WORLDLY, _INVALIDATE),
            "memory_facts": _INVALIDATE | {"is_active", "superseded_by"},
            **{t: _INVALIDATE - {"valid_to"} for t in ("chunks", "pages", "promotions")},
        }
    ),
    "set_state": Kind(
        {
            "entities": frozenset({"state"}),
            "memories": frozenset({"state", "ring", "stage"}),
            "promotions": frozenset({"invalidated_at", "invalidated_by"}),
        },
        frozenset({"promotions"}),
    ),
    "set_attributes": Kind(
        {
            "entities": frozenset({"attributes", "pinned"}),
            "relationships": frozenset({"properties"}),
            "memories": frozenset({"attributes", "tags", "visibility", "sensitivity", "pinned"}),
            "documents": frozenset({"metadata"}),
        }
    ),
    "render_page": Kind({"pages": frozenset({"title", "body", "input_hash"})}, frozenset({"pages"})),
    "write_page": Kind(_PAGE_CELLS, _PAGE_ROWS),
    "write_claims": Kind(
        {
            **_PAGE_CELLS,
            "memories": frozenset({"valid_to", "source_document_ids", "source_chunk_ids", "reinforcement_count"}),
        },
        _PAGE_ROWS
        | {
            "entities",
            "entity_aliases",
            "entity_vectors",
            "memories",
            "memory_versions",
            "memory_vectors",
            "claim_events",
        },
    ),
    "forget_rows": Kind(
        {
            "documents": frozenset(
                {"title", "content", "metadata", "content_hash", "invalidated_at", "invalidated_by"}
            ),
            **dict.fromkeys(("chunks", "links"), _INVALIDATE - {"valid_to"}),
            "memories": _INVALIDATE,
        },
        frozenset({"corpora", "documents", "claim_events", "erasures"}),
    ),
    "purge_rows": Kind(
        {"memory_facts": frozenset({"superseded_by"}), "memories": frozenset({"merged_into"})},
        deletes=frozenset({"memory_facts", "relationships", "communities", "memories"})
        | {"memory_versions", "memory_vectors", "promotions"},
    ),
}
