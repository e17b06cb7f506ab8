"""The request and the answer of research, and what happens in between: a search, an answer with its sources, a page."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.config.settings import Settings
from slowwave.language.searcher import Searcher
from slowwave.recall.research import FOLDERS, ResearchKind, Sentence, body, cited, extracted, file_name, page_text
from slowwave.search.model_help import helper
from slowwave.search.namespace_settings import KnownNamespace
from slowwave.search.recall_log import Answered, Recalled
from slowwave.search.request import CorpusChoice, SearchRequest, SearchResult
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.texts.quotation import quotable

_TASK: Final = (
    "Answer the question from the sources alone, in at most eight short sentences. Each sentence names the numbers of the sources that "
    "say so. Where the sources disagree, say so. Leave out what no source says; give no sentence where none answers."
)
_ANSWER: Final = {
    "sentences": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["text", "sources"],
            "properties": {"text": {"type": "string"}, "sources": {"type": "array", "items": {"type": "integer"}}},
        },
    }
}


class ResearchRequest(BaseModel):
    """A question whose answer is to be a page."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=2_000)
    kind: ResearchKind = Field(default="report", description="What the page is to be; where it belongs follows.")
    corpus: CorpusChoice = "all"
    limit: int = Field(default=8, ge=1, le=20, description="How many sources at most.")
    save: bool = Field(default=False, description="Keep the page as well; it takes a token with the scope write.")


class ResearchSource(BaseModel):
    """What a sentence rests on; ``number`` is how it is cited."""

    number: int
    id: str
    path: str
    lines: str | None
    evidence_class: str
    confidence: str


class ResearchPage(BaseModel):
    """The page: its ``body`` in Markdown, ``page`` with frontmatter before it; ``target`` is where it belongs in a corpus."""

    kind: ResearchKind
    title: str
    question: str
    body: str
    page: str
    sources: tuple[str, ...]
    target: str
    status: Literal["raw"] = "raw"


class ResearchArtifact(BaseModel):
    """The page that was kept."""

    path: str
    kind: ResearchKind
    bytes_written: int


class ResearchResponse(BaseModel):
    """``synthesis`` says whether a model worded the answer; else it is extracts. ``artifact`` is the page where it was kept
    (``slowwave.corpus.research_page``)."""

    artifact: ResearchArtifact | None = None
    research: ResearchPage
    sources: tuple[ResearchSource, ...]
    synthesis: bool = False
    warnings: tuple[str, ...] = ()


def research(
    connection: Connection, namespace: str, request: ResearchRequest, settings: Settings, today: date | None = None
) -> Answered[ResearchResponse]:
    """An answer with its sources, kept nowhere, and the search that it rests on. Raises ``Refused`` where there is no such namespace."""
    from slowwave.search.search import search_on  # NumPy and the embedder: a server starts without them

    today = today or datetime.now(UTC).date()
    asked = SearchRequest(query=request.question, k=request.limit, corpus=request.corpus, include_content=False)
    found = search_on(connection, namespace, asked, today=today)
    known = KnownNamespace(namespace_id(connection, namespace), settings)
    answer, synthesis, warning = _answer(connection, known, request.question, found.results)
    title = " ".join(request.question.split())[:120]
    text = body(request.question, answer, found.results)
    paths = tuple(dict.fromkeys(result.path for result in found.results))
    page = ResearchPage(
        kind=request.kind,
        title=title,
        question=request.question,
        body=text,
        page=page_text(title, request.kind, today.isoformat(), paths, text),
        sources=paths,
        target=f"{FOLDERS[request.kind]}/{file_name(today.isoformat(), title)}",
    )
    sources = tuple(
        ResearchSource(
            number=n,
            **result.model_dump(include={"id", "path", "lines", "evidence_class", "confidence"}),
        )
        for n, result in enumerate(found.results, 1)
    )
    warnings = (*found.warnings, *filter(None, (warning,)))
    told = ResearchResponse(artifact=None, research=page, sources=sources, synthesis=synthesis, warnings=warnings)
    return Answered(told, (Recalled.of_search(found),))


def _answer(
    connection: Connection, known: KnownNamespace, question: str, found: tuple[SearchResult, ...]
) -> tuple[tuple[Sentence, ...], bool, str]:
    """The sentences, whether a model worded them, and what went wrong."""
    searcher, problem = helper(connection, known)
    if searcher is None or "research" not in searcher.steps or not found:
        return extracted(found), False, problem
    said, warning = _worded(searcher, question, found)
    return (said, True, "") if said else (extracted(found), False, warning)


def _worded(searcher: Searcher, question: str, found: tuple[SearchResult, ...]) -> tuple[tuple[Sentence, ...], str]:
    sources = [
        {"number": n, "path": result.path, "text": str(quotable(result.snippet))} for n, result in enumerate(found, 1)
    ]
    helped = searcher.ask("research", _TASK, {"question": question, "sources": sources}, _ANSWER)
    said = cited(helped.answer, len(found)) if helped.answer else ()
    return said, helped.warning or "The model named no source for what it said, so the answer is extracts."
