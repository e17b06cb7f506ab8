"""A report of an audit or a planner: a headline, numbers, findings, a table and small plots."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as xml_escape

from slowwave.text.tokens import counted

if TYPE_CHECKING:
    import pandas as pd


# Small bar charts as SVG, drawn by hand: no plotting library is imported for a picture of ten bars.


@dataclass(frozen=True, slots=True)
class Bars:
    """A horizontal bar chart of non-negative values.

    Its labels may quote memory unless they are the program's ``own`` words; its title never does.
    """

    title: str
    labels: Sequence[str]
    values: Sequence[float]
    own: bool = False


def svg(bars: Bars) -> str:
    """Return the chart as an SVG document."""
    top = max([*bars.values, 1e-12])
    height = 30 + 22 * len(bars.values)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="8" y="18" font-weight="bold">{xml_escape(bars.title)}</text>',
    ]
    for row, (label, value) in enumerate(zip(bars.labels, bars.values, strict=True)):
        y = 30 + 22 * row
        width = 360 * value / top
        text = label if len(label) <= 26 else label[:25] + "…"
        parts.append(f'<text x="190" y="{y + 13}" text-anchor="end">{xml_escape(text)}</text>')
        parts.append(f'<rect x="198" y="{y + 2}" width="{width:.1f}" height="15" fill="#4f46e5"/>')
        parts.append(f'<text x="{204 + width:.1f}" y="{y + 14}">{value:,.6g}</text>')
    return "".join([*parts, "</svg>"])


def svg_data_uri(bars: Bars) -> str:
    """Return the chart as a ``data:`` address, which Dagster's Markdown shows."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg(bars).encode()).decode()


# Reports of audits and planners: a headline, numbers, findings, a table of ten rows and small plots.
#
# Memory text is untrusted: every value from the store passes ``escape`` before it becomes Markdown.

_MARKDOWN = re.compile(r"([\\`*_\[\]()<>|!#~&{}])")
_LINKS = re.compile(r"(?i)((?:https?|ftp|www)(?=[:.])|@)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def escape(value: object, limit: int = 120) -> str:
    """Return ``value`` as one line of harmless Markdown, with at most ``limit`` characters of the original."""
    text = _CONTROL.sub(" ", str(value))
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _LINKS.sub("\\1\u200b", _MARKDOWN.sub(r"\\\1", text))


class Numbers(dict[str, int | float]):
    """Numbers under names given by this program: no name quotes memory, so redaction keeps them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation for an operator: a sentence and the rows it is about.

    ``coverage`` marks a finding about the operation itself: the rows that it could not compare. It is shown and not counted.
    """

    message: str
    rows: tuple[str, ...] = ()
    severity: str = "info"  # info, warning, error
    details: Mapping[str, object] = field(default_factory=dict)
    coverage: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one audit, or a planner's report of its work.

    ``numbers`` always holds the denominators (rows checked, candidates, gates passed). Its names and the titles of ``plots`` are this
    program's own words and are shown where memory is hidden; counts by a name from the data are in ``table``. ``details`` is JSON that
    the next night may compare with. ``skipped`` is the reason why the operation did not run (``slowwave.operations``). ``started_at``
    (ISO 8601, UTC) and ``seconds`` state when it ran and how long.
    """

    operation: str
    headline: str
    numbers: Mapping[str, int | float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    table: tuple[Mapping[str, object], ...] = ()
    plots: tuple[Bars, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    skipped: str = ""
    started_at: str = ""
    seconds: float = 0.0

    @property
    def finding_count(self) -> int:
        """Return the number of findings about memory, without those about the operation's coverage."""
        return sum(not finding.coverage for finding in self.findings)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of the report as a pandas frame, one row for each row; empty if the report has no table."""
        import pandas as pd  # of the extra `dagster`

        return pd.DataFrame([dict(row) for row in self.table])

    def summary(self) -> str:
        """Return Markdown of under 1,000 characters, which the UI shows inline."""
        numbers = " · ".join(f"{escape(k, 40)} {_number(v)}" for k, v in list(self.numbers.items())[:10])
        return f"**{escape(self.headline, 300)}**\n\n{numbers}"[:990]

    def markdown(self) -> str:
        """Return the whole report as Markdown."""
        parts = [f"### {escape(self.headline, 300)}"]
        if self.numbers:
            parts.append(markdown_table([{"measure": k, "value": _number(v)} for k, v in self.numbers.items()]))
        parts += [f"![{escape(p.title)}]({svg_data_uri(p)})" for p in self.plots]
        if self.table:
            parts.append(markdown_table(self.table))
        if self.findings:
            shown = self.findings[:200]
            parts.append("\n".join(f"- {f.severity}: {escape(f.message, 400)}" for f in shown))
            if len(self.findings) > len(shown):
                parts.append(f"… and {len(self.findings) - len(shown):,} more findings.")
        return "\n\n".join(parts)


def why_nothing(
    reports: Sequence[Report], *, rejected: int, out_of_scope: int, carried: int, held_back: tuple[int, str] = (0, "")
) -> tuple[str, ...]:
    """Return sentences on why a plan has nothing new: what each planner compared, and which proposals were left out.

    ``reports`` are those of the planners; a night without a proposal has to prove that it compared rows. ``held_back`` is the number of
    proposals that are not for a plan here, and the sentence why.
    """
    sentences = [f"{r.operation}: {r.headline}" for r in reports if not r.skipped]
    off = [r.operation for r in reports if r.skipped]
    left = [
        (
            rejected,
            "was rejected or undone before, and its rows have not changed since",
            "were rejected or undone before, and their rows have not changed since",
        ),
        (out_of_scope, "lies outside the scope that was asked for", "lie outside the scope that was asked for"),
        (carried, "waits for review in the plan before", "wait for review in the plan before"),
    ]
    sentences += [f"{counted(n, f'proposal {one}', f'proposals {many}')}." for n, one, many in left if n]
    if held_back[0]:
        sentences.append(f"{counted(held_back[0], 'proposal is', 'proposals are')} not planned. {held_back[1]}")
    return (*sentences, *([f"Did not run: {', '.join(off)}."] if off else []))


def markdown_table(rows: Sequence[Mapping[str, object]], longest: int = 120) -> str:
    """Return a Markdown table of escaped values of at most ``longest`` characters; the columns are those of the first row."""
    if not rows:
        return ""
    columns = list(rows[0])
    lines = ["| " + " | ".join(escape(c) for c in columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(escape(rounded(row.get(c, "")), longest) for c in columns) + " |" for row in rows]
    return "\n".join(lines)


def rounded(value: object) -> object:
    """Return a value for a table that people read: a float rounded to six figures, anything else unchanged."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
