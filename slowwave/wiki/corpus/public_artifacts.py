"""Public artifacts: the pages that may be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.wiki.corpus.corpora import chosen_corpus

# Public artifacts: the pages that may be published.

_MARKED: Final = """
SELECT id::text, path, title, plane, metadata, content FROM memory.documents
WHERE corpus_id = ANY(%s::uuid[]) AND invalidated_at IS NULL AND metadata ->> 'visibility' = 'public' ORDER BY path, id
"""


class PublicArtifactsRequest(BaseModel):
    """Request for the pages that may be published."""

    model_config = ConfigDict(extra="forbid")

    corpus: str | None = Field(default=None, description="Name of one corpus's folder; all where none is said.")


class PublicArtifact(BaseModel):
    """A page that may be published. ``kind`` is its type; ``agent_ids`` are the agents that its frontmatter names."""

    kind: str
    relative_path: str
    content_type: str = "text/markdown"
    title: str
    agent_ids: list[str]


class PublicArtifacts(BaseModel):
    """The pages that may be published, by path."""

    count: int
    artifacts: list[PublicArtifact]


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page that is marked as public. ``held_back`` is the reason not to publish it; empty for a page that is published."""

    id: str
    path: str
    title: str
    metadata: Mapping[str, Any]
    content: str
    held_back: str


def public_artifacts(connection: Connection, namespace: str, request: PublicArtifactsRequest) -> PublicArtifacts:
    """Return the pages of a namespace that may be published.

    The cost is linear in the text of the marked pages: each is screened in its current form.
    """
    found = [
        PublicArtifact(
            kind=str(page.metadata.get("type") or "note"),
            relative_path=page.path,
            title=page.title,
            agent_ids=[str(page.metadata["agent"])] if page.metadata.get("agent") else [],
        )
        for page in marked_pages(connection, namespace, request.corpus)
        if not page.held_back
    ]
    return PublicArtifacts(count=len(found), artifacts=found)


def marked_pages(connection: Connection, namespace: str, corpus: str | None = None) -> Sequence[MarkedPage]:
    """Return the pages of a namespace that are marked as public, by path, each with the reason to hold it back, if any."""
    within = namespace_id(connection, namespace)
    corpora = [one.id for one in chosen_corpus(connection, within, corpus)]
    rows: Any = connection.execute(_MARKED.encode(), (corpora,)).fetchall()
    return [
        MarkedPage(id_, path, title, metadata, content, held_back(metadata, plane, content))
        for id_, path, title, plane, metadata, content in rows
    ]


def held_back(metadata: Mapping[str, Any], plane: str, content: str) -> str:
    """Return why a page must not be published, without quoting its text; empty if it may be.

    A page that is not marked as public is never published.
    """
    from slowwave.text.screening import screen, unsafe  # their rules take a while to load

    if metadata.get("quarantined"):
        return "it is quarantined"
    if metadata.get("visibility") != "public":
        return "it is not marked as public"
    if plane != "durable":
        return "it is a session"
    if (kind := metadata.get("sensitivity")) not in (None, "none"):
        return f"its sensitivity is {kind}"
    if metadata.get("status") == "superseded" or metadata.get("superseded_by"):
        return "it is superseded"
    if any(found.kind == "secret" for found in screen(content)):  # a finding of any severity is enough here
        return "it holds a secret"
    return unsafe(content)
