"""Page health: lists of corpus pages that need a review (the report of twelve lists in Dory 4.8).

Nine of the lists are computed from pages alone. The other three compare the pages of subjects with the claims about them: statements, the
events in the timeline, and the evidence. The expected content comes from ``slowwave.wiki.claims.canonical_pages``, as in the planner of
that name. So these lists also include pages that a pending plan would fix, and blocks of Slowwave that a person keeps changed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.plans.report import Finding, Report
from slowwave.sources.blocks import LAST
from slowwave.text.frontmatter import body
from slowwave.text.markdown import sections
from slowwave.text.screening import privacy_class, private_words
from slowwave.wiki.claims.canonical_pages import SUBJECT_ID, PageShelf, canonical_drafts
from slowwave.wiki.options import PageHealthOptions
from slowwave.wiki.pages.subject_page import subject_statements

LISTS: Final = {
    "state conflict": "{}",
    "contradictions": "Its section Contradictions says something.",
    "event mismatch": "Its timeline goes on to {}, and the page says that it is of an earlier day.",
    "stale": "It was last brought up to date on {}.",
    "low confidence": "It says of itself that its confidence is {}.",
    "open questions": "Its section Open Questions says something.",
    "missing evidence": "Its section Evidence is empty or not there.",
    "missing timeline": "Its section Timeline is empty or not there.",
    "claim mismatch": "Of what is claimed it says something else, or not all: {}.",
    "claim-event mismatch": "Its timeline does not have the events of the claims about its subject as they are.",
    "claim-evidence mismatch": "Its section Evidence does not have the evidence of the claims about its subject as it is.",
    "missing privacy metadata": "It has words of the class {}, and names neither visibility nor sensitivity.",
}
"""List → the text of its finding; lists of errors come before lists of missing content."""

_OF_CLAIMS: Final = {"Timeline": "claim-event mismatch", "Evidence": "claim-evidence mismatch"}
_WARNINGS: Final = frozenset({"contradictions", "event mismatch", "state conflict"})
_READ: Final = r"(?im)^ {0,3}#{1,6}[ \t]+(?:contradictions|open questions|timeline|evidence)\b"
_MARK: Final = re.compile(r"(?im)^<!-- (?:slowwave:[^\n>]{0,200}|timeline[^\n>]{0,80}) ?-->[ \t]*\r?$")
"""Marks of blocks and of the timeline; a section that contains only marks counts as empty."""

_DAY: Final = re.compile(r"(?<![\d-])(\d{4}-\d{2}-\d{2})(?!\d)")
_RETIRED: Final = "superseded"
_COLUMNS: Final = ("id", "corpus_id", "path", "plane", "metadata", "content")
_SHOWN: Final = 10
_LOW_CONFIDENCE: Final = 0.5  # below it, a page states that it is more likely wrong than right


def page_health(inputs: Inputs) -> Report:
    """List the pages that are stale, doubtful, contradictory, inconsistent, or without evidence or timeline."""
    options = inputs.settings.options("page_health", PageHealthOptions)
    today = inputs.snapshot.taken_at.date()
    pages = inputs.snapshot.live("documents", _COLUMNS)
    pages = pages.filter(pc.and_(pc.is_valid(pages["corpus_id"]), pc.equal(pages["plane"], "durable")))
    paths = set(zip(pages["corpus_id"].to_pylist(), pages["path"].to_pylist(), strict=True))
    sectioned = pc.match_substring_regex(pages["content"], _READ).to_pylist()
    behind = _behind(inputs, pages)
    sensitive = {place for place, _ in private_words(pages["content"])}
    findings: list[tuple[str, dict[str, Any], str]] = []
    looked_at = 0
    for batch in pages.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            fields = json.loads(row["metadata"] or "{}")
            place, looked_at = looked_at, looked_at + 1
            if fields.get("quarantined"):
                continue
            text = body(row["content"]) if sectioned[place] or place in sensitive else ""
            found = sections(_MARK.sub("", text)) if sectioned[place] else {}
            on = [*_lists(fields, found, today, options.stale_days), *_mismatches(behind.get(row["id"], ()))]
            on += _unclassed(fields, text if place in sensitive else "")
            if conflict := _conflict(row, fields, paths):
                on.append(("state conflict", conflict))
            findings += [(name, row, detail) for name, detail in on]
    counts = {name: sum(one == name for one, _, _ in findings) for name in LISTS}
    listed = len({row["id"] for _, row, _ in findings})
    wrong = len({row["id"] for name, row, _ in findings if name in _WARNINGS})
    order = list(LISTS)
    findings.sort(key=lambda one: (order.index(one[0]), one[1]["path"]))
    return Report(
        "page_health",
        f"{listed:,} of {looked_at:,} pages stand on a list, {wrong:,} of them for what contradicts itself.",
        {"pages": looked_at, "pages on a list": listed, **counts},
        tuple(
            Finding(f"“{row['path']}” ({name}): {LISTS[name].format(detail)}", (row["id"],), _severity(name))
            for name, row, detail in findings
        ),
        tuple({"list": name, "path": row["path"]} for name, row, _ in findings[:_SHOWN]),
        details={name.replace(" ", "_"): count for name, count in counts.items()},
    )


def _lists(
    fields: Mapping[str, Any], found: Mapping[str, str], today: date, stale_days: int
) -> Iterator[tuple[str, str]]:
    """Yield the lists that a page belongs to by its fields and sections, each with the detail of its finding."""
    canonical, status = fields.get("canonical") is True, fields.get("status")
    last_change = _day(fields.get("updated")) or _day(fields.get("created")) or _day(fields.get("date"))
    if canonical and status == "active" and last_change and (today - last_change).days > stale_days:
        yield "stale", last_change.isoformat()
    if found.get("contradictions"):
        yield "contradictions", ""
    if _doubtful(fields.get("confidence"), _LOW_CONFIDENCE):
        yield "low confidence", str(fields["confidence"])[:20]
    if found.get("open questions"):
        yield "open questions", ""
    for name in ("evidence", "timeline"):
        asked = any(name == missing.casefold() for missing in fields.get("missing_sections") or ())
        if asked or (canonical and found.get(name) == ""):
            yield f"missing {name}", ""
    days = [day for match in _DAY.findall(found.get("timeline", "")) if (day := _day(match))]
    happened = max((day for day in days if day <= today + timedelta(days=1)), default=None)
    if happened and (updated := _day(fields.get("updated"))) and happened > updated:
        yield "event mismatch", happened.isoformat()


def _behind(inputs: Inputs, pages: pa.Table) -> Mapping[str, Sequence[str]]:
    """Return by page the sections that differ from the claims about its subject."""
    subjects = subject_statements(inputs.snapshot, inputs.settings)
    if not subjects and not pc.any(pc.match_substring(pages["metadata"], SUBJECT_ID)).as_py():
        return {}
    shelf = PageShelf.of_snapshot(inputs.snapshot)
    return canonical_drafts(shelf, subjects, inputs.snapshot.taken_at, min_claims=sys.maxsize).behind


def _mismatches(sections: Sequence[str]) -> Iterator[tuple[str, str]]:
    unknown = [section for section in sections if section not in LAST]
    if unknown:
        yield "claim mismatch", ", ".join(unknown)
    yield from ((of, "") for section, of in _OF_CLAIMS.items() if section in sections)


def _unclassed(fields: Mapping[str, Any], text: str) -> Iterator[tuple[str, str]]:
    if not (fields.get("visibility") or fields.get("sensitivity")) and (kind := privacy_class(text)):
        yield "missing privacy metadata", kind


def _conflict(row: Mapping[str, Any], fields: Mapping[str, Any], paths: set[tuple[str, str]]) -> str:
    """Describe a contradiction between a page's fields; empty if there is none."""
    follower, status = str(fields.get("superseded_by") or ""), fields.get("status")
    if follower and not any((row["corpus_id"], follower + suffix) in paths for suffix in ("", ".md", ".markdown")):
        return "It names a page that supersedes it, and there is none of that path."
    if follower and status != _RETIRED:
        return f"It names a page that supersedes it, and its status is {status or 'not said'}."
    written = fields.get("frontmatter") or {}
    if status == _RETIRED and written.get("canonical") is True:
        return "It is superseded, and says that it is canonical."
    return ""


def _doubtful(said: object, least: float) -> bool:
    if str(said).strip().casefold() == "low":
        return True
    try:
        return said is not None and float(str(said)) < least
    except ValueError:
        return False


def _day(text: object) -> date | None:
    try:
        return date.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


def _severity(name: str) -> str:
    return "warning" if name in _WARNINGS else "info"
