"""A migration as a sealed plan that needs approval, with its items and its report."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from slowwave.errors import Refused
from slowwave.models import Embed
from slowwave.night.proposal import seal_proposal
from slowwave.night.runs import Night
from slowwave.operations import Inputs, Proposal
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Report
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.sources.loading import claim, namespace_id, refuse_read_only
from slowwave.sources.page_files import LeftOut
from slowwave.sources.rows import chosen_slug
from slowwave.store.configured_models import consolidator_for
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces, refuse_connected
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS
from slowwave.text.screened import each_text_once
from slowwave.text.tokens import counted
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from slowwave.wiki.migration.claim_policy import (
    CONFIDENCE,
    AuditedPlan,
    AuditFinding,
    MigratedClaim,
    SubjectPages,
    SubjectPlan,
    audited_plan,
    escaped,
    known_claims,
    known_pages,
    subject_plan,
)
from slowwave.wiki.migration.files import StagedPage, slug, source_folder
from slowwave.wiki.migration.pages import OPERATION, ClassifiedPage, PageReader, classified_page
from slowwave.wiki.migration.staging import Staging, stage
from slowwave.wiki.migration.subjects import MigratedSubjects, migrated_subjects

# A migration as a whole: from staged pages to proposals. Pure: the same pages and the same namespace give the same result.

RULES: Final = "1"
"""Version of the rules of all stages; a new version gives new run ids."""

Tell = Callable[[str, int, int], None]
"""Callback with the current stage, the number of finished steps, and the number of all steps."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Result of a migration.

    ``fresh`` are pages that do not exist yet; ``changed`` are pages whose stored text differs.
    """

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
        """Return the number of pages by classification."""
        return Counter(page.resolution for page in self.pages)

    @property
    def claims(self) -> int:
        """Return the number of proposed claims, including evidence for existing claims."""
        return sum(len(subject.plan.claims) for subject in self.audited.subjects)

    @property
    def canonical(self) -> int:
        """Return the number of proposed canonical pages."""
        return sum(subject.canonical is not None for subject in self.audited.subjects)

    @property
    def contradictions(self) -> int:
        """Return the number of pairs of statements that cannot both hold."""
        return sum(len(plan.contradictions) for plan in self.plans)

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to propose."""
        return not (self.fresh or self.changed or self.audited.subjects)


def migration(
    namespace: str,
    staging: Staging,
    snapshot: Snapshot | None,
    now: datetime,
    reader: PageReader | None = None,
    tell: Tell | None = None,
) -> Migration:
    """Classify pages, merge subjects, plan claims and audit the plan.

    ``snapshot`` holds the current rows of the namespace, or is None; ``reader`` is a model.
    """
    pages: list[ClassifiedPage] = []
    for done, page in enumerate(staging.pages, 1):
        classified = classified_page(page)
        pages.append(classified if reader is None else reader.read(classified))
        if tell is not None and (reader is not None or done % 200 == 0):
            tell("classify", done, len(staging.pages))
    known = known_claims(snapshot)
    standing = known_pages(snapshot)
    subjects = migrated_subjects(pages, MigratedSubjects.from_snapshot(snapshot))
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
    """Return the id of a run: a hash of the namespace, the label, the files, the version of the rules, and the model.

    The same folder gives the same run id.
    """
    identity = json.dumps([RULES, namespace, label, sorted(files), model], ensure_ascii=False)
    return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The plan items of a migration: one for each page, and one for each subject with its claims, evidence and page.

_CITED: Final = 5
"""Maximum number of sources that an item's evidence names for one claim."""


def migration_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    """Return the plan items of a migration.

    A page that replaces a different text carries a higher risk. A subject with audit findings needs a review by a person. Raises
    ``Refused``, naming the path or the subject, for an item that may not be planned.
    """
    return [*_page_items(found, snapshot, settings, embed), *_subject_items(found, snapshot, settings, embed)]


def _page_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    of_place = {page.page.place: page for page in found.pages}
    changed = {page.place for page in found.changed}
    staged = [*found.fresh, *found.changed]
    of_subjects = [page for subject in found.audited.subjects for page in _group(subject).pages]
    pages = [PlannedPage(page.place, page.text) for page in staged]
    mutations = planned_pages(snapshot, settings, embed, pages, of_subjects)
    items: list[Item] = []
    for page, mutation in zip(staged, mutations, strict=True):
        read = of_place[page.place]
        evidence: Mapping[str, object] = {
            "path": page.place,
            "source": page.source,
            "source_sha256": page.sha256,
            "source_line": page.line,
            "reader": page.reader,
            "resolution": read.resolution,
            "reason": read.reason,
            "migration": found.run_id,
        }
        is_new = page.place not in changed
        items.append(
            Item(
                OPERATION,
                Decision.WRITE if is_new else Decision.REWRITE,
                mutation,
                evidence,
                "low" if is_new else "medium",
            )
        )
    return items


def _subject_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    doubts: dict[str, list[str]] = {}
    for finding in found.audited.findings:
        doubts.setdefault(finding.subject, []).append(finding.reason)
    subjects = found.audited.subjects
    mutations = planned_claims(snapshot, settings, embed, [_group(subject) for subject in subjects])
    items: list[Item] = []
    for subject, mutation in zip(subjects, mutations, strict=True):
        plan = subject.plan
        ref = str(plan.subject.ref)
        evidence: Mapping[str, object] = {
            "subject_ref": ref,
            "subject": plan.subject.name,
            "known": bool(plan.subject.entity),
            "claims": [_claim_evidence(claim) for claim in plan.claims],
            "contradictions": [one._asdict() for one in plan.contradictions],
            "doubts": sorted(set(doubts.get(ref, ()))),
            "evidence": subject.evidence.place,
            "canonical": subject.canonical.place if subject.canonical else "",
            "migration": found.run_id,
        }
        sure = not doubts.get(ref)
        least = min((CONFIDENCE[claim.level] for claim in plan.claims), default=CONFIDENCE["high"])
        items.append(
            Item(
                OPERATION,
                Decision.CLAIM if sure else Decision.REVIEW,
                mutation,
                evidence,
                "low" if sure else "medium",
                probability=least,
            )
        )
    return items


def _group(subject: SubjectPages) -> SubjectClaims:
    plan = subject.plan
    about = plan.subject.entity or NewSubject(
        str(plan.subject.ref), plan.subject.name, tuple(alias for alias in plan.subject.aliases if alias.strip())
    )
    pages = [subject.evidence, *([subject.canonical] if subject.canonical else [])]
    return SubjectClaims(
        about,
        tuple(_planned(claim) for claim in plan.claims),
        tuple(PlannedPage(page.place, page.text) for page in pages),
    )


def _planned(claim: MigratedClaim) -> PlannedClaim:
    first = claim.sources[0]
    source = first.page.page.source
    return PlannedClaim(
        claim.kind,
        claim.statement,
        claim.since,
        claim.until,
        CONFIDENCE[claim.level],
        quote=escaped(claim.statement),
        closes=claim.closes,
        contradicts=claim.contradicts,
        supports=claim.supports,
        reason=f"Migrated from {source[:500]}, line {first.atom.line}",
        ended_by=claim.ended_by,
    )


def _claim_evidence(claim: MigratedClaim) -> dict[str, object]:
    sources = [
        {
            "source": source.page.page.source,
            "line": source.atom.line,
            "sha256": source.page.page.sha256,
            "by": source.atom.by,
        }
        for source in claim.sources[:_CITED]
    ]
    evidence: dict[str, object] = {
        "kind": claim.kind,
        "sort": claim.sort,
        "statement": claim.statement,
        "since": claim.since.isoformat(),
        "confidence": claim.level,
        "sources": sources,
    }
    if claim.until is not None:
        evidence["until"] = claim.until.isoformat()
    if claim.supports:
        evidence["supports"] = claim.supports
    return evidence


# The report of a migration: Markdown for a person, JSON for a program. Names in it come from memory and are escaped.

SHOWN: Final = 50
"""Maximum number of lines of one list in the Markdown report; the JSON report has all."""

_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|])")
_UNMARKED: Final = re.compile(r"\\(.)")
_ROW: Final = re.compile(r"\| ([a-z ]+) \| ([\d,]+) \|")


def counters(found: Migration) -> dict[str, int]:
    """Return the counters of a run."""
    return {
        "staged": len(found.staging.pages),
        "written": len(found.fresh) + len(found.changed),
        "canonical_created": found.canonical,
        "quarantined": len(found.staging.quarantined) + found.resolutions["quarantine"],
    }


def report_json(found: Migration, duration_ms: int = 0) -> dict[str, Any]:
    """Return the full report of a run as JSON."""
    by = Counter(page.by for page in found.pages)
    problems = [page for page in found.pages if page.problem]
    return {
        "run_id": found.run_id,
        "namespace": found.namespace,
        "folder": found.staging.label,
        "read_as": list(found.staging.read_as),
        "readers": dict(sorted(found.staging.readers.items())),
        **counters(found),
        "resolved": found.resolutions["resolved"],
        "evidence_only": found.resolutions["evidence_only"],
        "pages_changed": [page.place for page in found.changed],
        "claims": found.claims,
        "known_statements": sum(plan.known for plan in found.plans),
        "subjects": [
            {
                "subject_ref": str(subject.plan.subject.ref),
                "name": subject.plan.subject.name,
                "aliases": list(subject.plan.subject.aliases),
                "entity": subject.plan.subject.entity or None,
                "confidence": subject.plan.level,
                "claims": len(subject.plan.claims),
                "evidence": subject.evidence.place,
                "canonical": subject.canonical.place if subject.canonical else None,
            }
            for subject in found.audited.subjects
        ],
        "contradictions": [
            {"subject_ref": str(plan.subject.ref), "winner": one.winner, "loser": one.loser, "outcome": one.outcome}
            for plan in found.plans
            for one in plan.contradictions
        ],
        "audit": {
            "before_repair": found.audited.before,
            "verdict": found.audited.verdict,
            "findings": [_finding(one) for one in found.audited.findings],
            "repaired": [_finding(one) for one in found.audited.repaired],
            "dropped": list(found.audited.dropped),
        },
        "files": [
            {"source": p.page.source, "line": p.page.line, "sha256": p.page.sha256, "place": p.page.place, "reader": p.page.reader,
             "resolution": p.resolution, "confidence": p.level, "reason": p.reason, **({"problem": p.problem} if p.problem else {})}
            for p in found.pages
        ],
        "bad": [out.to_json() for out in found.staging.bad],
        "quarantined_files": [out.to_json() for out in found.staging.quarantined],
        "private": dict(sorted(found.staging.private.items())),
        "not_read": [out.to_json() for out in found.staging.noted],
        "stats": {
            "llm_classified": by["model"],
            "llm_asked": found.reader.asked if found.reader else 0,
            "llm_reused": found.reader.reused if found.reader else 0,
            "fallback_classified": by["rules"],
            "llm_extracted": sum(bool(page.told) for page in found.pages if page.by == "model"),
            "fallback_extracted": sum(bool(page.told) for page in found.pages if page.by == "rules"),
            "llm_failed": len(problems),
            "atom_count": sum(len(subject.atoms) for page in found.pages for subject in page.told),
            "contradiction_count": found.contradictions,
            "duration_ms": duration_ms,
        },
    }  # fmt: skip


def report_markdown(found: Migration) -> str:
    """Format the report as a Markdown page. The same run gives the same text, byte for byte."""
    numbers = counters(found)
    resolved = found.resolutions
    parts = [
        f"# Migration of {_shown(found.staging.label)} to {_shown(found.namespace)}\n",
        f"Run {found.run_id}. Read as:\n\n" + _list(found.staging.read_as),
        "| | |\n| --- | ---: |\n"
        + "".join(
            f"| {name} | {n:,} |\n"
            for name, n in (
                ("pages staged", numbers["staged"]),
                ("pages to write", len(found.fresh)),
                ("pages to change", len(found.changed)),
                ("pages about a subject", resolved["resolved"]),
                ("pages kept as evidence", resolved["evidence_only"]),
                ("set aside", numbers["quarantined"]),
                ("claims", found.claims),
                ("canonical pages", numbers["canonical_created"]),
                ("statements known already", sum(plan.known for plan in found.plans)),
                ("contradictions", found.contradictions),
                ("files that cannot be taken", len(found.staging.bad)),
            )
        ),
    ]
    parts.append(_section("Readers", (f"{name}: {n:,}" for name, n in sorted(found.staging.readers.items()))))
    parts.append(_section("Files that cannot be taken", _left_out(found.staging.bad)))
    parts.append(_section("Kept out by screening", _left_out(found.staging.quarantined)))
    private = sorted(found.staging.private.items())
    parts.append(_section("Private by their words", (f"{source}: {name}" for source, name in private)))
    parts.append(
        _section("Set aside", (f"{p.page.source}: {p.reason}" for p in found.pages if p.resolution == "quarantine"))
    )
    parts.append(_section("Not read", _left_out(found.staging.noted)))
    subjects = [
        f"{s.plan.subject.ref} ({s.plan.subject.name}): {counted(n, 'claim')}, confidence {s.plan.level}"
        f"{f', page {s.canonical.place}' if s.canonical else ''}"
        for s in found.audited.subjects
        for n in (len(s.plan.claims),)
    ]
    parts.append(_section("Subjects", subjects))
    conflicts = [
        f"{plan.subject.ref}: “{one.winner}” is believed; “{one.loser}” is kept as {one.outcome}"
        for plan in found.plans
        for one in plan.contradictions
    ]
    parts.append(_section("Contradictions", conflicts))
    findings = [f"{one.subject}: {one.verdict}, {one.reason}" for one in found.audited.findings]
    repaired = [f"{one.subject}: taken out, {one.reason}" for one in found.audited.repaired]
    verdict = f"Verdict {found.audited.verdict}"
    if found.audited.repaired:
        verdict = f"Verdict {found.audited.before}, after one repair {found.audited.verdict}"
    parts.append(f"## Audit\n\n{verdict}.\n" + (f"\n{_list([*repaired, *findings])}" if repaired or findings else ""))
    parts.append(
        _section("Where a model was of no help", (f"{p.page.source}: {p.problem}" for p in found.pages if p.problem))
    )
    return "\n".join(part for part in parts if part)


def report_lines(found: Migration) -> list[tuple[int, str]]:
    """Format the report for a terminal as (indentation, line), with an empty line before each section."""
    lines: list[tuple[int, str]] = []
    for line in report_markdown(found).splitlines():
        row, heading = _ROW.fullmatch(line), line.removeprefix("#").lstrip("# ") if line.startswith("#") else ""
        if row is not None:
            lines.append((2, f"{row[1]}: {row[2]}"))
        elif heading:
            lines += [(0, "")] * bool(lines) + [(0, _UNMARKED.sub(r"\1", heading))]
        elif line.strip("| -:"):
            lines.append((2 if line.startswith("- ") else 0, _UNMARKED.sub(r"\1", line)))
    return lines


def _finding(one: AuditFinding) -> dict[str, str]:
    return {"subject_ref": one.subject, "verdict": one.verdict, "reason": one.reason}


def _left_out(found: Sequence[LeftOut]) -> list[str]:
    return [f"{out.path}{f', line {out.line}' if out.line else ''}: {out.reason}" for out in found]


def _section(title: str, lines: Iterable[str]) -> str:
    items = list(lines)
    return f"## {title}\n\n{_list(items)}" if items else ""


def _list(lines: Sequence[str]) -> str:
    more = f"- … and {len(lines) - SHOWN:,} more\n" if len(lines) > SHOWN else ""
    return "".join(f"- {_shown(line)}\n" for line in lines[:SHOWN]) + more


def _shown(text: str) -> str:
    """Return a text as one line without control characters, escaped so that Markdown and a terminal show it literally."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:1_000]).split())
    return _MARKS.sub(r"\\\1", line)


# From a folder to a plan: files are read and staged, compared with the namespace, and sealed as a proposal that needs approval.
#
# Nothing is written before everything has been checked: neither the namespace, if it is new, nor any row. A dry run writes nothing and
# calls no model. An interrupted run is continued by the same call: files are read again, and answers of a model are stored.

_MIGRATED: Final = """
SELECT r.parameters #>> '{proposal,of}' FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE n.slug = %s AND r.parameters #>> '{proposal,operation}' = %s ORDER BY r.started_at DESC
"""
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"
_NAMED: Final = 10
"""Maximum number of bad files that a refusal names."""


@dataclass(frozen=True, slots=True)
class PlannedMigration:
    """Result of a planned migration.

    ``night`` holds its plan, or is None for a dry run. ``made`` is set if the namespace was created for it.
    """

    found: Migration
    night: Night | None = None
    made: bool = False
    duration_ms: int = 0
    items: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form of ``--json``."""
        return {
            **report_json(self.found, self.duration_ms),
            "dry_run": self.night is None,
            "items": dict(self.items),
            "plan_hash": self.night.plan.plan_hash if self.night and self.night.plan else None,
            "plan_state": self.night.state if self.night else None,
            "plan_run_id": self.night.run_id if self.night else None,
        }


@each_text_once()
def planned_migration(
    store: Store,
    folder: Path,
    namespace: str,
    *,
    model: bool = False,
    skip_bad: bool = False,
    dry_run: bool = False,
    tell: Tell | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> PlannedMigration:
    """Plan the migration of a folder, an archive or a file to a namespace; the plan needs approval.

    ``dry_run`` only returns what the plan would contain. A folder is labelled by its name, and a second folder with the same name by its
    name and a part of the hash of its location: their plans and pages are kept apart. ``model`` lets the model of ``consolidation_model``
    read the pages that the rules leave as evidence, within the token budget. Raises ``Refused`` for a folder without anything to read,
    for unreadable files unless ``skip_bad`` leaves them out, for a read-only namespace, and as ``seal_proposal`` does; nothing is written
    then.
    """
    began = clock()
    chosen_slug(namespace)
    source = source_folder(folder)
    there = namespace in namespaces(store)
    key = hashlib.sha256(str(source.root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    if there:
        source.label = _label(store, namespace, source.label, key)
    staging = stage(source, None if tell is None else lambda done, total: tell("read", done, total))
    if not dry_run:
        _refuse_bad(staging, skip_bad=skip_bad)
        if there:
            with store.connect("reader") as connection:
                refuse_read_only(connection, [namespace])
                refuse_connected(connection, [namespace])
    if model and not dry_run:
        _refuse_without_model(store, namespace, there=there)
    found: list[Migration] = []
    counts: Counter[str] = Counter()
    if dry_run or not there:  # items that may not be planned are refused before the namespace is created
        snapshot = export_snapshot(store, namespace) if there else _empty(namespace)
        found.append(migration(namespace, staging, snapshot, snapshot.taken_at, None, tell))
        items = migration_items(found[0], snapshot, Settings.for_namespace(snapshot.settings), None)
        counts.update(item.decision for item in items)
        if dry_run:
            return PlannedMigration(found[0], None, False, _since(began, clock), counts)
    if not there:
        if not counts and not model:
            raise Refused(
                f"Nothing of {staging.label} can be migrated, so {namespace} was not made. See what --dry-run says."
            )
        _make(store, namespace)

    def propose(inputs: Inputs) -> Proposal:
        found[:] = [_migration(store, namespace, staging, inputs, tell, model=model)]
        items = migration_items(found[0], inputs.snapshot, inputs.settings, inputs.embed)
        counts.clear()
        counts.update(item.decision for item in items)
        numbers: dict[str, int | float] = {**counters(found[0]), "claims": found[0].claims, "items": len(items)}
        headline = f"{len(items):,} items of {len(staging.files):,} files of {staging.label} would be migrated."
        return Proposal(tuple(items), Report(OPERATION, headline, numbers=numbers))

    night = seal_proposal(store, namespace, OPERATION, propose, of=f"{key} {staging.label}")
    return PlannedMigration(found[0], night, not there, _since(began, clock), counts)


def _label(store: Store, namespace: str, name: str, key: str) -> str:
    """Return the label of a folder among the sources of its namespace.

    This is the label of its earlier migration, else its own name if no other folder has that, else its name followed by the ``key`` of
    its location.
    """
    with store.connect("reader") as connection:
        rows = connection.execute(_MIGRATED, (namespace, OPERATION)).fetchall()
    called = [(other, label) for other, _, label in (str(of).partition(" ") for (of,) in rows)]
    mine = [label for other, label in called if other == key and label in (name, f"{name}-{key}")]
    taken = any(slug(label) == slug(name) for _, label in called)
    return mine[0] if mine else f"{name}-{key}" if taken else name


def _migration(
    store: Store, namespace: str, staging: Staging, inputs: Inputs, tell: Tell | None, *, model: bool
) -> Migration:
    reader = None
    if model and inputs.consolidator is not None:
        reader = PageReader(inputs.consolidator, inputs.budget)
    return migration(namespace, staging, inputs.snapshot, inputs.snapshot.taken_at, reader, tell)


def _refuse_bad(staging: Staging, *, skip_bad: bool) -> None:
    if not staging.bad or skip_bad:
        return
    named = "; ".join(_named(out) for out in staging.bad[:_NAMED])
    more = f"; and {len(staging.bad) - _NAMED:,} more" if len(staging.bad) > _NAMED else ""
    raise Refused(
        f"{len(staging.bad):,} of the files cannot be taken: {named}{more}. Nothing was planned. Correct them, or leave them out with "
        "--skip-bad."
    )


def _named(out: LeftOut) -> str:
    return f"{out.path}{f', line {out.line}' if out.line else ''}: {out.reason}"


def _refuse_without_model(store: Store, namespace: str, *, there: bool) -> None:
    settings = Settings.for_namespace(_own_settings(store, namespace) if there else {})
    if consolidator_for(settings) is None:
        raise Refused(
            "There is no model that could read the pages. Nothing was planned. Set SLOWWAVE_CONSOLIDATION_MODEL and "
            "SLOWWAVE_WRITER_ENDPOINT, or migrate without --model."
        )


def _own_settings(store: Store, namespace: str) -> Mapping[str, object]:
    with store.connect("reader") as connection:
        row = connection.execute(_NAMESPACE_SETTINGS, (namespace,)).fetchone()
    found: Any = row[0] if row else {}
    return found if isinstance(found, dict) else {}


def _make(store: Store, namespace: str) -> None:
    with store.connect("owner") as connection, connection.transaction():
        claim(connection, namespace, Counter(), Settings.for_namespace({}).embedding_model)


def _empty(namespace: str) -> Snapshot:
    """Return an empty snapshot for a namespace that does not exist yet."""
    tables = {name: arrow_schema(table).empty_table() for name, table in SNAPSHOT_TABLES.items()}
    vectors = {name: Vectors.empty() for name in VECTORS}
    return Snapshot(namespace_id(namespace), namespace, "none", datetime.now(UTC), 0, tables=tables, vectors=vectors)


def _since(began: float, clock: Callable[[], float]) -> int:
    return round((clock() - began) * 1000)
