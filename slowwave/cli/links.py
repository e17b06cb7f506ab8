"""``slowwave link`` and ``get``: pages of a corpus by path, and the graph of their links."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from slowwave.cli.session import Json, Namespace, err, open_store, plain, say, show_json, show_table
from slowwave.corpus.link_graph import LinkRequest, LintResponse, links
from slowwave.corpus.page_lookup import GetRequest, get_page
from slowwave.errors import Refused, plain_fault
from slowwave.texts.counted import counted

_OPS: Final = ("neighbors", "backlinks", "lint")
_Request = TypeVar("_Request", bound=BaseModel)
PathOf = Annotated[str, typer.Argument(help="Path of a page, relative to its corpus.")]


def get(
    namespace: Namespace,
    path: PathOf,
    from_line: Annotated[int, typer.Option("--from", help="First line, from 1.")] = 1,
    lines: Annotated[int | None, typer.Option(help="How many lines.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Name of a corpus's folder, where several hold the path.")] = None,
    json: Json = False,
) -> None:
    """Print a page of a corpus, or lines of it; --json gives its hash and frontmatter as well."""
    request = _checked(GetRequest, {"path": path, "from": from_line, "lines": lines, "corpus": corpus})
    with open_store().connect("reader") as connection:
        found = get_page(connection, namespace, request)
    if json:
        show_json(found.model_dump(by_alias=True))
        return
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else " " for c in found.content.replace("\r\n", "\n")))
    if not found.content.endswith("\n"):
        sys.stdout.write("\n")


def link(
    namespace: Namespace,
    op: Annotated[str, typer.Argument(help="neighbors, backlinks or lint.")],
    path: Annotated[str | None, typer.Argument(help="Path of a page (neighbors, backlinks).")] = None,
    direction: Annotated[str, typer.Option(help="out, in or both (neighbors).")] = "out",
    depth: Annotated[int, typer.Option(help="Steps from the page (neighbors).")] = 1,
    max_edges: Annotated[int, typer.Option(help="Edges that are shown.")] = 40,
    exclude: Annotated[list[str] | None, typer.Option(help="A folder that is passed over; may be said again.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Name of a corpus's folder.")] = None,
    json: Json = False,
) -> None:
    """What a page links to, what links to it, or which links of a namespace are broken."""
    if namespace in _OPS and op not in _OPS:
        say(
            f"The namespace comes first: slowwave link {op} {namespace}. The other order is accepted until 1.0.",
            console=err,
        )
        namespace, op = op, namespace
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


def _checked(model: type[_Request], values: dict[str, Any]) -> _Request:
    """A request from options; what it does not admit is refused in words."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        raise Refused(f"{'.'.join(map(str, first['loc']))}: {plain_fault(first['msg'])}.") from None
