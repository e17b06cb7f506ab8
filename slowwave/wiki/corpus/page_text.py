"""Requests for pages that agents write, and the text of a page after each request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from slowwave.sources.page_files import MarkdownPage, fields_of
from slowwave.sources.profile import Profile
from slowwave.text.frontmatter import Frontmatter, UnreadableFile, frontmatter

# The text of a page that is written at run time: its frontmatter, the position of appended text, and the texts of a forgotten page and
# its tombstone.
#
# Pure. An existing head is changed field by field, so that the text of a person in it is kept as written.

_TIMELINE: Final = re.compile(r"^[ \t]*<!--[ \t]*timeline\b[^\n]*-->[ \t]*$", re.IGNORECASE | re.MULTILINE)
_TIMELINE_HEADING: Final = re.compile(r"\s*^#+[ \t]*timeline\b[^\n]*$", re.IGNORECASE | re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_RULE: Final = re.compile(r"\n[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\n\s*\Z")
_DATED: Final = re.compile(r"[-*][ \t]+\**\d{4}-\d\d-\d\d\b")
_BULLET: Final = re.compile(r"[-*+][ \t]|\d+[.)][ \t]")
_NAME: Final = re.compile(r"""(?:([A-Za-z_][\w-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?=[ \t]|$)""")
_COMPARED: Final = 4_000_000
"""Maximum number of pairs of changed lines for comparing two texts; it keeps a merge below a second."""
_ESCAPED: Final = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_NORMALISED: Final = ("type", "status", "source_kind", "temperature", "created")
"""Fields that a new page has in the form of its profile. ``canonical`` is set only if the request or the content sets it."""


def new_page(given: Mapping[str, Any], path: str, content: str, profile: Profile, today: str) -> str:
    """Build the text of a new page.

    The fields are those of the content's own head, overridden by ``given``, and those that the profile supplies.
    """
    own = frontmatter(content)
    body = content[own.end :] if own.lines else content
    return fresh_page({**own.fields, **given}, path, body, profile, today)


def fresh_page(given: Mapping[str, Any], path: str, body: str, profile: Profile, today: str) -> str:
    """Build the text of a new page from a body without a head, the ``given`` fields and the fields of its profile."""
    written = {"created": today, **given, "updated": today}
    known = fields_of(written, path, MarkdownPage(), profile).values
    normal = {name: known[name] for name in _NORMALISED if known.get(name) is not None}
    first = {name: written[name] for name in ("title",) if name in written}
    return _page({**first, **normal, **{k: v for k, v in written.items() if k not in normal}}, body.lstrip("\n"))


def verbatim_page(fields: Mapping[str, Any], body: str) -> str:
    """Build a page from fields and a body that is kept byte for byte, whatever it begins or ends with."""
    return _head(fields) + body


def verbatim_body(text: str) -> str:
    """Return the body of a page that ``verbatim_page`` built."""
    return text[frontmatter(text).end :]


def replaced_page(text: str, given: Mapping[str, Any], content: str, today: str) -> str:
    """Return a page with its body replaced.

    Existing fields are kept unless the content's own head or ``given`` overrides them; ``given`` takes precedence.
    """
    own = frontmatter(content)
    body = content[own.end :] if own.lines else content
    return changed_head(text, {**own.fields, **given, "updated": today}) + "\n" + _ended(body.lstrip("\n"))


def appended_page(text: str, given: Mapping[str, Any], content: str, today: str) -> str:
    """Return a page with content appended.

    If the page has a timeline marker, dated bullets go below it and other text above it. Tags are merged. The date of the change is
    recorded unless only the timeline grew.
    """
    dated, other = _sorted_out(content)
    body = text[frontmatter(text).end :]
    marker = _TIMELINE.search(body)
    if marker is None:
        other, dated = content.strip("\n"), ""
    changes = {**given, "tags": _merged(frontmatter(text), given)} if given.get("tags") else dict(given)
    if other or changes:
        changes["updated"] = today
    head = changed_head(text, changes) if changes else text[: len(text) - len(body)]
    if other:
        at = _above(body, marker.start()) if marker else len(body)
        body = _joined(body[:at], other, body[at:])
        marker = _TIMELINE.search(body)
    if dated and marker:
        at = _timeline_end(body, marker.end())
        before = body[:at].rstrip("\n")
        gap = "\n" if _BULLET.match(before.rsplit("\n", 1)[-1].lstrip()) else "\n\n"
        rest = body[at:].lstrip("\n")
        body = before + gap + dated + "\n" + (f"\n{rest}" if rest else "")
    return head + body


def merged_page(before: str, after: str, edited: str) -> str | None:
    """Add to a page that a person edited what an append added to it.

    Args:
        before: The page that both started from.
        after: That page with the appended text.
        edited: That page as the person left it.

    Returns:
        The edited page with the lines that ``after`` adds, each behind the line that it follows in ``before`` or behind the person's edit
        of that line. A field of the head that both changed keeps the person's value; tags are joined. None if ``after`` removes or
        rewords a line of the body, or a head cannot be parsed.
    """
    try:
        heads = [frontmatter(text) for text in (before, after, edited)]
    except UnreadableFile:
        return None
    old, new, own = (
        text[head.end :].rstrip("\n").split("\n") for text, head in zip((before, after, edited), heads, strict=True)
    )
    theirs, ours = _changes(old, own), _changes(old, new)
    if theirs is None or ours is None:
        return None
    added: dict[int, list[str]] = {}
    for start, end, first, last in ours:
        if any(line.strip() for line in old[start:end]):
            return None
        added[start] = new[first:last]
    lines: list[str] = []
    place = 0
    for start, end, first, last in [*theirs, (len(old), len(old), len(own), len(own))]:
        while place < start:
            lines += [*added.pop(place, ()), old[place]]
            place += 1
        lines += own[first:last]
        while place < end:
            lines += added.pop(place, [])
            place += 1
    lines += added.pop(place, [])
    return _merged_head(heads[0].fields, heads[1].fields, edited) + _ended("\n".join(lines))


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]] | None:
    """Return the spans of lines that differ between two texts, or None if they differ too much to compare.

    A span holds its start and end in ``old`` and its start and end in ``new``.
    """
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    foot = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    left, right = old[head : len(old) - foot], new[head : len(new) - foot]
    if len(left) * len(right) > _COMPARED:
        return None
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(head + i, head + j, head + m, head + n) for tag, i, j, m, n in codes if tag != "equal"]


def _merged_head(before: Mapping[str, Any], after: Mapping[str, Any], edited: str) -> str:
    """Return the head of a page that a person edited, with the fields that an append changed and the person did not."""
    own = frontmatter(edited)
    changes = {
        name: value
        for name, value in after.items()
        if before.get(name, _ABSENT) != value and (name == "updated" or own.fields.get(name) == before.get(name))
    }
    if after.get("tags") != before.get("tags"):
        changes["tags"] = _merged(own, after)
    return changed_head(edited, changes) if changes else edited[: own.end]


def forgotten_page(text: str, tombstone: str, today: str) -> str:
    """Return a page that is superseded by its tombstone. Its words are kept."""
    return (
        changed_head(
            text,
            {
                "status": "superseded",
                "canonical": False,
                "temperature": "cold",
                "superseded_by": tombstone,
                "updated": today,
            },
        )
        + text[frontmatter(text).end :]
    )


def tombstone_page(path: str, reason: str, agent: str, today: str) -> str:
    """Build the tombstone of a forgotten page: the reason for forgetting it, and none of its text."""
    fields = {
        "title": f"Forgotten: {path}",
        "type": "tombstone",
        "status": "superseded",
        "canonical": False,
        "temperature": "cold",
        "forgotten": path,
        "agent": agent or None,
        "created": today,
    }
    return _page(
        {k: v for k, v in fields.items() if v is not None}, f"Forgotten on {today}.\n\nReason: {_line(reason)}\n"
    )


def quarantined_page(target: str, kind: str, reason: str, fields: Mapping[str, Any], content: str, today: str) -> str:
    """Build the quarantine page of a rejected text: its original target, the reason for the rejection, and the text unchanged."""
    attributes = {
        "title": f"Quarantined: {target}",
        "type": "capture",
        "status": "raw",
        "canonical": False,
        "quarantine_reason": reason,
        "original_target": target,
        "original_kind": kind,
        "original_frontmatter": dict(fields) or None,
        "created": today,
    }
    return _page({k: v for k, v in attributes.items() if v is not None}, content)


def changed_head(text: str, changes: Mapping[str, Any]) -> str:
    """Return the head of a page with some fields changed, and those whose value is None removed.

    The lines of other fields stay unchanged, and so do comments. The head ends before the body.
    """
    head = frontmatter(text)
    wanted = {k: v for k, v in {**head.fields, **changes}.items() if v is not None or k not in changes}
    if head.lines:
        kept = _with_lines(text[: head.end], {k: v for k, v in changes.items() if head.fields.get(k, _ABSENT) != v})
        if frontmatter(kept).fields == wanted and frontmatter(kept).end == len(kept):
            return kept
    return _head(wanted)


_ABSENT: Final = object()


def _with_lines(head: str, changes: Mapping[str, Any]) -> str:
    """Return a head in which the lines of some fields are replaced."""
    newline = "\r\n" if "\r\n" in head else "\n"
    opened, *inside, closed = head.splitlines(keepends=True)
    left, lines, skipped = dict(changes), [opened], False
    for line in inside:
        found = _NAME.match(line)
        if found is None and (skipped and (line[:1] in " \t" or line.startswith("- "))):
            continue
        name = next((part for part in found.groups() if part), "") if found else ""
        skipped = name in left or (skipped and not line.strip())
        if name in left:
            value = left.pop(name)
            lines += [f"{name}: {_scalar(value)}{newline}"] if value is not None else []
        else:
            skipped = False
            lines.append(line)
    lines += [f"{_key(name)}: {_scalar(value)}{newline}" for name, value in left.items() if value is not None]
    return "".join([*lines, closed if closed.endswith("\n") else f"{closed}{newline}"])


def _page(fields: Mapping[str, Any], body: str) -> str:
    return f"{_head(fields)}\n{_ended(body)}"


def _head(fields: Mapping[str, Any]) -> str:
    return "---\n" + "".join(f"{_key(name)}: {_scalar(value)}\n" for name, value in fields.items()) + "---\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name) else _scalar(name)


def _scalar(value: object) -> str:
    """Format a value as JSON that is also valid YAML.

    Characters that YAML does not admit, or treats as line ends, are escaped.
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _ended(body: str) -> str:
    return body if body.endswith("\n") else f"{body}\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _sorted_out(content: str) -> tuple[str, str]:
    """Split a text into its dated bullets, with the lines that belong to each, and the rest."""
    dated: list[str] = []
    other: list[str] = []
    inside = False
    for line in content.strip("\n").split("\n"):
        inside = bool(_DATED.match(line)) or (inside and line[:1] in (" ", "\t") and bool(line.strip()))
        (dated if inside else other).append(line)
    return "\n".join(dated), "\n".join(other).strip("\n")


def _above(body: str, marker: int) -> int:
    """Return the position at which text above a timeline ends: before the rule that introduces the timeline."""
    rule = _RULE.search(body, 0, marker)
    return rule.start() + 1 if rule else marker


def _joined(before: str, text: str, after: str) -> str:
    head = before.rstrip("\n") + "\n\n" if before.strip("\n") else before
    rest = after.lstrip("\n")
    return head + text + "\n" + (f"\n{rest}" if rest.strip() else "")


def _timeline_end(body: str, at: int) -> int:
    """Return the position at which the timeline after a marker ends: at the next heading that is not its own."""
    own = _TIMELINE_HEADING.match(body, at)
    following = _HEADING.search(body, own.end() if own else at)
    return following.start() if following else len(body)


def _merged(head: Frontmatter, given: Mapping[str, Any]) -> list[str]:
    tags: dict[str, None] = {}
    for value in (head.fields.get("tags"), given.get("tags")):
        parts = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list) else ()
        tags.update(dict.fromkeys(str(part).lstrip("#") for part in parts if str(part).strip()))
    return list(tags)
