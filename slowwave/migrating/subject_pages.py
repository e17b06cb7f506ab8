"""The pages that come with a subject's claims: one of evidence, and the canonical page of a subject that has none yet. Pure.

Evidence names for every statement the file, the line and the hash of what was read. The canonical page has the sections of its family, each
filled by the claims that stand, a timeline of all of them, and the places of the evidence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from slowwave.claims.subject_ref import Family
from slowwave.corpus.page_text import verbatim_page
from slowwave.corpus.profile import profile
from slowwave.migrating.claim_policy import MigratedClaim, SubjectPlan
from slowwave.migrating.records import AtomKind
from slowwave.migrating.staged_page import IMPORTED, slug

MARKER: Final = "<!-- TIMELINE: append-only below this line -->"

_CITED: Final = 5
"""Sources of one statement that its line names."""

_SECTION: Final[Mapping[Family, Mapping[AtomKind, str]]] = {
    "person": {
        "person_fact": "Current Facts",
        "preference": "Preferences And Working Style",
        "goal": "Goals And Priorities",
        "decision": "Related Decisions And Projects",
    },
    "project": {
        "project_update": "Current State",
        "goal": "Goals",
        "open_question": "Open Work",
        "followup": "Open Work",
        "decision": "Key Decisions",
    },
    "concept": {"concept_claim": "Key Claims", "open_question": "Open Questions"},
    "decision": {"decision": "Decision"},
    "core": {"preference": "Preferences"},
}
_OTHERWISE: Final[Mapping[Family, str]] = {
    "person": "Current Facts",
    "project": "Current State",
    "concept": "Current Understanding",
    "decision": "Context",
    "core": "",
}
_CORE: Final[Mapping[str, str]] = {
    "user": "Current Facts",
    "active": "Current Focus",
    "defaults": "Default Operating Assumptions",
    "env": "Environment",
    "identity": "Role",
    "soul": "Behavior Rules",
}
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#])")


class MigratedSubjectPage(NamedTuple):
    """A page by its place."""

    place: str
    text: str


def evidence_page(plan: SubjectPlan, label: str) -> MigratedSubjectPage:
    """What was read about a subject. Its place is that of its content: other statements or other files give another page."""
    subject, ref = plan.subject, plan.subject.ref
    files = sorted({said.page.page.source for claim in plan.claims for said in claim.sources})
    lines = [_cited(claim) for claim in plan.claims]
    body = f"\n# What was read about {escaped(subject.name)}\n\n" + "\n".join(lines) + "\n"
    digest = hashlib.sha256("\n".join([str(ref), *lines]).encode("utf-8", "replace")).hexdigest()
    fields: dict[str, Any] = {
        "title": f"Evidence of {subject.name}"[:200],
        "type": "source",
        "source_kind": "extracted",
        "canonical": False,
        "subject": str(ref),
        "created": max(claim.since for claim in plan.claims).date().isoformat(),
        "migrated_from": files[:100],
        "evidence_sha256": digest,
    }
    return MigratedSubjectPage(
        f"{IMPORTED}/{slug(label)}/claims/{ref.family}-{slug(ref.slug)}-{digest[:8]}.md", verbatim_page(fields, body)
    )


def canonical_page(plan: SubjectPlan, evidence: MigratedSubjectPage) -> MigratedSubjectPage:
    """The subject's own page."""
    subject, ref = plan.subject, plan.subject.ref
    told = [claim for claim in plan.claims if not claim.supports]
    standing = [claim for claim in told if claim.until is None]
    days = sorted(claim.since.date().isoformat() for claim in told)
    fields: dict[str, Any] = {
        "title": subject.name,
        "type": ref.family,
        "status": "active",
        "canonical": True,
        "source_kind": "canonical",
        "slug": ref.slug,
        "created": days[0],
        "updated": days[-1],
    }
    if subject.aliases:
        fields["aliases"] = list(subject.aliases)
    sections = sections_of(ref.family, ref.path)
    filled: dict[str, list[str]] = {name: [] for name in sections}
    for claim in standing:
        filled[_section(ref.family, ref.slug, claim.sort, sections)].append(escaped(claim.statement))
    if standing and "Summary" in filled:
        filled["Summary"] = [escaped(standing[0].statement)]
    body = "".join(
        f"\n## {name}\n" + "".join(f"\n- {line}" for line in _once(filled[name])) + ("\n" if filled[name] else "")
        for name in sections
        if name not in ("Timeline", "Evidence")
    )
    timeline = "\n".join(f"- {claim.since:%Y-%m-%d}: {escaped(claim.statement)} (`{evidence.place}`)" for claim in told)
    files = sorted({said.page.page.place for claim in told for said in claim.sources})
    places = "\n".join(f"- `{place}`" for place in [evidence.place, *files])
    rest = f"\n---\n\n{MARKER}\n\n## Timeline\n\n{timeline}\n\n## Evidence\n\n{places}\n"
    return MigratedSubjectPage(ref.path, verbatim_page(fields, body + rest))


def sections_of(family: Family, path: str) -> tuple[str, ...]:
    """The sections that a canonical page of a family has."""
    return profile("dory").sections_of(path, family) or ("Summary", "Timeline", "Evidence")


def _section(family: Family, name: str, sort: AtomKind, sections: Sequence[str]) -> str:
    wanted = _SECTION[family].get(sort) or (_CORE.get(name, "") if family == "core" else _OTHERWISE[family])
    return wanted if wanted in sections else sections[0]


def _cited(claim: MigratedClaim) -> str:
    sources = [
        f"`{said.page.page.source.replace('`', '')}` line {said.atom.line}, sha256 {said.page.page.sha256[:12]}"
        for said in claim.sources[:_CITED]
    ]
    more = f", and {len(claim.sources) - _CITED} more" if len(claim.sources) > _CITED else ""
    return f"- {claim.since:%Y-%m-%d} {claim.sort}: {escaped(claim.statement)} ({'; '.join(sources)}{more})"


def escaped(text: str) -> str:
    """A statement as Markdown shows it and nothing else: it can open no link, no HTML and no heading."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _once(lines: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(line.casefold(), line)
    return list(found.values())
