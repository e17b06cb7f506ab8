"""Links that open the Launchpad of a job, filled in as far as a page knows it: what a person has to say is left empty and comes last.

The route is the UI's own and not documented: a browser test holds it, and what a link names is always shown as well.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import dagster as dg

from slowwave.plans.commands import argument
from slowwave.plans.signatures import ApprovalRule

LOCATION: Final = "slowwave"
"""The code location's name in ``workspace.yaml``."""

REVIEW_URL: Final = "SLOWWAVE_REVIEW_URL"
"""Where people reach the review page, of the operator's environment alone: settings of a namespace must not lead people elsewhere."""

_SHELL_WORD: Final = re.compile(r"[\w./@:+-]+")


def approval_link(namespace: str, plan_hash: str, *, force: bool = False) -> str:
    """``approve_plan`` but for the approver's name, which is the last line, and with ``force`` for the note before it."""
    forced = ["force: true", "note: "] if force else []
    return _link("approve_plan", "night__approval", [_hash(plan_hash), *forced, "approver: "], namespace)


def part_link(namespace: str, plan_hash: str, part: str, *, force: bool = False) -> str:
    """Return a link that approves a part of a plan.

    ``items`` names the items to approve, ``without`` the items or operations to leave out. Both are lists.
    """
    forced = ["force: true", "note: "] if force else []
    return _link("approve_plan", "night__approval", [_hash(plan_hash), f"{part}: ", *forced, "approver: "], namespace)


def countersign_link(namespace: str, plan_hash: str) -> str:
    """``approve_plan`` as a further signature under what somebody else approved, but for the name."""
    return _link("approve_plan", "night__approval", [_hash(plan_hash), "countersign: true", "approver: "], namespace)


def reject_link(namespace: str, plan_hash: str) -> str:
    """``reject_plan`` but for the reason and the name."""
    return _link("reject_plan", "reject_plan_items", [_hash(plan_hash), "reason: ", "rejected_by: "], namespace)


def undo_link(namespace: str, run_id: str, *, some: bool = False) -> str:
    """``undo_job`` of an apply run, with ``some`` but for the ids of the items."""
    return _link("undo_job", "undo_applied_run", [f'run: "{run_id}"', *(["items: "] if some else [])], namespace)


def decisions(
    namespace: str, plan_hash: str, *, force: bool = False, rule: ApprovalRule | None = None
) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the other decisions about a plan, one line each and short enough that the UI shows them at once.

    If ``rule`` asks for more than one approval, the lines also state how to add the further ones.
    """
    second = f"[Sign what somebody else approved]({countersign_link(namespace, plan_hash)})"
    some, rest = (part_link(namespace, plan_hash, part, force=force) for part in ("items", "without"))
    return {
        "review": dg.MetadataValue.md(review_text(namespace, plan_hash)),
        "approve_some": dg.MetadataValue.md(
            f"[Only these items]({some}) · [All but these items or operations]({rest})"
        ),
        "reject": dg.MetadataValue.md(f"[Reject this plan]({reject_link(namespace, plan_hash)})"),
        **(
            {"signatures": dg.MetadataValue.md(f"{rule.sentence()} {second}")}
            if rule and rule != ApprovalRule()
            else {}
        ),
    }


def undoing(namespace: str, run_id: str) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the links and commands that undo an apply run."""
    whole, some = undo_link(namespace, run_id), undo_link(namespace, run_id, some=True)
    return {"undo": dg.MetadataValue.md(f"[Undo this run]({whole}) · [Undo some of its items]({some})")}


def review_text(namespace: str, plan_hash: str) -> str:
    """Return a link to the plan's review page if its address is set, otherwise the command that serves it."""
    try:
        place = urlsplit(os.environ.get(REVIEW_URL, "").strip())
    except ValueError:
        place = urlsplit("")
    if place.scheme in ("http", "https") and place.hostname and not (place.username or place.password):
        path = quote(place.path.rstrip("/"), safe="/%")
        return f"[Review it question by question]({place.scheme}://{quote(place.netloc, safe=':[]')}{path}/plans/{plan_hash})"
    if not _SHELL_WORD.fullmatch(namespace):
        return "Question by question: `slowwave review --by YOUR-NAME`"
    return f"Question by question: `slowwave review {argument(namespace)} --by YOUR-NAME`"


def _hash(plan_hash: str) -> str:
    return f'plan_hash: "{plan_hash}"'


def _link(job: str, op: str, lines: list[str], namespace: str) -> str:
    config = "\n".join((f"ops:\n  {op}:\n    config:", *(f"      {line}" for line in lines)))
    tags = {"tags[0][key]": "dagster/partition", "tags[0][value]": namespace}
    return f"/locations/{LOCATION}/jobs/{job}/playground/setup?{urlencode({'config': config, **tags})}"
