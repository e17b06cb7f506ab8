"""``slowwave write`` and ``purge``: pages of a namespace by their path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from slowwave.cli.session import Json, Namespace, open_store, plain, program, say, show_json, suggest
from slowwave.corpus.page_request import HeldElsewhere, PurgeRequest, PurgeResponse, WriteRequest, WriteResponse
from slowwave.errors import Refused, plain_fault
from slowwave.texts.counted import counted

_Request = TypeVar("_Request", bound=BaseModel)
_Target = Annotated[str, typer.Argument(help="Path of the page, like notes/tides.md.")]
_Hash = Annotated[
    str, typer.Option("--expected-hash", help="Hash of the page; `slowwave get NAMESPACE PATH --json` gives it.")
]
_Corpus = Annotated[str | None, typer.Option(help="Name of a corpus's folder, where several are followed.")]
_Agent = Annotated[str, typer.Option(help="Who writes.")]

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


def write(
    namespace: Namespace,
    path: _Target,
    kind: Annotated[str, typer.Option(help="create, append, replace or forget.")],
    file: Annotated[Path | None, typer.Option(help="File that holds the text; else standard input.")] = None,
    title: Annotated[str, typer.Option(help="Title, for a new page.")] = "",
    type_: Annotated[str, typer.Option("--type", help="Type, for a new page: knowledge, idea, note …")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be said again.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Another field, as NAME=VALUE; true and false are no text. May be said again."),
    ] = None,
    expected_hash: _Hash = "",
    reason: Annotated[str, typer.Option(help="Why it is forgotten.")] = "",
    soft: Annotated[bool, typer.Option("--soft", help="Keep in quarantine what screening refuses.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    agent: _Agent = "",
    corpus: _Corpus = None,
    json: Json = False,
) -> None:
    """Write a page by its path: create, append, replace or forget. The text is read from a file or standard input."""
    frontmatter = {**_fields(field or []), **({"title": title} if title else {}), **({"type": type_} if type_ else {})}
    asked = {
        **{"kind": kind, "target": path, "content": "" if kind == "forget" else _text(file), "corpus": corpus},
        **{"expected_hash": expected_hash, "reason": reason, "soft": soft, "dry_run": dry_run, "agent": agent},
        "frontmatter": frontmatter | ({"tags": tag} if tag else {}),
    }
    request = _checked(WriteRequest, asked)
    from slowwave.corpus.page_write import write as write_page
    from slowwave.search.namespace_settings import settings_of

    with open_store().connect("owner") as connection:
        done = write_page(connection, namespace, request, settings_of(connection, namespace), follow=True)
    if json:
        show_json(done.model_dump(mode="json"))
    else:
        _show(done)


def purge(
    namespace: Namespace,
    path: _Target,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it; without this, only say what would go.")] = False,
    expected_hash: _Hash = "",
    reason: Annotated[str, typer.Option(help="Why; --yes needs it.")] = "",
    allow_canonical: Annotated[bool, typer.Option("--allow-canonical", help="Also a protected page.")] = False,
    tombstone: Annotated[bool, typer.Option("--tombstone", help="The tombstone beside it as well.")] = False,
    agent: _Agent = "",
    corpus: _Corpus = None,
    json: Json = False,
) -> None:
    """Delete a page for good, with all its versions: say what would go, and with --yes do it."""
    asked = {
        **{"target": path, "dry_run": not yes, "expected_hash": expected_hash, "reason": reason, "agent": agent},
        **{"allow_canonical": allow_canonical, "include_related_tombstone": tombstone, "corpus": corpus},
    }
    request = _checked(PurgeRequest, asked)
    from slowwave.corpus.page_purge import purge as purge_page
    from slowwave.search.namespace_settings import settings_of

    with open_store().connect("owner") as connection:
        done = purge_page(connection, namespace, request, settings_of(connection, namespace), follow=True)
    if json:
        show_json(done.model_dump(mode="json"))
    else:
        _show_purge(namespace, request, done)


def _show(done: WriteResponse) -> None:
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
        say(f"{plain(done.tombstone)} says why.", indent=2)
    _show_held(done.held)


def _show_purge(namespace: str, request: PurgeRequest, done: PurgeResponse) -> None:
    verb = "would be deleted" if done.dry_run else "are deleted"
    say(f"{plain(', '.join(done.paths))}: {done.bytes_deleted:,} bytes with all versions {verb}.")
    say(f"hash {done.hash}", indent=2)
    _show_held(done.held)
    if done.dry_run:
        more = " --allow-canonical" * request.allow_canonical + " --tombstone" * request.include_related_tombstone
        line = f"{program()} purge {namespace} {done.path}{more} --reason WHY --yes --expected-hash {done.hash}"
        suggest("To delete it for good", line)


def _show_held(held: HeldElsewhere | None) -> None:
    if held is not None:
        say(held.sentence(), indent=2)


def _text(file: Path | None) -> str:
    """What a file or standard input says."""
    try:
        content = sys.stdin.buffer.read() if file is None else file.read_bytes()
        return content.decode()
    except OSError as problem:
        raise Refused(f"{file} cannot be read ({problem.strerror}). Nothing was stored.") from None
    except UnicodeDecodeError:
        raise Refused("The text is not UTF-8. Nothing was stored.") from None


def _fields(given: list[str]) -> dict[str, Any]:
    """Fields of options: a value is text unless it is true or false."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise Refused(f"--field {one[:40]!r} is no field. Write it as NAME=VALUE.")
        found[name.strip()] = {"true": True, "false": False}.get(value, value)
    return found


def _checked(model: type[_Request], values: dict[str, Any]) -> _Request:
    """A request from options; what it does not admit is refused in words."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        why = plain_fault(first["msg"]).replace(
            "expected_hash that get gave", "--expected-hash that `get --json` gives"
        )
        raise Refused(f"{where + ': ' if where else ''}{why}. Nothing was done.") from None
