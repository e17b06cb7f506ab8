"""The morning digest: what a person reads of all namespaces in a minute, as Markdown. What needs somebody comes first, with its command.

Names of namespaces and sentences of probes may hold memory text, which is untrusted: it is escaped. Nothing else of memory is in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from slowwave.night.namespace_status import NamespaceStatus, words
from slowwave.plans.commands import OTHER
from slowwave.plans.states import items_text
from slowwave.reports.model import escape
from slowwave.reports.redaction import Level, cut
from slowwave.texts.counted import counted

MOST: Final = 20
"""Namespaces of a section that are told one by one."""

_OPERATIONS: Final = 4
_HIDDEN: Final = "A probe failed; what it says is hidden."


def digest(statuses: Sequence[NamespaceStatus], now: datetime | None = None) -> str:
    """The page; at most ``MOST`` namespaces a section, however many there are."""
    at = now or datetime.now(UTC)
    lines = [f"# Slowwave, {at:%Y-%m-%d %H:%M} UTC", "", _head(statuses)]
    wrong = [s for s in statuses if s.failed or s.last_failure or s.secrets or s.run.endswith("stuck")]
    asks = [s for s in statuses if s not in wrong and (s.to_approve or s.questions or s.half_signed or s.approvals)]
    rest = [s for s in statuses if s not in wrong and s not in asks]
    for title, chosen, told in (("Look at", wrong, _wrong), ("Decide", asks, _asks), ("Nothing to do", rest, _rest)):
        if chosen:
            lines += ["", f"## {title}", ""]
            for one in chosen[:MOST]:
                lines += told(one)
            if len(chosen) > MOST:
                lines.append(f"- … and {len(chosen) - MOST:,} more: {_command('status')}")
    return "\n".join(lines) + "\n"


def hidden(statuses: Sequence[NamespaceStatus], level: Level) -> list[NamespaceStatus]:
    """The same without what probes quote of memory, as far as ``level`` wants: for a page that leaves the database."""
    if level == "none":
        return list(statuses)
    return [
        replace(one, failed=tuple(cut(said) if level == "summary" else _HIDDEN for said in one.failed))
        for one in statuses
    ]


def message_of(page: str, now: datetime) -> dict[str, object]:
    """The page as a webhook's message."""
    return {
        "type": "status.digest",
        "timestamp": now.isoformat(),
        "resource_type": "status",
        "data": {"markdown": page},
    }


def ago(then: datetime | None, now: datetime) -> str:
    """How long ago, in the largest unit of which there are two."""
    if then is None:
        return "never"
    return f"{_span((now - then).total_seconds())} ago"


def ahead(then: datetime | str, now: datetime) -> str:
    """In how long, or what keeps it from happening: without a change of the namespace there is no night."""
    if isinstance(then, str):
        return "on change" if then == "unchanged" else then
    return f"in {_span((then - now).total_seconds())}"


def waits(one: NamespaceStatus) -> str:
    """What waits for a person, in words."""
    parts = [
        f"{one.to_approve:,} to approve" if one.to_approve else "",
        counted(one.questions, "question") if one.questions else "",
        f"{one.half_signed:,} to sign by somebody else" if one.half_signed else "",
        f"{one.approvals:,} to apply" if one.approvals else "",
        *held_back_counts(one),
    ]
    return ", ".join(part for part in parts if part)


def held_back_counts(one: NamespaceStatus) -> list[str]:
    """Return the counts of what a night found in a store that may not be written, each with its unit."""
    return [
        *([counted(one.secrets, "row with a secret", "rows with a secret")] if one.secrets else []),
        *([f"{counted(one.not_planned, 'change')} not planned"] if one.not_planned else []),
    ]


def _head(statuses: Sequence[NamespaceStatus]) -> str:
    told = ", ".join(f"{word} {n:,}" for word, n in sorted(words(statuses).items(), key=lambda w: -w[1]))
    items, asked = sum(s.to_approve for s in statuses), sum(s.questions for s in statuses)
    wait = (
        f" {counted(items, 'change waits', 'changes wait')} for approval, {counted(asked, 'question')} for an answer."
        if items or asked
        else ""
    )
    return f"{counted(len(statuses), 'namespace')}: {told}.{wait}" if statuses else "There is no namespace yet."


def _asks(one: NamespaceStatus) -> Iterator[str]:
    yield f"- **{escape(one.namespace)}**: {waits(one)}, of plan `{one.plan_hash[:12]}`.{_what(one)}"
    yield f"  {_next_step(one)}"


def _wrong(one: NamespaceStatus) -> Iterator[str]:
    why = [
        *(escape(sentence, 300) for sentence in one.failed),
        *(["Its last night failed."] if one.last_failure else []),
        *([escape(one.why_not_planned, 300)] if one.secrets else []),
        *([f"Its {one.run.replace(' stuck', '')} run is stuck."] if one.run.endswith("stuck") else []),
    ]
    wait = f" ({waits(one)})" if waits(one) else ""
    yield f"- **{escape(one.namespace)}**{wait}: {' '.join(why)}"
    if one.secrets:
        yield f"  {_command('night', one.namespace, '--force')}"
    else:
        yield f"  {_next_step(one) if one.failed else _command('runs tail', one.namespace)}"


def _rest(one: NamespaceStatus) -> Iterator[str]:
    stale = f", {one.stale:,} of it stale" if one.stale else ""
    counts = f" ({items_text(one.counts)})" if one.counts and one.state else ""
    more = f" ({', '.join(held_back_counts(one))})" if one.secrets or one.not_planned else counts
    yield f"- **{escape(one.namespace)}**: {one.word}{more}{stale}"


def _what(one: NamespaceStatus) -> str:
    most = sorted(one.operations.items(), key=lambda o: (-o[1], o[0]))
    told = ", ".join(f"{n:,} {escape(name.replace('_', ' '))}" for name, n in most[:_OPERATIONS])
    return f" Most: {told}." if told else ""


def _next_step(one: NamespaceStatus) -> str:
    if one.to_approve or one.questions:
        return _command("plans show", one.namespace)
    if one.half_signed:
        return _command("plans countersign", one.namespace, one.plan_hash[:12], "--by", OTHER)
    return _command("apply", one.namespace)


def _command(name: str, *arguments: str) -> str:
    """A command in Markdown's code; an argument that cannot stand in it is left out."""
    words_ = f"slowwave {name} {shlex.join(arguments)}".strip()
    return f"`{words_}`" if words_.isprintable() and "`" not in words_ else f"`slowwave {name}`"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
