"""``slowwave corpus``: folders of Markdown that a namespace follows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.progress import progress
from slowwave.cli.session import (
    Json,
    Namespace,
    chosen_namespaces,
    err,
    open_store,
    plain,
    program,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.corpus.corpora import Corpus, add_corpus, chosen_corpus, corpora_of
from slowwave.corpus.status import corpus_status
from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_id, namespace_settings

if TYPE_CHECKING:
    from slowwave.config.settings import Settings
    from slowwave.corpus.sync import CorpusSync
    from slowwave.language.embedder import Embedder


app = typer.Typer(
    help="Folders of Markdown: follow, sync, watch, export and publish them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Every = Annotated[str, typer.Argument(help="Name of a namespace; all of them where none is said.")]
One = Annotated[str | None, typer.Option("--corpus", help="Name of one corpus's folder.")]
Emptied = Annotated[
    bool, typer.Option("--emptied", help="The folder is meant to hold no page: its documents are gone.")
]
_SHOWN = 20


@app.command()
def add(
    namespace: Namespace,
    folder: Annotated[Path, typer.Argument(help="The folder that holds the files.")],
    profile: Annotated[str | None, typer.Option(help="How it is laid out: dory, vault or plain.")] = None,
    json: Json = False,
) -> None:
    """Follow a folder, and sync it. The namespace is made where there is none."""
    from slowwave.language.embedder import embedder_for

    store = open_store()
    with store.connect("owner") as connection:
        corpus = add_corpus(connection, namespace, folder, profile)
    _show([_sync(store, namespace, corpus, embedder_for(_settings(store, namespace)), emptied=False)], as_json=json)
    if not json:
        suggest(
            "Sync it again, or whenever a file changes",
            f"{program()} corpus sync {namespace}",
            f"{program()} corpus watch {namespace}",
        )


@app.command()
def sync(namespace: Every = "ALL", corpus: One = None, emptied: Emptied = False, json: Json = False) -> None:
    """Bring documents to what the files say: new, changed, moved and gone ones. Unchanged files are not read."""
    from slowwave.language.embedder import embedder_for

    store = open_store()
    done: list[CorpusSync] = []
    refused: list[Refused] = []
    for name in chosen_namespaces(store, namespace):
        with store.connect("reader") as connection:
            found = corpora_of(connection, namespace_id(connection, name))
        embedder = embedder_for(_settings(store, name))
        for one in found:
            if one.folder is None or corpus not in (None, one.root, one.folder.name):
                continue
            try:
                done.append(_sync(store, name, one, embedder, emptied=emptied))
            except Refused as problem:  # a folder that is not mounted keeps no other waiting
                refused.append(problem)
    if not done and not refused:
        raise Refused("There is no corpus with a folder here. `slowwave corpus add NAMESPACE FOLDER` follows one.")
    if done:
        _show(done, as_json=json)
    if refused:
        raise Refused(" ".join(str(problem) for problem in refused))


@app.command()
def status(namespace: Every = "ALL", json: Json = False) -> None:
    """Which folders are followed, and what they hold."""
    store = open_store()
    rows: list[dict[str, object]] = []
    for name in chosen_namespaces(store, namespace):
        model = _settings(store, name).embedding_model
        with store.connect("reader") as connection:
            found = corpus_status(connection, namespace_id(connection, name), model)
        rows += [{"namespace": name, **one.to_json()} for one in found]
    if json:
        show_json(rows)
        return
    for row in rows:
        row["synced_at"] = str(row["synced_at"] or "never")[:16].replace("T", " ")
    columns = {
        **{name: name for name in ("root", "namespace", "profile", "pages", "versions", "chunks")},
        **{
            "without vector": "chunks_without_vector",
            "links": "links",
            "broken": "broken_links",
            "synced at": "synced_at",
        },
    }
    shown = [[row[key] for key in columns.values()] for row in rows]
    show_table("Corpora", list(columns), shown, first="corpus add NAMESPACE FOLDER")


@app.command()
def export(
    namespace: Namespace,
    folder: Annotated[Path, typer.Argument(help="A folder that is empty or not there yet.")],
    corpus: One = None,
    git: Annotated[bool, typer.Option("--git", help="Every version that was synced, as a history in git.")] = False,
    json: Json = False,
) -> None:
    """Write the pages back as files, byte for byte."""
    from slowwave.corpus.export import export_corpora

    with open_store().connect("reader") as connection:
        found = chosen_corpus(connection, namespace_id(connection, namespace), corpus)
        if not found:
            raise Refused(f"{namespace} follows no folder. `slowwave corpus add {argument(namespace)} FOLDER` does.")
        done = export_corpora(connection, found, folder, git=git)
    if json:
        show_json([asdict(one) for one in done])
        return
    for one in done:
        history = f", with a history of {one.commits:,} commits" if git else ""
        say(f"{one.pages:,} pages ({one.bytes:,} bytes) written to {plain(one.folder)}{history}.")


@app.command()
def public(namespace: Namespace, corpus: One = None, json: Json = False) -> None:
    """Which pages are marked as public, and which of them are held back."""
    from slowwave.corpus.public_artifacts import PublicArtifactsRequest, marked_pages, public_artifacts

    with open_store().connect("reader") as connection:
        if json:
            request = PublicArtifactsRequest(corpus=corpus)
            show_json(public_artifacts(connection, namespace, request).model_dump())
            return
        marked = marked_pages(connection, namespace, corpus)
    rows = [(page.path, page.title, f"held back: {page.held_back}" if page.held_back else "yes") for page in marked]
    show_table("Pages marked as public", ("page", "title", "published"), rows)
    if not marked:
        say("A page is marked by `visibility: public` in its frontmatter.")


@app.command()
def publish(
    namespace: Namespace,
    folder: Annotated[Path, typer.Argument(help="A folder that is empty, not there yet, or was published to before.")],
    corpus: One = None,
    json: Json = False,
) -> None:
    """Write the public pages as HTML that needs nothing beside it, with backlinks and a search."""
    from slowwave.corpus.public_site import publish_site

    with open_store().connect("reader") as connection:
        done = publish_site(connection, namespace, folder, corpus)
    if json:
        show_json(asdict(done))
        return
    for path, reason in done.held_back:
        say(f"held back {plain(path)}: {plain(reason)}", console=err)
    say(f"{done.pages:,} pages ({done.bytes:,} bytes) written to {plain(done.folder)}: open index.html.")


@app.command()
def watch(namespace: Namespace, corpus: One = None) -> None:
    """Sync now, and whenever a file has changed and stood still for a second. Ctrl-C ends it."""
    from slowwave.corpus.watch import watch_corpora
    from slowwave.language.embedder import embedder_for

    store = open_store()
    with store.connect("reader") as connection:
        found = chosen_corpus(connection, namespace_id(connection, namespace), corpus)
    try:
        watch_corpora(
            store,
            namespace,
            found,
            embedder_for(_settings(store, namespace)),
            lambda outcome: _show([outcome], as_json=False),
            lambda problem: say(f"Refused: {plain(problem, 1_000)}", console=err),
        )
    except KeyboardInterrupt:
        say("No longer watching.")


def _settings(store: Store, namespace: str) -> Settings:
    with store.connect("reader") as connection:
        return namespace_settings(connection, namespace)


def _sync(store: Store, namespace: str, corpus: Corpus, embedder: Embedder, *, emptied: bool) -> CorpusSync:
    from slowwave.corpus.sync import sync_corpus

    with store.connect("owner") as connection, progress(f"Reading {Path(corpus.root).name}") as tell:
        return sync_corpus(
            connection,
            namespace,
            corpus,
            embedder,
            emptied=emptied,
            progress=lambda done, total: tell(done, total, ""),
        )


def _show(done: list[CorpusSync], *, as_json: bool) -> None:
    if as_json:
        show_json([one.to_json() for one in done])
        return
    columns = ("folder", "new", "changed", "moved", "gone", "unchanged", "embedded", "left out")
    rows = [
        (one.root, one.new, one.changed, one.moved, one.gone, one.unchanged, one.chunks_embedded, len(one.left_out))
        for one in done
    ]
    show_table("Synced", columns, rows)
    for one in done:
        for out in one.left_out[:_SHOWN]:
            place = f", line {out.line}" if out.line else ""
            say(f"left out {plain(out.path)}{place}: {plain(out.reason)}", console=err)
        if len(one.left_out) > _SHOWN:
            say(f"and {len(one.left_out) - _SHOWN:,} others; --json names them all.", console=err)
        from slowwave.corpus.pending_files import SUPERSEDED  # it brings the settings

        for path in one.superseded[:_SHOWN]:
            say(f"{plain(path)}: {SUPERSEDED}", console=err)
        if one.unsettled:
            say(f"{len(one.unsettled):,} files were being written, and are read the next time.", console=err)
        if one.screened:
            said = ", ".join(f"{n:,} with {kind}" for kind, n in sorted(one.screened.items()))
            say(
                f"screening: pages {said}; {one.quarantined:,} quarantined, the others as SLOWWAVE_SCREENING_ON_IMPORT says.",
                console=err,
            )
