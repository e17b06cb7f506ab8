"""What a new subject is called, whose page a statement belongs on, and which relations it states."""

from __future__ import annotations

from slowwave.claims.remember_request import RememberRequest
from slowwave.claims.subject_ref import SubjectRef
from slowwave.claims.subjects import Resolution


def target_of(request: RememberRequest, found: Resolution) -> SubjectRef:
    """The subject whose page the statement belongs on: a decision about something else has a page of its own."""
    ref = found.subject.ref if found.subject is not None else found.new
    if ref is None:
        raise AssertionError
    return (
        SubjectRef("decision", ref.slug)
        if request.kind == "decision" and ref.family not in ("decision", "core")
        else ref
    )


def name_of(request: RememberRequest, found: Resolution) -> str | None:
    """What a new subject is called: as it was said, or as its reference reads."""
    if found.new is None:
        return None
    if found.name:
        return found.name
    read = SubjectRef.read(request.subject)
    if read is None:
        return request.subject
    return read.slug if read.family == "core" else read.slug.replace("-", " ").title()


def relations_of(said: str) -> list[str]:
    """The relations that a statement states, of those that take one object."""
    from slowwave.claims.nearness import LONGEST
    from slowwave.texts.stated_relations import stated_relations

    return sorted({s.relation for s in stated_relations(said)}) if len(said) <= LONGEST else []
