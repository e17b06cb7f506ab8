"""Pages by their path: the document that a request means, and a part of what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from slowwave.corpus.chunking import file_lines
from slowwave.corpus.corpora import chosen_corpus
from slowwave.errors import NotInCorpus, Refused
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

MOST_LINES: Final = 10_000

_COLUMNS: Final = "id::text, corpus_id::text, path, jsonb_exists(metadata, 'quarantined')"
_AT: Final = f"""
SELECT {_COLUMNS} FROM memory.documents
WHERE namespace_id = %(namespace)s AND corpus_id = ANY(%(corpora)s::uuid[]) AND invalidated_at IS NULL
  AND path IN (%(path)s, %(path)s || '.md', %(path)s || '.markdown')
"""  # noqa: S608 - columns of this module
_CALLED: Final = f"""
SELECT {_COLUMNS}, CASE WHEN right(lower('/' || regexp_replace(path, '[.](md|markdown)$', '', 'i')), length(%(path)s) + 1)
    = '/' || lower(%(path)s) THEN 0 WHEN lower(title) = lower(%(path)s) THEN 1 ELSE 2 END AS rank
FROM memory.documents WHERE namespace_id = %(namespace)s AND corpus_id = ANY(%(corpora)s::uuid[]) AND invalidated_at IS NULL
  AND NOT jsonb_exists_any(metadata, '{{quarantined,forgotten}}') AND (
    right(lower('/' || regexp_replace(path, '[.](md|markdown)$', '', 'i')), length(%(path)s) + 1) = '/' || lower(%(path)s)
    OR lower(title) = lower(%(path)s) OR EXISTS (SELECT 1 FROM jsonb_array_elements_text(
      CASE jsonb_typeof(metadata -> 'aliases') WHEN 'array' THEN metadata -> 'aliases' ELSE '[]' END) AS a (name)
      WHERE lower(a.name) = lower(%(path)s)))
ORDER BY rank, path LIMIT 20
"""  # noqa: S608 - columns of this module
"""Pages that a vault's wikilink of this name may mean: by the end of their path, else by their title, else by an alias."""
_PAGE: Final = "SELECT path, content, content_hash, metadata FROM memory.documents WHERE id = %s"
_NAMED: Final = 5  # pages of a name that a refusal lists


class GetRequest(BaseModel):
    """Lines of a page. ``from`` counts from 1."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    path: str = Field(
        min_length=1, max_length=1_000, description="Path of a page, relative to its corpus, or its name."
    )
    from_line: int = Field(default=1, ge=1, alias="from", description="First line, from 1.")
    lines: int | None = Field(
        default=None, ge=1, le=MOST_LINES, description="How many lines; all that follow where none is said."
    )
    corpus: str | None = Field(default=None, description="Name of a corpus's folder, where several hold the path.")


class GetResponse(BaseModel):
    """What a page says, and the hash that a change of it has to name. ``next`` is the line to go on from, if there is one."""

    model_config = ConfigDict(populate_by_name=True)

    path: str
    from_line: int = Field(alias="from")
    content: str
    lines_returned: int
    total_lines: int
    next: int | None
    hash: str
    frontmatter: dict[str, Any]


def get_page(connection: Connection, namespace: str, request: GetRequest) -> GetResponse:
    """Lines of a page as its file has them. Raises ``NotInCorpus``; ``Refused`` for a line after the last."""
    id_ = page_id(connection, namespace_id(connection, namespace), request.path, request.corpus)
    row = connection.execute(_PAGE, (id_,)).fetchone()
    if row is None:
        raise NotInCorpus(f"{request.path!r} was removed while it was looked for. Ask again.")
    path, content, hash_, metadata = row
    lines = file_lines(str(content))
    if request.from_line > max(1, len(lines)):
        raise Refused(
            f"{path} has {len(lines):,} lines, so there is no line {request.from_line:,}. Lines count from 1."
        )
    part = lines[request.from_line - 1 :][: request.lines or MOST_LINES]
    after = request.from_line + len(part)
    fields = metadata.get("frontmatter", {}) if isinstance(metadata, dict) else {}
    return GetResponse.model_validate(
        {
            "path": path,
            "from": request.from_line,
            "content": "".join(part),
            "lines_returned": len(part),
            "total_lines": len(lines),
            "next": after if after <= len(lines) else None,
            "hash": hash_,
            "frontmatter": fields,
        }
    )


def page_id(connection: Connection, namespace: str, path: str, corpus: str | None = None) -> str:
    """The id of the live document at a path, with or without its suffix, else of the one that has this name as in a wikilink: the end of
    its path, its title or an alias. Raises ``NotInCorpus`` where none or several are meant.
    """
    wanted = path.removeprefix("./")
    if "\0" in wanted or wanted.startswith("/") or ".." in wanted.split("/"):
        raise NotInCorpus(f"{path[:200]!r} is no path within a corpus. Paths are relative to its folder, with slashes.")
    corpora = {found.id: found for found in chosen_corpus(connection, namespace, corpus)}
    asked = {"namespace": namespace, "corpora": list(corpora), "path": wanted}
    rows = connection.execute(_AT.encode(), asked).fetchall()
    rows = [row for row in rows if row[2] == wanted] or rows
    if not rows:
        called = connection.execute(_CALLED.encode(), asked).fetchall()
        rows = [row for row in called if row[4] == called[0][4]]
        if len({row[2] for row in rows}) > 1:
            told = ", ".join(sorted(str(row[2]) for row in rows)[:_NAMED]) + (", …" if len(rows) > _NAMED else "")
            raise NotInCorpus(f"{path[:200]!r} is the name of several pages ({told}). Give the path of one of them.")
    if not rows:
        raise NotInCorpus(
            f"No corpus of the namespace holds {path[:200]!r}. `slowwave corpus status` lists the corpora."
        )
    if len(rows) > 1:
        names = ", ".join(sorted(f"{Path(corpora[str(row[1])].root).name}: {row[2]}" for row in rows))
        raise NotInCorpus(f"{path[:200]!r} is a page of several corpora ({names}). Name one of them.")
    if rows[0][3]:
        raise NotInCorpus(
            f"{path[:200]!r} is quarantined: its text holds what screening found. Look at the file itself."
        )
    return str(rows[0][0])
