"""Stage two: what a page is about, how sure that is, and what it says. Rules decide; a model may add to what they leave as evidence.

A page whose place or type says its family is about one subject. Where place and type say two, it is for a person to look at; where nothing
can be told of its subject, it is set aside. Everything else is evidence: it is kept, and says nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from slowwave.claims.subject_ref import CORE, Family, slug_of, undated
from slowwave.migrating.records import TypedRecord, instant_of
from slowwave.migrating.staged_page import StagedPage
from slowwave.migrating.statements import Atom, Level, atoms_of
from slowwave.texts.frontmatter import frontmatter

Resolution = Literal["resolved", "evidence_only", "quarantine"]

_FOLDERS: Final[Mapping[str, Family]] = {
    "people": "person", "person": "person", "persons": "person", "contacts": "person",
    "projects": "project", "project": "project",
    "decisions": "decision", "decision": "decision", "adr": "decision",
    "concepts": "concept", "concept": "concept",
    "core": "core",
}  # fmt: skip
_TYPES: Final[Mapping[str, Family]] = {
    "person": "person", "people": "person", "project": "project", "decision": "decision", "concept": "concept",
}  # fmt: skip
_EVIDENCE: Final = frozenset(
    ("archive", "logs", "log", "sessions", "daily", "weekly", "journal", "digests", "inbox", "sources", "references", "wiki",
     "templates", "conversations", "tools")
)  # fmt: skip
_EVIDENCE_TYPES: Final = frozenset(
    ("session", "daily", "weekly", "digest", "digest-daily", "digest-weekly", "capture", "reference", "source", "wiki", "report",
     "briefing", "slide", "note", "log", "archive", "tombstone")
)  # fmt: skip
_SOULS: Final = {f"{name}.md": name for name in CORE}
_RETIRED: Final = frozenset(("superseded", "archived", "obsolete", "deprecated", "retired", "raw"))
_PATH_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?!\d)")
_LATEST: Final = ("updated", "updated_at", "date", "created", "created_at")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """Whom or what a page speaks of: a family, a name, other names, and the slug under which a page would have it."""

    family: Family
    name: str
    slug: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectAtoms:
    """What a page says of one subject."""

    about: NamedSubject
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class ClassifiedPage:
    """A page, what became of it and why, and what it says; ``at`` is the instant that it is of, ``problem`` why a model was of no help."""

    page: StagedPage
    resolution: Resolution
    level: Level
    reason: str
    at: datetime
    told: tuple[SubjectAtoms, ...] = ()
    by: Literal["rules", "model"] = "rules"
    problem: str = ""


def classified_page(page: StagedPage) -> ClassifiedPage:
    """What the rules say of a page. Time: linear in its text."""
    fields = frontmatter(page.text).fields
    at = _instant(page, fields)
    if page.records:
        told = tuple(_of_record(record, at, page.line) for record in page.records)
        schema = page.records[0].schema or "family, title and summary"
        return ClassifiedPage(page, "resolved", "high", f"its entries are typed ({schema})", at, told)
    if page.reader != "Markdown":
        return ClassifiedPage(page, "evidence_only", "high", f"a {page.reader} says nothing by itself", at)
    parts = PurePosixPath(page.source).parts
    core = _core(parts, fields)
    if core:
        about = NamedSubject("core", core, core)
        return _resolved(page, about, at, "high", f"it is core/{core}.md, or named like it")
    folders = [part.lower() for part in parts[:-1]]
    type_ = _word(fields.get("type")).lower()
    of_folder: Family | None = next((_FOLDERS[name] for name in reversed(folders) if name in _FOLDERS), None)
    of_type: Family | None = _TYPES.get(type_)
    if set(folders) & _EVIDENCE or type_ in _EVIDENCE_TYPES:
        return ClassifiedPage(
            page, "evidence_only", "high", "its place or type is that of a record, not of a subject", at
        )
    if _word(fields.get("status")).lower() in _RETIRED or fields.get("superseded_by"):
        return ClassifiedPage(page, "evidence_only", "high", "its status says that it no longer holds", at)
    family: Family | None = of_type or (of_folder if of_folder != "core" else None)
    if family is None:
        return ClassifiedPage(page, "evidence_only", "high", "neither its place nor its type says what it is about", at)
    about = _candidate(page, fields, family)
    if about is None:
        return ClassifiedPage(page, "quarantine", "low", f"it is a {family} and nothing names it", at)
    agree = of_folder in (None, family) and (of_type in (None, family))
    reason = f"its {'place' if of_folder == family else 'type'} says {family}"
    if not agree:
        reason = f"its type says {of_type}, its place {of_folder}"
    return _resolved(page, about, at, "high" if agree else "medium", reason)


def _resolved(page: StagedPage, about: NamedSubject, at: datetime, level: Level, reason: str) -> ClassifiedPage:
    atoms = tuple(
        replace(atom, kind="project_update") if about.slug == "active" and about.family == "core" else atom
        for atom in atoms_of(page.text, about.family, level)
    )
    if not atoms:
        return ClassifiedPage(page, "evidence_only", level, f"{reason}, and it states nothing", at)
    return ClassifiedPage(page, "resolved", level, reason, at, (SubjectAtoms(about, atoms),))


def _of_record(record: TypedRecord, at: datetime, line: int) -> SubjectAtoms:
    about = NamedSubject(record.family, record.title, slug_of(record.title), record.aliases)
    atoms = tuple(Atom(s.kind, s.text, s.at or at, record.line if record.line > 1 else line) for s in record.statements)
    return SubjectAtoms(about, atoms)


def _core(parts: tuple[str, ...], fields: Mapping[str, Any]) -> str:
    """The core page that a path is: ``core/user.md``, or ``USER.md`` as workspaces have it."""
    file, name = parts[-1], parts[-1].lower()
    if name not in _SOULS or {part.lower() for part in parts[:-1]} & _EVIDENCE:
        return ""
    in_core = [part.lower() for part in parts[-2:-1]] == ["core"]
    return _SOULS[name] if in_core or file.split(".")[0].isupper() or fields.get("type") == "core" else ""


def _candidate(page: StagedPage, fields: Mapping[str, Any], family: Family) -> NamedSubject | None:
    path = PurePosixPath(page.source)
    stem = undated(path.stem) if family == "decision" else path.stem
    if path.stem.lower() in ("state", "index", "readme", "overview") and len(path.parts) > 1:
        stem = path.parts[-2]
    if re.fullmatch(r"[\d\W_]*|untitled.*", stem, re.IGNORECASE):
        stem = ""
    title = _word(fields.get("title")) or _heading(page.text)
    name = _name(title) or stem.replace("-", " ").replace("_", " ")
    if not name or name.lower().startswith("untitled"):
        return None
    slug = _word(fields.get("slug")) or stem
    if slug == stem and not page.at_home and slug_of(stem).startswith(f"{slug_of(name)}-"):
        slug = name  # a file "rowan-notes.md" about Rowan
    aliases = fields.get("aliases", fields.get("alias"))
    listed = [_word(part) for part in (aliases if isinstance(aliases, list) else [aliases])]
    if family != "decision" and stem:
        listed.append(stem.replace("-", " ").replace("_", " "))
    others = tuple(dict.fromkeys(word for word in listed if word and word.casefold() != name.casefold()))
    return NamedSubject(family, name[:200], slug_of(slug or name), others[:20])


def _name(title: str) -> str:
    """A title without what explains it: "rooster — Project Context System" is rooster."""
    return re.split(r"\s+[—–|]\s+|\s+--?\s+|:\s", title, maxsplit=1)[0].strip()


def _heading(text: str) -> str:
    head = frontmatter(text)
    found = re.search(r"^#[ \t]+(.+?)[ \t]*#*$", text[head.end :], re.MULTILINE)
    return _word(found[1]) if found else ""


def _instant(page: StagedPage, fields: Mapping[str, Any]) -> datetime:
    """When a page speaks: its own newest day, the day in its name, else the day on which its file was written."""
    for name in _LATEST:
        if (found := instant_of(fields.get(name))) is not None:
            return found
    dated = _PATH_DAY.search(page.source)
    if dated and (found := instant_of(dated[1])) is not None:
        return found
    return datetime(page.day.year, page.day.month, page.day.day, tzinfo=UTC)


def _word(value: object) -> str:
    return (
        " ".join(str(value).split())[:400]
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        else ""
    )
