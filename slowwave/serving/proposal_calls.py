"""The calls of proposals: propose, list, read, approve and reject."""

from __future__ import annotations

from typing import Final

from slowwave.proposals.proposal_request import (
    ProposalApplyRequest,
    ProposalByIdRequest,
    ProposalRejectRequest,
    ProposalRequest,
    ProposalResponse,
    ProposalsRequest,
    ProposalsResponse,
)
from slowwave.search.namespace_settings import settings_of
from slowwave.serving.call import Call
from slowwave.serving.tokens import Caller
from slowwave.store.connect import Connection


def _propose(connection: Connection, caller: Caller, request: ProposalRequest) -> ProposalResponse:
    from slowwave.proposals.kept import propose  # screens texts

    asked = request.over(caller.surface)
    return propose(connection, caller.namespace, asked, settings_of(connection, caller.namespace), token=caller.token)


def _proposals(connection: Connection, caller: Caller, request: ProposalsRequest) -> ProposalsResponse:
    from slowwave.proposals.kept import proposals

    return proposals(connection, caller.namespace, request)


def _proposal(connection: Connection, caller: Caller, request: ProposalByIdRequest) -> ProposalResponse:
    from slowwave.proposals.kept import proposal

    return proposal(connection, caller.namespace, request)


def _decide(
    connection: Connection, caller: Caller, request: ProposalApplyRequest | ProposalRejectRequest
) -> ProposalResponse:
    from slowwave.proposals.kept import decide

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
"""In the order in which they are listed."""
