"""The report of a migration: for a person as Markdown, for a program as JSON. Names in it are memory, and are shown as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from slowwave.corpus.folder_scan import LeftOut
from slowwave.migrating.audited_plan import AuditFinding
from slowwave.migrating.migration import Migration
from slowwave.texts.counted import counted

SHOWN: Final = 50
"""Lines of one list that the Markdown shows; the JSON has all."""

_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|])")
_UNMARKED: Final = re.compile(r"\\(.)")
_ROW: Final = re.compile(r"\| ([a-z ]+) \| ([\d,]+) \|")


def counters(found: Migration) -> dict[str, int]:
    """The counters of a run."""
    return {
        "staged": len(found.staging.pages),
        "written": len(found.fresh) + len(found.changed),
        "canonical_created": found.canonical,
        "quarantined": len(found.staging.quarantined) + found.resolutions["quarantine"],
    }


def report_json(found: Migration, duration_ms: int = 0) -> dict[str, Any]:
    """All that a run came to."""
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
            "atom_count": sum(len(told.atoms) for page in found.pages for told in page.told),
            "contradiction_count": found.contradictions,
            "duration_ms": duration_ms,
        },
    }  # fmt: skip


def report_markdown(found: Migration) -> str:
    """The report as a page. The same run gives the same, to the byte."""
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
    told = [f"{one.subject}: {one.verdict}, {one.reason}" for one in found.audited.findings]
    repaired = [f"{one.subject}: taken out, {one.reason}" for one in found.audited.repaired]
    verdict = f"Verdict {found.audited.verdict}"
    if found.audited.repaired:
        verdict = f"Verdict {found.audited.before}, after one repair {found.audited.verdict}"
    parts.append(f"## Audit\n\n{verdict}.\n" + (f"\n{_list([*repaired, *told])}" if repaired or told else ""))
    parts.append(
        _section("Where a model was of no help", (f"{p.page.source}: {p.problem}" for p in found.pages if p.problem))
    )
    return "\n".join(part for part in parts if part)


def report_lines(found: Migration) -> list[tuple[int, str]]:
    """The report for a terminal: (indentation, line), an empty line before each of its parts."""
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
    told = list(lines)
    return f"## {title}\n\n{_list(told)}" if told else ""


def _list(lines: Sequence[str]) -> str:
    more = f"- … and {len(lines) - SHOWN:,} more\n" if len(lines) > SHOWN else ""
    return "".join(f"- {_shown(line)}\n" for line in lines[:SHOWN]) + more


def _shown(text: str) -> str:
    """A text as one line that Markdown and a terminal show and nothing else."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:1_000]).split())
    return _MARKS.sub(r"\\\1", line)
