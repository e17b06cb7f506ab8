"""``slowwave reembed``: a namespace changes to another embedding model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from slowwave.surfaces.cli.session import Json, Namespace, chosen_namespaces, open_store, progress, say, show_json

# ``slowwave reembed``: move a namespace to another embedding model.


def reembed(
    namespace: Namespace,
    model: Annotated[str, typer.Option(help="The model; the one of new namespaces when left out.")] = "",
    json: Json = False,
) -> None:
    """Embed a namespace with another model, beside the vectors that stand, and go over to it when nothing is left."""
    from slowwave.sources.reembedding import reembed_namespace
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings

    store = open_store()
    chosen_namespaces(store, namespace)
    embedder = embedder_for(Settings.for_namespace({"embedding_model": model} if model else {}))
    with store.connect("owner") as connection, progress(f"Embedding {namespace}") as tell:
        done = reembed_namespace(connection, namespace, embedder, progress=lambda n, of: tell(n, of, ""))
    if json:
        show_json(asdict(done))
        return
    made = ", ".join(f"{n:,} {table.replace('_', ' ')}" for table, n in done.made.items())
    say(f"{namespace}: {made or 'nothing to embed'}; its model is {done.model} now (before: {done.formerly}).")
    if done.with_speakers:
        say(
            f"{done.with_speakers:,} of the chunk vectors replace vectors of messages that were made without the names of their speakers: "
            "a search by meaning now finds messages by who sent them."
        )
