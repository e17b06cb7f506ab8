"""Small bar charts as SVG, drawn by hand: no plotting library is imported for a picture of ten bars."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape as xml_escape


@dataclass(frozen=True, slots=True)
class Bars:
    """A horizontal bar chart; values are not negative. Its labels may be memory unless they are the program's ``own`` words; its title
    never is."""

    title: str
    labels: Sequence[str]
    values: Sequence[float]
    own: bool = False


def svg(bars: Bars) -> str:
    """The chart as an SVG document."""
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
    """The chart as a ``data:`` address, which Dagster's Markdown shows."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg(bars).encode()).decode()
