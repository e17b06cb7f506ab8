"""``corpus/folders``: what was synced, for the lineage. It cannot be materialized; only ``corpus_sync_job`` reports it."""

from __future__ import annotations

from typing import Final

import dagster as dg

from memory_assets.partitions import namespaces

FOLDERS: Final = dg.AssetKey(["corpus", "folders"])

folders = dg.AssetSpec(
    FOLDERS,
    description="The folders of Markdown that a namespace follows, as they were synced: its documents, chunks, vectors and links. "
    "`corpus_sync_job` syncs them, which a sensor starts when a file has changed.",
    group_name="corpora",
    kinds={"markdown"},
    partitions_def=namespaces,
)
