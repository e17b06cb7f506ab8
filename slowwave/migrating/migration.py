"""A migration as a whole: from staged pages to what would be proposed. Pure: the same pages and the same namespace give the same."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from slowwave.migrating.audited_plan import AuditedPlan, audited_plan
from slowwave.migrating.claim_policy import SubjectPlan, subject_plan
from slowwave.migrating.classified_page import ClassifiedPage, classified_page
from slowwave.migrating.known_claims import known_claims, known_pages
from slowwave.migrating.model_reading import PageReader
from slowwave.migrating.staged_page import StagedPage
from slowwave.migrating.staging import Staging
from slowwave.migrating.subjects import MigratedSubjects, migrated_subjects
from slowwave.snapshots.snapshot import Snapshot

RULES: Final = "1"
"""Of what the stages do: another number gives other run ids."""

Tell = Callable[[str, int, int], None]
"""Called with the stage that goes on, what of it is done, and all of it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration came to. ``fresh`` are pages that are not there yet, ``changed`` those that say something else there."""

    run_id: str
    namespace: str
    staging: Staging
    pages: tuple[ClassifiedPage, ...]
    plans: tuple[SubjectPlan, ...]
    audited: AuditedPlan
    fresh: tuple[StagedPage, ...]
    changed: tuple[StagedPage, ...]
    reader: PageReader | None = None

    @property
    def resolutions(self) -> Counter[str]:
        """Pages by what became of them."""
        return Counter(page.resolution for page in self.pages)

    @property
    def claims(self) -> int:
        """Claims that are proposed, and evidence for claims that stand."""
        return sum(len(subject.plan.claims) for subject in self.audited.subjects)

    @property
    def canonical(self) -> int:
        """Canonical pages that are proposed."""
        return sum(subject.canonical is not None for subject in self.audited.subjects)

    @property
    def contradictions(self) -> int:
        """Pairs of statements that cannot both hold."""
        return sum(len(plan.contradictions) for plan in self.plans)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to propose."""
        return not (self.fresh or self.changed or self.audited.subjects)


def migration(
    namespace: str,
    staging: Staging,
    snapshot: Snapshot | None,
    now: datetime,
    reader: PageReader | None = None,
    tell: Tell | None = None,
) -> Migration:
    """Classify, bring together, decide and audit. ``snapshot`` is what the namespace holds, or None; ``reader`` a model."""
    pages: list[ClassifiedPage] = []
    for done, page in enumerate(staging.pages, 1):
        classified = classified_page(page)
        pages.append(classified if reader is None else reader.read(classified))
        if tell is not None and (reader is not None or done % 200 == 0):
            tell("classify", done, len(staging.pages))
    known = known_claims(snapshot)
    standing = known_pages(snapshot)
    subjects = migrated_subjects(pages, MigratedSubjects.of(snapshot))
    plans = [subject_plan(subject, known.get(subject.entity, ())) for subject in subjects]
    hashes = {page.place: _hash(page.text) for page in staging.pages}
    audited = audited_plan(plans, staging.label, {**standing, **hashes}, now)
    fresh = [page for page in staging.pages if page.place not in standing]
    changed = [page for page in staging.pages if standing.get(page.place, hashes[page.place]) != hashes[page.place]]
    return Migration(
        run_id_of(namespace, staging.label, staging.files, reader.model.model if reader else ""),
        *(namespace, staging, tuple(pages), tuple(plans), audited, tuple(fresh), tuple(changed), reader),
    )


def run_id_of(namespace: str, label: str, files: Sequence[tuple[str, str]], model: str) -> str:
    """The id of a run: what it reads, for which namespace, by which rules and model. The same folder again is the same run."""
    said = json.dumps([RULES, namespace, label, sorted(files), model], ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
