"""``corpus_sync_job``: the folders that a namespace follows become its documents. Syncing belongs to ``slowwave.wiki.corpus.sync``."""

import dagster as dg

from memory_assets.folders import FOLDERS
from memory_assets.partitions import namespaces
from resources.store import STORE_PROBLEMS, error_text
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_id, namespace_settings


@dg.op
def sync_folders(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """One folder after the other; one that is not there does not keep the others waiting."""
    from slowwave.store.configured_models import embedder_for
    from slowwave.wiki.corpus.corpora import corpora_of  # what reads Markdown and embeds, definitions do without
    from slowwave.wiki.corpus.sync import sync_corpus

    name = context.partition_key
    counts = dict.fromkeys(("new", "changed", "moved", "gone", "unchanged", "left_out", "chunks_embedded"), 0)
    failed: list[str] = []
    try:
        with store.connect("reader") as connection:
            corpora = [one for one in corpora_of(connection, namespace_id(connection, name)) if one.folder]
            embedder = embedder_for(namespace_settings(connection, name))
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None
    for corpus in corpora:
        try:
            with store.connect("owner") as connection:
                done = sync_corpus(connection, name, corpus, embedder)
        except STORE_PROBLEMS as problem:
            failed.append(error_text(problem))
            continue
        for what in counts:
            found = getattr(done, what)
            counts[what] += found if isinstance(found, int) else len(found)
    metadata = {"folders": len(corpora), "failed": len(failed), **counts}
    context.log_event(dg.AssetMaterialization(FOLDERS, metadata=metadata, partition=name))
    if failed:
        raise dg.Failure(" ".join(failed)[:2000], allow_retries=False)


@dg.job(
    partitions_def=namespaces,
    executor_def=dg.in_process_executor,
    description="Bring the documents of one namespace to what the folders that it follows hold. The sensor changed_folders starts it.",
)
def corpus_sync_job() -> None:
    """One op."""
    sync_folders()
