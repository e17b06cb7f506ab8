"""What a namespace holds already, as a migration asks for it: claims by subject, and pages by place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping

import pyarrow.compute as pc

from slowwave.corpus.corpora import PAGES_ROOT
from slowwave.migrating.claim_policy import RecordedClaim
from slowwave.snapshots.snapshot import Snapshot

_COLUMNS = (
    "id", "attributes", "current_version_id", "valid_from", "valid_to", "recorded_at", "state", "invalidated_at",
    "source_document_ids",
)  # fmt: skip


def known_claims(snapshot: Snapshot | None) -> Mapping[str, list[RecordedClaim]]:
    """The claims of each entity, by its id; those of what was merged into it are its own. Forgotten and ended ones are among them."""
    found: dict[str, list[RecordedClaim]] = defaultdict(list)
    if snapshot is None:
        return found
    memories = snapshot.table("memories")
    claims = memories.filter(pc.equal(memories["kind"], "claim")).select(_COLUMNS).to_pylist()
    versions = snapshot.table("memory_versions")
    wanted = versions.filter(
        pc.is_in(versions["id"], value_set=pc.drop_null(memories["current_version_id"].combine_chunks()))
    )
    texts = dict(zip(wanted["id"].to_pylist(), wanted["content"].to_pylist(), strict=True))
    documents = snapshot.table("documents").select(("id", "path"))
    places = dict(zip(documents["id"].to_pylist(), documents["path"].to_pylist(), strict=True)) if claims else {}
    entities = snapshot.table("entities").select(("id", "merged_into"))
    into = dict(zip(entities["id"].to_pylist(), entities["merged_into"].to_pylist(), strict=True))
    for row in claims:
        attributes = json.loads(row["attributes"])
        entity, met = attributes.get("entity_id"), set[str]()
        while into.get(entity) and entity not in met:
            met.add(entity)
            entity = into[entity]
        text = texts.get(row["current_version_id"])
        if not isinstance(entity, str) or text is None:
            continue
        ended = row["valid_to"] is not None and row["valid_to"] <= snapshot.taken_at
        stands = row["state"] == "active" and row["invalidated_at"] is None and not ended
        cited = tuple(path for id_ in row["source_document_ids"] or () if (path := places.get(id_)))
        kind = str(attributes.get("claim_kind", ""))
        found[entity].append(
            RecordedClaim(row["id"], kind, text, row["valid_from"] or row["recorded_at"], stands, cited)
        )
    return found


def known_pages(snapshot: Snapshot | None) -> Mapping[str, str]:
    """The hash of every live page of the agents' own corpus, by its path."""
    if snapshot is None:
        return {}
    corpora = snapshot.table("corpora")
    own = corpora.filter(pc.and_(pc.equal(corpora["root"], PAGES_ROOT), pc.is_null(corpora["invalidated_at"])))["id"]
    rows = snapshot.live("documents", ("corpus_id", "path", "content_hash", "invalidated_at", "valid_to"))
    mine = rows.filter(pc.is_in(rows["corpus_id"], value_set=own.combine_chunks()))
    return dict(zip(mine["path"].to_pylist(), mine["content_hash"].to_pylist(), strict=True))
