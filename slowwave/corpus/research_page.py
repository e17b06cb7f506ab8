"""The page of research, kept where it belongs: by the rules of any page that agents write (``slowwave.corpus.page_write``)."""

from __future__ import annotations

from slowwave.config.settings import Settings
from slowwave.corpus.page_request import WriteRequest
from slowwave.corpus.page_write import write
from slowwave.errors import Refused
from slowwave.recall.research_request import ResearchArtifact, ResearchResponse
from slowwave.store.connect import Connection


def keep_research(
    connection: Connection,
    namespace: str,
    told: ResearchResponse,
    settings: Settings,
    *,
    token: str = "",
    follow: bool = False,
) -> ResearchResponse:
    """An answer with the ``artifact`` that its page became, in a namespace (its name); ``token`` and ``follow`` as in ``page_write.write``.

    A page that cannot be kept is no reason to lose the answer: why not stands in ``warnings``.
    """
    page = told.research
    request = WriteRequest(kind="create", target=page.target, content=page.page)
    try:
        done = write(connection, namespace, request, settings, token=token, follow=follow)
    except Refused as problem:
        return told.model_copy(update={"warnings": (*told.warnings, f"The page was not kept. {problem}")})
    artifact = ResearchArtifact(path=done.path, kind=page.kind, bytes_written=done.bytes_written)
    return told.model_copy(update={"artifact": artifact, "warnings": (*told.warnings, *done.warnings)})
