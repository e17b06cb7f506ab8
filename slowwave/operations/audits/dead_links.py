"""Dead links: links to pages, headings and blocks that do not exist, and pages to which nothing links.

The heading of a link is compared as ``slowwave corpus link NAMESPACE lint`` compares it: by its letters and digits. Mentions are not links,
because no one wrote them as links.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.plans.report import Finding, Report
from slowwave.text.markdown import missing

_SHOWN: Final = 10
_COLUMNS: Final = ("document_id", "kind", "target", "target_document_id", "entity_id", "anchor", "line", "id")


def dead_links(inputs: Inputs) -> Report:
    """Find links to missing pages, headings or blocks, links from a page to itself, and pages to which nothing links."""
    pages = inputs.snapshot.live("documents", ("id", "path", "plane", "metadata", "corpus_id"))
    pages = pages.filter(pc.is_valid(pages["corpus_id"]))
    known: dict[str, dict[str, Any]] = {row["id"]: row for row in pages.to_pylist()}
    links = inputs.snapshot.live("links", _COLUMNS)
    links = links.filter(pc.is_in(links["document_id"], value_set=pages["id"].combine_chunks()))
    written = links.filter(pc.not_equal(links["kind"], "mention")).to_pylist()
    reasons = [(row, reason) for row in written if (reason := _reason(row, known))]
    reasons.sort(key=lambda one: (known[one[0]["document_id"]]["path"], one[0]["line"], one[0]["id"]))
    selves = {
        row["document_id"] for row in written if row["target_document_id"] == row["document_id"] and not row["anchor"]
    }
    lonely = _lonely(links, known)
    counts = {name: sum(reason == name for _, reason in reasons) for name in ("no page", "no heading", "no block")}
    return Report(
        "dead_links",
        f"{len(reasons):,} of {len(written):,} links on {len(known):,} pages lead nowhere; nothing links to {len(lonely):,} pages.",
        {
            "pages": len(known),
            "links": len(written),
            "mentions": len(links) - len(written),
            "dead": len(reasons),
            **{name.replace(" ", "_"): count for name, count in counts.items()},
            "pages_that_link_to_themselves": len(selves),
            "pages_without_backlink": len(lonely),
        },
        tuple(
            Finding(
                f"“{known[row['document_id']]['path']}”, line {row['line']}: {reason} for “{_shown(row)}”.",
                (row["document_id"], row["id"]),
                "warning",
            )
            for row, reason in reasons
        ),
        tuple(
            {"path": known[row["document_id"]]["path"], "line": row["line"], "target": _shown(row), "reason": reason}
            for row, reason in reasons[:_SHOWN]
        ),
        details={"dead": len(reasons), "lonely": len(lonely)},
    )


def _reason(row: dict[str, Any], known: dict[str, dict[str, Any]]) -> str:
    """Return the reason why a link is dead, or an empty string if it works."""
    page = known.get(row["target_document_id"] or "")
    if page is None:
        return "no page"
    if not row["anchor"]:
        return ""
    fields = json.loads(page["metadata"] or "{}")
    lacks = missing(row["anchor"], fields.get("headings", ()), fields.get("blocks", ()))
    return f"no {lacks}" if lacks else ""


def _lonely(links: pa.Table, known: dict[str, dict[str, Any]]) -> set[str]:
    """Return the durable pages that no other page links to or names."""
    linked = {
        target
        for source, target in zip(
            links["document_id"].to_pylist(), links["target_document_id"].to_pylist(), strict=True
        )
        if source != target
    }
    return {id_ for id_, page in known.items() if page["plane"] == "durable"} - linked


def _shown(row: dict[str, Any]) -> str:
    return f"{row['target']}#{row['anchor']}" if row["anchor"] else row["target"]
