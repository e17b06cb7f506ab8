"""``slowwave.Memory``: the memory of a namespace as an agent uses it at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from slowwave.errors import Refused, plain_fault
from slowwave.search.request import CorpusChoice, Mode, SearchRequest, SearchResponse, SearchScope
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store

if TYPE_CHECKING:
    from slowwave.search.recall_events import Answered
    from slowwave.store.settings import Settings
    from slowwave.wiki.claims.request import Family, RememberResponse
    from slowwave.wiki.claims.trail import ClaimResponse, SubjectHistoryResponse
    from slowwave.wiki.corpus.corpora import GetResponse
    from slowwave.wiki.corpus.link_graph import Direction, LinkResponse, LintResponse
    from slowwave.wiki.corpus.requests import PurgeResponse, SessionIngestResponse, WriteResponse
    from slowwave.wiki.recall.active import ActiveMemoryResponse
    from slowwave.wiki.recall.research import ResearchKind, ResearchResponse
    from slowwave.wiki.recall.wake import WakeResponse


Request = TypeVar("Request", bound=BaseModel)
Response = TypeVar("Response", bound=BaseModel)


class Memory:
    """The memory of one namespace, given by its name. By default it uses the store of the environment."""

    def __init__(self, namespace: str, store: Store | None = None) -> None:
        self.namespace = namespace
        self.store = store or open_store()

    def search(
        self,
        query: str,
        *,
        mode: Mode | str = "hybrid",
        k: int = 10,
        corpus: CorpusChoice | str = "durable",
        scope: SearchScope | dict[str, Any] = SearchScope(),  # noqa: B008 - it is frozen
        as_of: datetime | None = None,
        min_relevance_score: float = 0.0,
        include_content: bool = True,
        include_retired: bool = False,
        debug: bool = False,
    ) -> SearchResponse:
        """Search the namespace and return the hits, best first; see ``slowwave.search.request.SearchRequest``.

        Raises ``Refused`` for an invalid request.
        """
        request = _request(SearchRequest, locals())
        from slowwave.search.search import search  # not needed by a plain `import slowwave`

        return search(self.store, self.namespace, request)

    def wake(
        self,
        agent: str,
        *,
        budget_tokens: int = 600,
        profile: str = "default",
        project: str = "",
        include_recent_sessions: int = 5,
        include_pinned_decisions: bool = True,
        debug: bool = False,
    ) -> WakeResponse:
        """Return the context for an agent at the start of a session; see ``slowwave.wiki.recall.wake.WakeRequest``.

        Raises ``Refused`` as ``search`` does.
        """
        given = locals()
        from slowwave.wiki.recall.wake import WakeRequest, wake

        return self._answered(wake, _request(WakeRequest, given))

    def active(
        self,
        prompt: str,
        agent: str,
        *,
        profile: str = "auto",
        project: str = "",
        cwd: str = "",
        scope: SearchScope | dict[str, Any] = SearchScope(),  # noqa: B008
        budget_tokens: int = 400,
        timeout_ms: int = 3_000,
        include_wake: bool = False,
        debug: bool = False,
    ) -> ActiveMemoryResponse:
        """Return memories relevant to a prompt of an agent; see ``slowwave.wiki.recall.active.ActiveMemoryRequest``.

        Raises as ``search`` does.
        """
        given = locals()
        from slowwave.wiki.recall.active import ActiveMemoryRequest, active_memory

        return self._answered(active_memory, _request(ActiveMemoryRequest, given))

    def get(self, path: str, *, from_line: int = 1, lines: int | None = None, corpus: str | None = None) -> GetResponse:
        """Return a page of a corpus, or some of its lines; see ``slowwave.wiki.corpus.corpora.GetRequest``.

        The returned lines count as recalled and used. Raises ``Refused`` for a path that no page has, or that pages of several corpora
        have.
        """
        given = locals()
        from slowwave.search.recall_events import Answered, Lines, Recalled
        from slowwave.wiki.corpus.corpora import GetRequest, get_page

        def read(connection: Connection, namespace: str, request: GetRequest, _: Settings) -> Answered[GetResponse]:
            found = get_page(connection, namespace, request)
            shown = Lines(found.path, found.from_line, found.from_line + found.lines_returned - 1)
            return Answered(found, (Recalled(pages=(shown,), used=True),))

        return self._answered(read, _request(GetRequest, given))

    def link(
        self,
        op: Literal["neighbors", "backlinks", "lint"],
        path: str | None = None,
        *,
        direction: Direction = "out",
        depth: int = 1,
        max_edges: int = 40,
        exclude_prefixes: Sequence[str] = (),
        corpus: str | None = None,
    ) -> LinkResponse | LintResponse:
        """Return the pages around a page, or the broken links; see ``slowwave.wiki.corpus.link_graph.LinkRequest``.

        Raises ``Refused`` as ``get``.
        """
        given = locals()
        from slowwave.wiki.corpus.link_graph import LinkRequest, links

        with self.store.connect("server") as connection:
            return links(connection, self.namespace, _request(LinkRequest, given))

    def research(
        self,
        question: str,
        *,
        kind: ResearchKind | str = "report",
        corpus: CorpusChoice | str = "all",
        limit: int = 8,
        save: bool = False,
    ) -> ResearchResponse:
        """Return an answer in Markdown with its sources; see ``slowwave.wiki.recall.research.ResearchRequest``.

        Raises as ``search`` does.
        """
        given = locals()
        from slowwave.wiki.recall.research import ResearchRequest, research

        response = self._answered(research, _request(ResearchRequest, given))
        if not save:
            return response
        from slowwave.search.request import settings_of
        from slowwave.wiki.corpus.page_write import keep_research

        with self.store.connect("owner") as connection:
            return keep_research(
                connection, self.namespace, response, settings_of(connection, self.namespace), follow=True
            )

    def session_ingest(
        self,
        path: str,
        content: str,
        agent: str,
        session_id: str,
        *,
        device: str = "",
        status: str = "done",
        captured_from: str = "",
        updated: datetime | None = None,
    ) -> SessionIngestResponse:
        """Store a session, or its next version; see ``slowwave.wiki.corpus.requests.SessionIngestRequest``. Raises as ``search`` does."""
        given = locals()
        from slowwave.search.request import settings_of
        from slowwave.wiki.corpus.requests import SessionIngestRequest
        from slowwave.wiki.corpus.sessions import session_ingest

        request = _request(SessionIngestRequest, given)
        with self.store.connect("owner") as connection:
            return session_ingest(connection, self.namespace, request, settings_of(connection, self.namespace))

    def remember(
        self,
        content: str,
        subject: str = "",
        *,
        action: str = "write",
        kind: str = "fact",
        scope: Family | str | None = None,
        confidence: float = 1.0,
        occurred_at: datetime | None = None,
        reason: str = "",
        source: str = "",
        claim_ids: Sequence[str] = (),
        soft: bool = False,
        dry_run: bool = False,
        force_inbox: bool = False,
        allow_canonical: bool = False,
        agent: str = "",
        session_id: str = "",
        origin_surface: str = "python",
    ) -> RememberResponse:
        """Remember a statement about a subject; see ``slowwave.wiki.claims.request.RememberRequest``. Raises as ``search`` does."""
        given = locals()
        from slowwave.search.request import settings_of
        from slowwave.wiki.claims.remember import remember
        from slowwave.wiki.claims.request import RememberRequest

        request = _request(RememberRequest, given)
        with self.store.connect("owner") as connection:
            return remember(connection, self.namespace, request, settings_of(connection, self.namespace))

    def forget(
        self,
        subject: str,
        content: str = "",
        *,
        kind: str = "note",
        scope: Family | str | None = None,
        reason: str = "",
        claim_ids: Sequence[str] = (),
        dry_run: bool = False,
        agent: str = "",
        session_id: str = "",
        origin_surface: str = "python",
    ) -> RememberResponse:
        """Forget what is known about a subject: claims of one ``kind`` or of all (``note``), or the statement in ``content``."""
        given = {name: value for name, value in locals().items() if name != "self"}
        return self.remember(action="forget", **given)

    def history(self, subject: str, *, scope: Family | str | None = None, limit: int = 50) -> SubjectHistoryResponse:
        """Return the earlier and current claims about a subject, newest first; see ``slowwave.wiki.claims.trail``.

        Raises as ``search`` does.
        """
        given = locals()
        from slowwave.wiki.claims.trail import SubjectHistoryRequest, subject_history

        with self.store.connect("server") as connection:
            return subject_history(connection, self.namespace, _request(SubjectHistoryRequest, given))

    def claim(self, id: str) -> ClaimResponse:  # noqa: A002 - the request's word
        """Return a claim with its sources and its later history, by its id or the first characters of the id.

        Raises as ``search`` does.
        """
        given = locals()
        from slowwave.wiki.claims.trail import ClaimRequest, claim

        with self.store.connect("server") as connection:
            return claim(connection, self.namespace, _request(ClaimRequest, given))

    def write(
        self,
        kind: str,
        target: str,
        content: str = "",
        *,
        frontmatter: Mapping[str, Any] | None = None,
        expected_hash: str = "",
        reason: str = "",
        soft: bool = False,
        dry_run: bool = False,
        agent: str = "",
        session_id: str = "",
        corpus: str | None = None,
    ) -> WriteResponse:
        """Create, append to, replace or forget a page; see ``slowwave.wiki.corpus.requests.WriteRequest``. Raises as ``search`` does."""
        given = {**locals(), "frontmatter": dict(frontmatter or {})}
        from slowwave.search.request import settings_of
        from slowwave.wiki.corpus.page_write import write
        from slowwave.wiki.corpus.requests import WriteRequest

        request = _request(WriteRequest, given)
        with self.store.connect("owner") as connection:
            settings = settings_of(connection, self.namespace)
            return write(connection, self.namespace, request, settings, follow=True)

    def purge(
        self,
        target: str,
        *,
        expected_hash: str = "",
        reason: str = "",
        dry_run: bool = True,
        allow_canonical: bool = False,
        include_related_tombstone: bool = False,
        agent: str = "",
        corpus: str | None = None,
    ) -> PurgeResponse:
        """Delete a page for good, or return what that would delete; see ``page_request.PurgeRequest`` there.

        Raises as ``search`` does.
        """
        given = locals()
        from slowwave.search.request import settings_of
        from slowwave.wiki.corpus.page_write import purge
        from slowwave.wiki.corpus.requests import PurgeRequest

        request = _request(PurgeRequest, given)
        with self.store.connect("owner") as connection:
            settings = settings_of(connection, self.namespace)
            return purge(connection, self.namespace, request, settings, follow=True)

    def _answered(
        self, answer: Callable[[Connection, str, Request, Settings], Answered[Response]], request: Request
    ) -> Response:
        """Answer a request from this namespace and log the recalls of the answer afterwards."""
        from slowwave.search.recall_events import log_behind
        from slowwave.search.request import settings_of

        with self.store.connect("server") as connection:
            answered = answer(connection, self.namespace, request, settings_of(connection, self.namespace))
        log_behind(self.store, "owner", self.namespace, answered.recalls)
        return answered.answer


def _request(kind: type[Request], given: Mapping[str, object]) -> Request:
    """Build a request from the arguments of a method. Raises ``Refused`` that names the first invalid field."""
    try:
        return kind.model_validate({name: value for name, value in given.items() if name != "self"})
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if not name:
            raise Refused(f"{plain_fault(first['msg'])}. Nothing was done.") from None
        raise Refused(
            f"{name} cannot be {str(first['input'])[:64]!r}: {plain_fault(first['msg'])}. Nothing was done."
        ) from None
