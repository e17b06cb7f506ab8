"""``slowwave corpus``: folders of Markdown and their pages."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from slowwave.errors import Refused, plain_fault
from slowwave.plans.commands import argument
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, namespace_settings
from slowwave.surfaces.cli.session import (
    Json,
    Namespace,
    chosen_namespaces,
    complete_namespace,
    err,
    fail,
    open_store,
    plain,
    program,
    progress,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted
from slowwave.wiki.corpus.corpora import Corpus, GetRequest, add_corpus, chosen_corpus, corpora_of, get_page
from slowwave.wiki.corpus.link_graph import LinkRequest, LintResponse, links
from slowwave.wiki.corpus.requests import HeldElsewhere, PurgeRequest, PurgeResponse, WriteRequest, WriteResponse

if TYPE_CHECKING:
    from slowwave.models.embedder import Embedder
    from slowwave.store.settings import Settings
    from slowwave.wiki.corpus.sync import CorpusSync


# ``slowwave corpus``: folders of Markdown that a namespace follows.

app = typer.Typer(
    help="Add folders of Markdown; get, write and publish their pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Every = Annotated[
    str,
    typer.Argument(
        metavar="NAMESPACE", help="Name of a namespace; by default all of them.", autocompletion=complete_namespace
    ),
]
One = Annotated[str | None, typer.Option("--corpus", help="Name of one corpus folder.")]
Emptied = Annotated[
    bool, typer.Option("--emptied", help="Accept that the folder has no page, and retire its documents.")
]
_SHOWN = 20


@app.command()
def add(
    namespace: Namespace,
    folder: Annotated[Path, typer.Argument(help="Folder with the files.")],
    profile: Annotated[str | None, typer.Option(help="Layout of the folder: dory, vault or plain.")] = None,
    json: Json = False,
) -> None:
    """Follow a folder and sync it.

    The namespace is created if it does not exist.
    """
    from slowwave.store.configured_models import embedder_for

    store = open_store()
    with store.connect("owner") as connection:
        corpus = add_corpus(connection, namespace, folder, profile)
    _show([_sync(store, namespace, corpus, embedder_for(_settings(store, namespace)), emptied=False)], as_json=json)
    if not json:
        suggest(
            "Sync it again, or whenever a file changes",
            f"{program()} corpus sync {namespace}",
            f"{program()} corpus sync {namespace} --watch",
        )


@app.command()
def sync(
    namespace: Every = "ALL",
    corpus: One = None,
    emptied: Emptied = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Sync one namespace again whenever a file has been unchanged for a second, until Ctrl-C."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Update documents from new, changed, moved and deleted files.

    Unchanged files are not read.
    """
    from slowwave.store.configured_models import embedder_for

    store = open_store()
    if watch:
        if namespace == "ALL" or emptied or json:
            raise Refused("--watch syncs one namespace, without --emptied and --json. Nothing was synced.")
        _watch(store, namespace, corpus)
        return
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
            # A folder that is not mounted must not stop the sync of the others.
            except Refused as problem:
                refused.append(problem)
    if not done and not refused:
        raise Refused("There is no corpus with a folder here. `slowwave corpus add NAMESPACE FOLDER` follows one.")
    if done:
        _show(done, as_json=json)
    if refused:
        together = Refused(" ".join(str(problem) for problem in refused))
        raise typer.Exit(fail(together, json=json and not done))


@app.command()
def status(namespace: Every = "ALL", json: Json = False) -> None:
    """Show the followed folders with their counts."""
    from slowwave.wiki.corpus.sync import corpus_status  # it brings the embedder

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
    folder: Annotated[Path, typer.Argument(help="A folder that is empty or missing.")],
    corpus: One = None,
    git: Annotated[bool, typer.Option("--git", help="Write every synced version as a git history.")] = False,
    json: Json = False,
) -> None:
    """Write the pages back as files, byte for byte."""
    from slowwave.wiki.corpus.export import export_corpora

    with open_store().connect("reader") as connection:
        found = chosen_corpus(connection, namespace_id(connection, namespace), corpus)
        if not found:
            raise Refused(f"{namespace} follows no folder. `slowwave corpus add {argument(namespace)} FOLDER` does.")
        done = export_corpora(connection, found, folder, git=git)
    if json:
        show_json([asdict(one) for one in done])
        return
    for one in done:
        history = f", with a history of {counted(one.commits, 'commit')}" if git else ""
        say(f"{counted(one.pages, 'page')} ({counted(one.bytes, 'byte')}) written to {plain(one.folder)}{history}.")


@app.command()
def publish(
    namespace: Namespace,
    folder: Annotated[
        Path | None,
        typer.Argument(help="A folder that is empty, missing, or was published to before; without it, list the pages."),
    ] = None,
    corpus: One = None,
    json: Json = False,
) -> None:
    """Write the public pages as a website, or list them.

    The pages are self-contained HTML with backlinks and a search. Without FOLDER the marked pages are listed, with the reason why some
    are held back.
    """
    from slowwave.wiki.corpus.public_site import publish_site

    with open_store().connect("reader") as connection:
        if folder is None:
            _list_public(connection, namespace, corpus, json=json)
            return
        done = publish_site(connection, namespace, folder, corpus)
    if json:
        show_json(asdict(done))
        return
    for path, reason in done.held_back:
        say(f"held back {plain(path)}: {plain(reason)}", console=err)
    say(
        f"{counted(done.pages, 'page')} ({counted(done.bytes, 'byte')}) written to {plain(done.folder)}: open index.html."
    )


def _list_public(connection: Connection, namespace: str, corpus: str | None, *, json: bool) -> None:
    from slowwave.wiki.corpus.public_artifacts import PublicArtifactsRequest, marked_pages, public_artifacts

    if json:
        show_json(public_artifacts(connection, namespace, PublicArtifactsRequest(corpus=corpus)).model_dump())
        return
    marked = marked_pages(connection, namespace, corpus)
    rows = [(page.path, page.title, f"held back: {page.held_back}" if page.held_back else "yes") for page in marked]
    show_table("Pages marked as public", ("page", "title", "published"), rows)
    if not marked:
        say("A page is marked by `visibility: public` in its frontmatter.")


def _watch(store: Store, namespace: str, corpus: str | None) -> None:
    """Sync the folders of a namespace until Ctrl-C."""
    from slowwave.store.configured_models import embedder_for
    from slowwave.wiki.corpus.sync import watch_corpora

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
    from slowwave.wiki.corpus.sync import sync_corpus

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
            say(f"and {counted(len(one.left_out) - _SHOWN, 'other')}; --json lists all.", console=err)
        from slowwave.wiki.corpus.pending_files import SUPERSEDED  # it imports the settings

        for path in one.superseded[:_SHOWN]:
            say(f"{plain(path)}: {SUPERSEDED}", console=err)
        if one.unsettled:
            say(
                f"{counted(len(one.unsettled), 'file was', 'files were')} being written, and will be read by the next sync.",
                console=err,
            )
        if one.screened:
            screened_counts = ", ".join(f"{n:,} with {kind}" for kind, n in sorted(one.screened.items()))
            say(
                f"screening: pages {screened_counts}; {one.quarantined:,} quarantined (SLOWWAVE_SCREENING_ON_IMPORT decides).",
                console=err,
            )


# ``slowwave corpus link`` and ``get``: read pages of a corpus by path, and the graph of their links.

_Request = TypeVar("_Request", bound=BaseModel)
PathOf = Annotated[str, typer.Argument(help="Path of a page, relative to its corpus.")]


@app.command()
def get(
    namespace: Namespace,
    path: PathOf,
    from_line: Annotated[int, typer.Option("--from", help="First line, from 1.")] = 1,
    lines: Annotated[int | None, typer.Option(help="Number of lines.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Name of the corpus folder, if several have the path.")] = None,
    json: Json = False,
) -> None:
    """Print a page of a corpus, or lines of it.

    With --json also its hash and frontmatter.
    """
    request = _checked(GetRequest, {"path": path, "from": from_line, "lines": lines, "corpus": corpus})
    with open_store().connect("reader") as connection:
        found = get_page(connection, namespace, request)
    if json:
        show_json(found.model_dump(by_alias=True))
        return
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else " " for c in found.content.replace("\r\n", "\n")))
    if not found.content.endswith("\n"):
        sys.stdout.write("\n")


@app.command()
def link(
    namespace: Namespace,
    op: Annotated[str, typer.Argument(help="neighbors, backlinks or lint.")],
    path: Annotated[str | None, typer.Argument(help="Path of a page (neighbors, backlinks).")] = None,
    direction: Annotated[str, typer.Option(help="out, in or both (neighbors).")] = "out",
    depth: Annotated[int, typer.Option(help="Steps from the page (neighbors).")] = 1,
    max_edges: Annotated[int, typer.Option(help="Maximum number of edges.")] = 40,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave out this folder; may be repeated.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Name of the corpus folder.")] = None,
    json: Json = False,
) -> None:
    """Show the links of a page, or the broken links of a namespace."""
    asked = {"op": op, "path": path, "direction": direction, "depth": depth, "max_edges": max_edges, "corpus": corpus}
    request = _checked(LinkRequest, asked | {"exclude_prefixes": exclude or []})
    with open_store().connect("reader") as connection:
        found = links(connection, namespace, request)
    if json:
        show_json(found.model_dump(by_alias=True, mode="json"))
    elif isinstance(found, LintResponse):
        rows = [(one.from_path, one.line, one.to, one.reason) for one in found.broken]
        show_table("Broken links", ("page", "line", "to", "reason"), rows)
        if rows:
            pages = len({one.from_path for one in found.broken})
            say(f"Links that lead nowhere: {len(rows):,}, on {counted(pages, 'page')}.")
        if found.self_links:
            say(f"Pages that link to themselves: {plain(', '.join(found.self_links))}")
    else:
        rows = [(edge.from_path, edge.to, edge.anchor, edge.kind, edge.line) for edge in found.edges]
        show_table("Links", ("from", "to", "anchor", "kind", "line"), rows)
        if found.truncated:
            say(f"{found.count:,} of {found.total_count:,} edges; --max-edges shows more.")


# ``slowwave corpus write`` and ``purge``: write and delete pages of a namespace by path.

_Target = Annotated[str, typer.Argument(help="Path of the page, like notes/tides.md.")]
_Hash = Annotated[
    str, typer.Option("--expected-hash", help="Hash of the page; `slowwave corpus get NAMESPACE PATH --json` gives it.")
]
_Corpus = Annotated[str | None, typer.Option(help="Name of the corpus folder, if several are followed.")]
_Agent = Annotated[str, typer.Option(help="Name of the agent.")]

_SAID = {
    "created": "is created",
    "appended": "is longer by what you added",
    "replaced": "is replaced",
    "forgotten": "is forgotten",
    "quarantined": "holds the text, in quarantine",
    "would_create": "would be created",
    "would_append": "would be longer by what you add",
    "would_replace": "would be replaced",
    "would_forget": "would be forgotten",
    "would_quarantine": "would hold the text, in quarantine",
}


@app.command()
def write(
    namespace: Namespace,
    path: _Target,
    kind: Annotated[str, typer.Option(help="create, append, replace or forget.")],
    file: Annotated[Path | None, typer.Option(help="File with the text; by default standard input.")] = None,
    title: Annotated[str, typer.Option(help="Title, for a new page.")] = "",
    type_: Annotated[str, typer.Option("--type", help="Type, for a new page: knowledge, idea, note …")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Another field, as NAME=VALUE; true and false are booleans. May be repeated."),
    ] = None,
    expected_hash: _Hash = "",
    reason: Annotated[str, typer.Option(help="Reason to forget it.")] = "",
    soft: Annotated[bool, typer.Option("--soft", help="Quarantine text that screening refuses.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report the effect.")] = False,
    agent: _Agent = "",
    corpus: _Corpus = None,
    json: Json = False,
) -> None:
    """Create, extend, replace or forget a page by its path.

    The text is read from a file or standard input.
    """
    frontmatter = {**_fields(field or []), **({"title": title} if title else {}), **({"type": type_} if type_ else {})}
    asked = {
        **{"kind": kind, "target": path, "content": "" if kind == "forget" else _text(file), "corpus": corpus},
        **{"expected_hash": expected_hash, "reason": reason, "soft": soft, "dry_run": dry_run, "agent": agent},
        "frontmatter": frontmatter | ({"tags": tag} if tag else {}),
    }
    request = _checked(WriteRequest, asked)
    from slowwave.search.request import settings_of
    from slowwave.wiki.corpus.page_write import write as write_page

    with open_store().connect("owner") as connection:
        done = write_page(connection, namespace, request, settings_of(connection, namespace), follow=True)
    if json:
        show_json(done.model_dump(mode="json"))
    else:
        _show_page(done)


@app.command()
def purge(
    namespace: Namespace,
    path: _Target,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it; without this, only report the effect.")] = False,
    expected_hash: _Hash = "",
    reason: Annotated[str, typer.Option(help="Reason; --yes needs it.")] = "",
    allow_canonical: Annotated[
        bool, typer.Option("--allow-canonical", help="Allow the deletion of a protected page.")
    ] = False,
    tombstone: Annotated[bool, typer.Option("--tombstone", help="Delete its tombstone too.")] = False,
    agent: _Agent = "",
    corpus: _Corpus = None,
    json: Json = False,
) -> None:
    """Delete a page with all its versions for good.

    Without --yes only the effect is reported.
    """
    asked = {
        **{"target": path, "dry_run": not yes, "expected_hash": expected_hash, "reason": reason, "agent": agent},
        **{"allow_canonical": allow_canonical, "include_related_tombstone": tombstone, "corpus": corpus},
    }
    request = _checked(PurgeRequest, asked)
    from slowwave.search.request import settings_of
    from slowwave.wiki.corpus.page_write import purge as purge_page

    with open_store().connect("owner") as connection:
        done = purge_page(connection, namespace, request, settings_of(connection, namespace), follow=True)
    if json:
        show_json(done.model_dump(mode="json"))
    else:
        _show_purge(namespace, request, done)


def _show_page(done: WriteResponse) -> None:
    edges = f" {counted(done.edges_added, 'link')} came." if done.edges_added else ""
    followed = {
        "written": " Its file is written.",
        "pending": " Its file follows with the next sync.",
        "superseded": " Its file keeps the text of the person who edited it.",
    }.get(done.file, "")
    say(f"{plain(done.path)} {_SAID[done.action]}.{edges}{followed}")
    say(f"hash {done.hash}", indent=2)
    for warning in done.warnings:
        say(plain(warning, 400), indent=2)
    if done.tombstone:
        say(f"{plain(done.tombstone)} gives the reason.", indent=2)
    _show_held(done.held)


def _show_purge(namespace: str, request: PurgeRequest, done: PurgeResponse) -> None:
    verb = "would be deleted" if done.dry_run else "are deleted"
    say(f"{plain(', '.join(done.paths))}: {done.bytes_deleted:,} bytes with all versions {verb}.")
    say(f"hash {done.hash}", indent=2)
    _show_held(done.held)
    if done.dry_run:
        more = " --allow-canonical" * request.allow_canonical + " --tombstone" * request.include_related_tombstone
        line = f"{program()} corpus purge {namespace} {done.path}{more} --reason WHY --yes --expected-hash {done.hash}"
        suggest("To delete it for good", line)


def _show_held(held: HeldElsewhere | None) -> None:
    if held is not None:
        say(held.sentence(), indent=2)


def _text(file: Path | None) -> str:
    """Read the text of a file or of standard input."""
    try:
        content = sys.stdin.buffer.read() if file is None else file.read_bytes()
        return content.decode()
    except OSError as problem:
        raise Refused(f"{file} cannot be read ({problem.strerror}). Nothing was stored.") from None
    except UnicodeDecodeError:
        raise Refused("The text is not UTF-8. Nothing was stored.") from None


def _fields(given: list[str]) -> dict[str, Any]:
    """Parse the fields of options: a value is text unless it is true or false."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise Refused(f"--field {one[:40]!r} is no field. Write it as NAME=VALUE.")
        found[name.strip()] = {"true": True, "false": False}.get(value, value)
    return found


def _checked(model: type[_Request], values: dict[str, Any]) -> _Request:
    """Build a request from options; refuse invalid values with a sentence."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        why = plain_fault(first["msg"]).replace(
            "expected_hash that get gave", "--expected-hash that `get --json` gives"
        )
        raise Refused(f"{where + ': ' if where else ''}{why}. Nothing was done.") from None
