"""Fields: what a page says of itself, in one form whatever its frontmatter looks like, by the rules of a profile.

A word that the profile does not know is left out, its default stands in, and ``problems`` names it: a page is never refused for a status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any, Final

from slowwave.corpus.markdown import MarkdownPage
from slowwave.corpus.profile import PageType, Plane, Profile, matches

LONGEST_TITLE: Final = 400
_TYPE_ENDS: Final = re.compile(r"[#|—]")
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)")
_PLAIN: Final = ("superseded_by", "slug", "agent", "device", "session_id", "domain", "confidence", "captured_from")
_MOST: Final = 200  # tags or aliases of one page


@dataclass(frozen=True, slots=True)
class PageFields:
    """``values`` as they are kept in ``documents.metadata`` (absent: unknown), the title, the plane and the day that a page is of."""

    values: Mapping[str, Any]
    title: str
    plane: Plane
    day: date | None


def fields_of(written: Mapping[str, Any], path: str, page: MarkdownPage, profile: Profile) -> PageFields:
    """The fields of a page from its frontmatter, its path and its body."""
    problems: list[str] = []
    plane = profile.plane_of(path)
    type_ = _type(written.get("type"), path, profile, problems)
    kind, defaults = profile.types.get(type_, PageType()), profile.defaults

    def word(name: str, known: Sequence[str], aliases: Mapping[str, str], default: str | None) -> str | None:
        value = _text(written.get(name)).lower()
        value = aliases.get(value, value)
        if value and (not known or value in known):
            return value
        if value:
            problems.append(f"{name}: {value[:64]!r} is none of {', '.join(known)}")
        return default

    default_kind = kind.source_kind or ("extracted" if written.get("sources") else defaults.source_kind)
    values: dict[str, Any] = {
        "type": type_,
        "status": word("status", profile.statuses, profile.status_aliases, kind.status or defaults.status),
        "canonical": _canonical(written.get("canonical"), path, kind, profile),
        "source_kind": word("source_kind", profile.source_kinds, {}, default_kind),
        "temperature": word("temperature", profile.temperatures, {}, kind.temperature or defaults.temperature),
        "visibility": word("visibility", profile.visibilities, {}, None),
        "sensitivity": word("sensitivity", profile.sensitivities, {}, None),
        "area": word("area", profile.areas, {}, None),
    }
    for name in ("created", "updated", "date"):
        values[name] = _day(name, written.get(name), problems)
    values["date"] = values["date"] or _dated(PurePosixPath(path).name)
    for name in _PLAIN:
        values[name] = _text(written.get(name)) or None
    for name in ("pinned", "has_timeline"):
        values[name] = True if written.get(name) is True else None
    stem = PurePosixPath(path).stem
    values["slug"] = values["slug"] or (PurePosixPath(path).parent.name if stem in ("state", "index") else stem) or stem
    tags = [tag.lstrip("#") for tag in _listed(written.get("tags", written.get("tag")))]
    values["tags"] = list(dict.fromkeys([*tags, *(page.tags if profile.inline_tags else ())]))[:_MOST]
    values["aliases"] = _listed(written.get("aliases", written.get("alias")), words=False)[:_MOST]
    title = _text(written.get("title")) or page.title or title_of_name(stem)
    values["title"] = title = title[:LONGEST_TITLE]
    sections = profile.sections_of(path, type_)
    if sections and values["canonical"]:
        there = {heading.text.casefold() for heading in page.headings}
        values["missing_sections"] = [name for name in sections if name.casefold() not in there] or None
    values["headings"] = [heading.text for heading in page.headings][:_MOST]
    values["blocks"] = list(page.blocks)[:_MOST]
    values["problems"] = problems or None
    day = values["date"] or values["created"]
    return PageFields(
        {name: value for name, value in values.items() if value is not None},
        title,
        plane,
        date.fromisoformat(day) if day else None,
    )


def _type(written: object, path: str, profile: Profile, problems: list[str]) -> str:
    told = _TYPE_ENDS.split(_text(written))[0].strip().lower()
    told = profile.type_aliases.get(told, told)
    if path.startswith("archive/") and "archive" in profile.types:
        return "archive"
    if told and (not profile.closed or told in profile.types):
        return told
    if told:
        problems.append(f"type: {told[:64]!r} is no type of the profile {profile.name}")
    return profile.type_of(path)


def _canonical(written: object, path: str, kind: PageType, profile: Profile) -> bool:
    if isinstance(written, bool):
        return written
    if kind.canonical_if is not None:
        return matches(path, kind.canonical_if)
    return profile.defaults.canonical if kind.canonical is None else kind.canonical


def _day(name: str, written: object, problems: list[str]) -> str | None:
    text = _text(written)
    found = _dated(text) if text else None
    if text and found is None:
        problems.append(f"{name}: {text[:64]!r} is no day (YYYY-MM-DD)")
    return found


def _dated(text: str) -> str | None:
    found = _DAY.search(text)
    try:
        return date.fromisoformat(found[1]).isoformat() if found else None
    except ValueError:
        return None


def title_of_name(stem: str) -> str:
    """The title that a file's name gives: its words, with dates as they are written."""
    return re.sub(r"(?<!\d)[-_]|[-_](?!\d)", " ", stem)


def _text(value: object) -> str:
    """A word or number as text; lists and mappings are no words."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _listed(value: object, *, words: bool = True) -> list[str]:
    """A list, or a text with commas (and, for ``words``, spaces) between its parts."""
    if isinstance(value, str):
        parts: Sequence[object] = re.split(r"[,\s]+" if words else r",", value)
    else:
        parts = value if isinstance(value, list) else ()
    return list(dict.fromkeys(text for part in parts if (text := _text(part))))
