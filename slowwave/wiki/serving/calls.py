"""The calls that an agent can make, each declared once; HTTP routes, OpenAPI and MCP tools derive from this list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, RootModel

from slowwave.errors import Forbidden
from slowwave.search.recall_events import Answered, Lines, Recalled
from slowwave.search.request import SearchRequest, SearchResponse, settings_of
from slowwave.sources.chunking import file_lines
from slowwave.store.logins import Connection
from slowwave.text.tokens import BYTES_A_TOKEN
from slowwave.wiki.claims.request import RememberRequest, RememberResponse
from slowwave.wiki.claims.trail import (
    ClaimRequest,
    ClaimResponse,
    SubjectHistoryRequest,
    SubjectHistoryResponse,
    claim,
    subject_history,
)
from slowwave.wiki.corpus.corpora import GetRequest, GetResponse, get_page
from slowwave.wiki.corpus.link_graph import LinkRequest, LinkResponse, LintResponse, links
from slowwave.wiki.corpus.public_artifacts import PublicArtifacts, PublicArtifactsRequest, public_artifacts
from slowwave.wiki.corpus.requests import (
    PurgeRequest,
    PurgeResponse,
    SessionIngestRequest,
    SessionIngestResponse,
    WriteRequest,
    WriteResponse,
)
from slowwave.wiki.proposal_request import (
    ProposalApplyRequest,
    ProposalByIdRequest,
    ProposalRejectRequest,
    ProposalRequest,
    ProposalResponse,
    ProposalsRequest,
    ProposalsResponse,
    ProposedChange,
)
from slowwave.wiki.recall.active import ActiveMemoryRequest, ActiveMemoryResponse, active_memory
from slowwave.wiki.recall.event_request import RecallEventRequest, RecallEventResponse, recall_event
from slowwave.wiki.recall.research import ResearchRequest, ResearchResponse, research
from slowwave.wiki.recall.wake import WakeRequest, WakeResponse, wake, wake_profiles
from slowwave.wiki.serving.namespace_status import StatusRequest, StatusResponse, namespace_status
from slowwave.wiki.serving.nights import (
    DreamNowRequest,
    DreamNowResponse,
    NightsRequest,
    NightsResponse,
    list_nights,
    request_night,
)
from slowwave.wiki.serving.tokens import Call, Caller

# The calls of proposals: propose, list, read, approve and reject.


def _propose(connection: Connection, caller: Caller, request: ProposalRequest) -> ProposalResponse:
    from slowwave.wiki.proposals import propose  # screens texts

    asked = request.over(caller.surface)
    return propose(connection, caller.namespace, asked, settings_of(connection, caller.namespace), token=caller.token)


def _proposals(connection: Connection, caller: Caller, request: ProposalsRequest) -> ProposalsResponse:
    from slowwave.wiki.proposals import proposals

    return proposals(connection, caller.namespace, request)


def _proposal(connection: Connection, caller: Caller, request: ProposalByIdRequest) -> ProposalResponse:
    from slowwave.wiki.proposals import proposal

    return proposal(connection, caller.namespace, request)


def _decide(
    connection: Connection, caller: Caller, request: ProposalApplyRequest | ProposalRejectRequest
) -> ProposalResponse:
    from slowwave.wiki.proposals import decide

    return decide(connection, caller.namespace, request, token=caller.token)


PROPOSAL_CALLS: Final = (
    Call(
        "memory-proposals",
        "Propose changes that a person is to decide on: statements or pages, canonical ones among them. The same is proposed once.",
        ProposalRequest,
        ProposalResponse,
        "propose",
        _propose,
        effect="adds",
    ),
    Call(
        "memory-proposals-list",
        "Proposals and what became of them, the newest first.",
        ProposalsRequest,
        ProposalsResponse,
        "read",
        _proposals,
        "GET",
        route="/v1/memory-proposals",
    ),
    Call(
        "memory-proposal",
        "A proposal by its id: what it asks for, and the plan that waits.",
        ProposalByIdRequest,
        ProposalResponse,
        "read",
        _proposal,
        "GET",
        at="id",
        route="/v1/memory-proposals/{id}",
    ),
    Call(
        "memory-proposal-apply",
        "Approve the plan of a proposal, named by its hash as it was read; it is signed and applied soon after.",
        ProposalApplyRequest,
        ProposalResponse,
        "approve",
        _decide,
        at="id",
        route="/v1/memory-proposals/{id}/apply",
        effect="replaces",
    ),
    Call(
        "memory-proposal-reject",
        "Reject a proposal for a reason: it is not proposed again until what it rests on changes.",
        ProposalRejectRequest,
        ProposalResponse,
        "approve",
        _decide,
        at="id",
        route="/v1/memory-proposals/{id}/reject",
        effect="replaces",
    ),
)
"""The calls in the order in which they are listed."""


# The calls that an agent can make, each once: HTTP routes, the OpenAPI page, MCP tools and their schemas all derive from this list.
#
# A call is implemented in the package of its subject. ``slowwave.wiki.serving.http_app`` and ``slowwave.wiki.serving.mcp_server`` handle
# how it is requested.

PAGE_TOKENS: Final = 6000
"""Maximum tokens of a page in one answer; its ``next`` is used to request the rest."""


class ProfilesRequest(BaseModel):
    """An empty request."""

    model_config = ConfigDict(extra="forbid")


class ProfilesResponse(BaseModel):
    """Profiles by name, each with the titles of its sections."""

    wake: dict[str, tuple[str, ...]]


class LinkAnswer(RootModel[LinkResponse | LintResponse]):
    """Edges, or broken links, depending on the requested operation."""


def _wake(connection: Connection, caller: Caller, request: WakeRequest) -> Answered[WakeResponse]:
    return wake(connection, caller.namespace, request, settings_of(connection, caller.namespace))


def _search(connection: Connection, caller: Caller, request: SearchRequest) -> Answered[SearchResponse]:
    from slowwave.search.search import search_on  # NumPy and the embedder: a server starts without them

    found = search_on(connection, caller.namespace, request)
    return Answered(found, (Recalled.of_search(found),))


def _active(connection: Connection, caller: Caller, request: ActiveMemoryRequest) -> Answered[ActiveMemoryResponse]:
    return active_memory(connection, caller.namespace, request, settings_of(connection, caller.namespace))


def _found(answer: SearchResponse) -> str:
    """Format search results as text: one paragraph per result, with the id that a recall event uses."""
    lines = [
        f"{r.path or r.title or r.kind} ({', '.join((r.confidence, f'id {r.id}', *r.elsewhere()))})\n{r.snippet}"
        for r in answer.results
    ]
    return "\n\n".join([*lines, *answer.warnings]) or "Nothing was found."


def _research(connection: Connection, caller: Caller, request: ResearchRequest) -> Answered[ResearchResponse]:
    settings = settings_of(connection, caller.namespace)
    found = research(connection, caller.namespace, request, settings)
    if not request.save:
        return found
    from slowwave.wiki.corpus.page_write import keep_research  # screens texts and embeds them

    return replace(
        found, answer=keep_research(connection, caller.namespace, found.answer, settings, token=caller.token)
    )


def _profiles(connection: Connection, caller: Caller, request: ProfilesRequest) -> ProfilesResponse:
    own = settings_of(connection, caller.namespace).wake_profiles
    known = wake_profiles(Path(own) if own else None)
    return ProfilesResponse(
        wake={
            name: tuple(known.sections[section].title for section in profile.sections)
            for name, profile in sorted(known.profiles.items())
        }
    )


def _get(connection: Connection, caller: Caller, request: GetRequest) -> Answered[GetResponse]:
    """Return as many whole lines as fit in an answer, but at least one. The lines count as used."""
    found = get_page(connection, caller.namespace, request)
    room, kept = PAGE_TOKENS * BYTES_A_TOKEN, 0
    lines = file_lines(found.content)
    for line in lines:
        room -= len(line.encode())
        if room < 0 and kept:
            break
        kept += 1
    if kept < len(lines):
        after = {"content": "".join(lines[:kept]), "lines_returned": kept, "next": found.from_line + kept}
        found = found.model_copy(update=after)
    shown = Lines(found.path, found.from_line, found.from_line + found.lines_returned - 1)
    return Answered(found, (Recalled(pages=(shown,), used=True),))


def _links(connection: Connection, caller: Caller, request: LinkRequest) -> LinkAnswer:
    return LinkAnswer(links(connection, caller.namespace, request))


def _recall_event(connection: Connection, caller: Caller, request: RecallEventRequest) -> RecallEventResponse:
    return recall_event(connection, caller.namespace, request)


def _session_ingest(connection: Connection, caller: Caller, request: SessionIngestRequest) -> SessionIngestResponse:
    from slowwave.wiki.corpus.sessions import session_ingest  # reads Markdown and screens it, which no other call does

    settings = settings_of(connection, caller.namespace)
    return session_ingest(connection, caller.namespace, request, settings, token=caller.token)


def _remember(connection: Connection, caller: Caller, request: RememberRequest) -> RememberResponse:
    from slowwave.wiki.claims.remember import remember  # screens and compares texts, which no call that only reads does

    settings = settings_of(connection, caller.namespace)
    return remember(connection, caller.namespace, request.over(caller.surface), settings, token=caller.token)


def _claim(connection: Connection, caller: Caller, request: ClaimRequest) -> ClaimResponse:
    return claim(connection, caller.namespace, request)


def _history(connection: Connection, caller: Caller, request: SubjectHistoryRequest) -> SubjectHistoryResponse:
    return subject_history(connection, caller.namespace, request)


def _write(connection: Connection, caller: Caller, request: WriteRequest) -> WriteResponse:
    from slowwave.wiki.corpus.page_write import write  # as above

    settings = settings_of(connection, caller.namespace)
    try:
        return write(connection, caller.namespace, request, settings, token=caller.token)
    except Forbidden as problem:
        if "propose" not in caller.scopes or request.dry_run or request.kind == "forget":
            raise
        refused = problem
    from slowwave.wiki.proposals import propose

    change = ProposedChange(page=request)
    asked = ProposalRequest(actions=(change,), agent=request.agent, session_id=request.session_id)
    try:
        kept = propose(connection, caller.namespace, asked, settings, token=caller.token)
    except Forbidden:
        raise refused from None
    why = f"The page is canonical, pinned or public, and the token may not approve: kept as proposal {kept.id}, which waits for a person."
    return WriteResponse(
        path=request.target,
        action="proposed",
        bytes_written=0,
        hash="",
        indexed=False,
        edges_added=0,
        proposal=kept.id,
        warnings=(why,),
    )


def _purge(connection: Connection, caller: Caller, request: PurgeRequest) -> PurgeResponse:
    from slowwave.wiki.corpus.page_write import purge

    settings = settings_of(connection, caller.namespace)
    return purge(connection, caller.namespace, request, settings, token=caller.token)


def _public_artifacts(connection: Connection, caller: Caller, request: PublicArtifactsRequest) -> PublicArtifacts:
    return public_artifacts(connection, caller.namespace, request)


def _status(connection: Connection, caller: Caller, request: StatusRequest) -> StatusResponse:
    return namespace_status(connection, caller.namespace, request)


def _dream_now(connection: Connection, caller: Caller, request: DreamNowRequest) -> DreamNowResponse:
    settings = settings_of(connection, caller.namespace)
    return request_night(connection, caller.namespace, request, settings, token=caller.token)


def _nights(connection: Connection, caller: Caller, request: NightsRequest) -> NightsResponse:
    return list_nights(connection, caller.namespace, request)


def _page(answer: GetResponse) -> str:
    """Format the lines of a page unchanged, followed by their position in the page."""
    last = answer.from_line + answer.lines_returned - 1
    further = f"; next: from {answer.next}" if answer.next else ""
    return f"{answer.content}\n[{answer.path}, lines {answer.from_line}-{last} of {answer.total_lines}{further}]"


_CALLS: Final = (
    Call(
        "wake",
        "Read first, at the start of a session: what is known of the user, the work at hand and recent sessions, within a token budget.",
        WakeRequest,
        WakeResponse,
        "read",
        _wake,
        text=lambda answer: answer.block or "Nothing is remembered for this profile yet.",
    ),
    Call(
        "active-memory",
        "Before acting on a prompt: the few pages of memory that bear on it and may be told, within a token budget.",
        ActiveMemoryRequest,
        ActiveMemoryResponse,
        "read",
        _active,
        text=lambda answer: answer.block or answer.summary,
    ),
    Call(
        "search",
        "Find memories, passages and entities by words and meaning; results have ids, which recall_event takes.",
        SearchRequest,
        SearchResponse,
        "read",
        _search,
        text=_found,
    ),
    Call(
        "get",
        "Read a page of memory by its path, or lines of it; `next` is the line to go on from.",
        GetRequest,
        GetResponse,
        "read",
        _get,
        "GET",
        text=_page,
    ),
    Call(
        "research",
        "Answer a question as a page in Markdown, each line with the numbers of its sources; save keeps the page.",
        ResearchRequest,
        ResearchResponse,
        "read",
        _research,
        text=lambda answer: "\n\n".join([answer.research.body, *answer.warnings]),
        effect="adds",
    ),
    Call(
        "link",
        "Pages around a page: neighbors (links of a page), backlinks (links to it), or lint (links that are broken).",
        LinkRequest,
        LinkAnswer,
        "read",
        _links,
    ),
    Call(
        "recall-event",
        "Report which recalled results you used, so that memory learns what is worth keeping.",
        RecallEventRequest,
        RecallEventResponse,
        "write",
        _recall_event,
        effect="adds",
    ),
    Call(
        "session-ingest",
        "Store what was said in a session, as Markdown under logs/sessions/; again when it grew. search with corpus=sessions finds it.",
        SessionIngestRequest,
        SessionIngestResponse,
        "write",
        _session_ingest,
        effect="replaces",
    ),
    Call(
        "memory-write",
        "Remember, replace or forget one statement about a subject; the answer says what near is known, or whom the subject may mean.",
        RememberRequest,
        RememberResponse,
        "write",
        _remember,
        effect="replaces",
    ),
    Call(
        "claims",
        "What a remembered statement rests on and what became of it: who said it, when, in which session, and what replaced it.",
        ClaimRequest,
        ClaimResponse,
        "read",
        _claim,
        "GET",
        at="id",
    ),
    Call(
        "history",
        "What was believed of a subject, since when and until when, and why it changed; the newest first.",
        SubjectHistoryRequest,
        SubjectHistoryResponse,
        "read",
        _history,
        "GET",
    ),
    Call(
        "write",
        "Write a page of memory by its path: create, append, replace (by the hash that get gave) or forget (with a reason).",
        WriteRequest,
        WriteResponse,
        "write",
        _write,
        effect="replaces",
    ),
    Call(
        "purge",
        "Delete a page for good, with all its versions; a dry run unless dry_run is false. To let go of a page, forget it by write.",
        PurgeRequest,
        PurgeResponse,
        "write",
        _purge,
        effect="replaces",
    ),
    *PROPOSAL_CALLS,
    Call(
        "public-artifacts",
        "Pages of this memory that may be published, by path.",
        PublicArtifactsRequest,
        PublicArtifacts,
        "read",
        _public_artifacts,
        "GET",
    ),
    Call(
        "status",
        "What this memory holds, when it was last tidied, and whether a plan waits for a person.",
        StatusRequest,
        StatusResponse,
        "read",
        _status,
        "GET",
    ),
    Call(
        "dream-now",
        "Request a night now, which tidies memory and plans changes for a person to approve. Use it when much was learnt.",
        DreamNowRequest,
        DreamNowResponse,
        "night",
        _dream_now,
        route="/v1/nights",
        effect="adds",
    ),
    Call(
        "nights",
        "List the runs of nights and what each did, newest first, with the last requested night.",
        NightsRequest,
        NightsResponse,
        "read",
        _nights,
        "GET",
    ),
    Call(
        "profiles",
        "Profiles that wake takes, and the sections that each tells.",
        ProfilesRequest,
        ProfilesResponse,
        "read",
        _profiles,
        "GET",
    ),
)

CALLS: Final[Mapping[str, Call]] = {call.name: call for call in _CALLS}
"""Every call by its name."""
