"""``night/plan``: the sealed plan, and the page on which a person reads and approves it. Sealing belongs to ``slowwave.night.night``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import dagster as dg

from memory_assets.metadata import table_metadata
from memory_assets.operations import models_among, operation_key, operations_of
from memory_assets.partitions import namespaces
from memory_assets.snapshot import PLAN
from resources.redaction import discreet, level_at
from resources.tables import mapped_snapshot
from slowwave.night.results import Result, one_location
from slowwave.operations import AUDITS, PLANNERS, operations
from slowwave.plans.commands import argument
from slowwave.plans.items import Item
from slowwave.plans.why import why
from slowwave.reports.model import Report, escape, markdown_table
from slowwave.reports.redaction import Level, redact, redact_report, redact_rows
from slowwave.reports.waterfall import markdown, percent
from slowwave.snapshots.models import models_folder
from slowwave.store.connect import Store

if TYPE_CHECKING:
    from slowwave.night.outcome import Night

LOCATION: Final = "slowwave"
"""The code location's name in ``workspace.yaml``."""

INLINE: Final = 990
"""Markdown under 1,000 characters is shown without a click."""

EXPLAINED: Final = 10
"""Merges, and as many reviews, whose evidence the page shows."""


def _keys() -> list[dg.AssetKey]:
    """All audits, planners and models: a new one among them becomes part of the plan by itself."""
    found = [operation_key(made) for made in operations().values()]
    return [*found, *(dg.AssetKey(["model", file.stem]) for file in sorted(models_folder().glob("*.sql")))]


@dg.asset(
    key=PLAN,
    ins={"_".join(key.path): dg.AssetIn(key) for key in _keys()},
    partitions_def=namespaces,
    group_name="gate",
    kinds={"python", "postgres"},
)
def plan(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], **results: Result) -> dg.MaterializeResult:
    """The night's plan: sealed under one hash, and proven before anyone sees it. Nothing is changed by it.

    Items that conflict wait for the next night. The probes simulate the plan and ask whether recall suffers, whether anything
    said would be lost, how much changes, and whether a second night would find more to do. **Approve this plan** opens the
    Launchpad: type your name and launch. What is approved is applied exactly, or not at all.
    """
    from slowwave.night.inputs import read_inputs
    from slowwave.night.night import make_plan
    from slowwave.night.runs import at_work, resume
    from slowwave.night.stream import emit_night

    location, run = one_location(results), context.run
    level = level_at(location)
    with discreet(level):
        given = {name: result.value for name, result in results.items()}
        inputs = read_inputs(store, mapped_snapshot(location), models_among(given))
        run_id = resume(store, context.partition_key, run.run_id, parent_run_id=run.parent_run_id)
        reports = {name: given[f"audit_{name}"] for name in AUDITS}
        proposals = {name: given[f"plan_{name}"] for name in PLANNERS}
        ops = operations_of(context, inputs.settings)
        with at_work(store, run.run_id):
            night = make_plan(store, run_id, inputs, reports, proposals, ops=ops)
        emit_night(store, night, inputs, dagster_run_id=run.run_id)
        return dg.MaterializeResult(metadata=plan_metadata(night, inputs.settings.plan_expiry_days, level))


def command(name: str, namespace: str, *more: str) -> str:
    """A command of the program in Markdown's code style, which holds what a shell reads; a name that cannot stand in it is left out."""
    words = " ".join(("slowwave", name, *(argument(part) for part in (namespace, *more))))
    return f"`{words}`" if words.isprintable() and "`" not in words else f"`slowwave {name}`"


def approval_link(namespace: str, plan_hash: str, *, force: bool = False) -> str:
    """The Launchpad of ``approve_plan``, filled in but for the approver's name, which is the last line, and with ``force`` for the note
    before it.

    The route is the UI's own and not documented: a browser test holds it, and the hash is always shown as well.
    """
    forced = "      force: true\n      note: \n" if force else ""
    config = f'ops:\n  night__approval:\n    config:\n      plan_hash: "{plan_hash}"\n{forced}      approver: '
    tags = {"tags[0][key]": "dagster/partition", "tags[0][value]": namespace}
    return f"/locations/{LOCATION}/jobs/approve_plan/playground/setup?{urlencode({'config': config, **tags})}"


def plan_metadata(night: "Night", expiry_days: int, level: Level) -> dict[str, Any]:
    """The verdict with the link inline, then items, probes and the whole report, with as much of memory as ``level`` lets them."""
    plan, probes = night.plan, night.probes
    if plan is None or probes is None:
        raise TypeError("A night that made no plan has nothing to show.")
    items = [_row(item, level) for item in plan.items]
    metadata: dict[str, Any] = {
        "summary": dg.MetadataValue.md(summary(night, expiry_days, level)),
        "probes": dg.MetadataValue.md("\n".join(f"- {escape(s, 400)}" for s in probes.sentences)),
        "report": dg.MetadataValue.md(_report(night, items, level)),
        "plan_hash": plan.plan_hash,
        "run_id": night.run_id,
        "new_items": night.new_items,
        "carried_items": night.carried_items,
        "deferred_items": len(plan.deferred),
        "review_items": sum(i.decision == "review" for i in plan.items),
    }
    if listed := explained(plan.items, night.namespace, level, probes.results):
        metadata["why"] = dg.MetadataValue.md(listed)
    return metadata | ({"items": table_metadata(items)} if items else {})


def summary(night: "Night", expiry_days: int, level: Level) -> str:
    """Markdown of under 1,000 characters; where not all fits, rows of the table go and the link stays."""
    plan, probes = night.plan, night.probes
    if plan is None or probes is None:
        return ""
    target = approval_link(night.namespace, plan.plan_hash, force=bool(probes.needs_force))
    link = f"**[Approve this plan]({target})**\n\n`{plan.plan_hash}`"
    if night.state == "awaiting_approval":
        verdict, ending = f"**{night.new_items:,} new items wait for approval**, for {expiry_days} days.", link
    elif night.state == "partly_approved":
        verdict = (
            f"**The namespace's policy approved low-risk items of this plan; the others wait**, for {expiry_days} days."
        )
        ending = link
    elif night.state == "approved":
        verdict, ending = "**The namespace's policy approved low-risk items of this plan.**", f"`{plan.plan_hash}`"
    else:
        verdict = "**Nothing new to decide.**"
        ending = f"{night.carried_items:,} review items wait in the plan before." if night.carried_items else ""
    if failed := list(probes.needs_force):
        more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
        verdict += (
            f" A probe failed: {escape(failed[0], 160)}{more} Approving it all the same takes a `note` that says why."
        )
    hidden = (
        f"Names and texts are hidden, as `redact_text` is all: {command('plans show', night.namespace)} shows them."
        if level == "all"
        else ""
    )
    rows = _operations(night)
    while True:
        parts = [verdict, markdown_table(rows), hidden, ending]
        text = "\n\n".join(part for part in parts if part)
        if len(text) <= INLINE or not rows:
            return text
        rows = rows[:-1]


def explained(items: Sequence[Item], namespace: str, level: Level, probes: Mapping[str, object] | None = None) -> str:
    """Markdown: the evidence for the weakest merges, then for the reviews that come nearest to one; empty when there is none.

    Evidence quotes memory in every line, so ``all`` leaves nothing to show.
    """
    if level == "all":
        return ""
    listed = [item for item in items if item.evidence.get("waterfall")]
    merges = sorted((i for i in listed if i.decision != "review"), key=lambda i: (i.probability, i.id))
    reviews = sorted((i for i in listed if i.decision == "review"), key=lambda i: (-i.probability, i.id))
    parts: list[str] = []
    for title, found in (("Merges, the weakest first", merges), ("For review, the likeliest first", reviews)):
        if found:
            shown = found[:EXPLAINED]
            parts.append(f"### {title} ({len(shown)} of {len(found):,})")
            parts += [_explained(item, namespace, level, probes or {}) for item in shown]
    return "\n\n".join(parts)


def _explained(item: Item, namespace: str, level: Level, probes: Mapping[str, object]) -> str:
    account = why(replace(item, evidence=_mapping(redact(dict(item.evidence), level))), probes)
    names = " = ".join(escape(row.fields.get("name", ""), 60) for row in account.rows)
    parts = [
        f"#### {names}: {percent(item.probability)}",
        escape(redact(account.sentence, level), 400),
        markdown(account.steps),
        escape(account.verdict, 400),
        "\n".join(f"- {escape(redact(note, level), 400)}" for note in account.notes),
        markdown_table(redact_rows(account.side_by_side(), level)),
        f"slowwave why {escape(namespace)} {item.id}",
    ]
    return "\n\n".join(part for part in parts if part)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _row(item: Item, level: Level) -> dict[str, object]:
    return {
        "operation": item.operation,
        "decision": item.decision,
        "risk": item.risk,
        "probability": round(item.probability, 4),
        "what": _what(item, level),
        "rows": ", ".join(item.mutation.row_ids()),
        "item": item.id,
    }


def _what(item: Item, level: Level) -> str:
    """The rows in their own words: what is the same, or what follows what."""
    plain, listed = f"{item.mutation.kind} {item.mutation.table}", item.evidence
    if level == "all":
        return plain
    if isinstance(names := redact(listed.get("names"), level), list):
        return " = ".join(map(str, names))
    if "earlier" in listed and "later" in listed:
        return f"{redact(listed['earlier'], level)} → {redact(listed['later'], level)}"
    return plain


def _operations(night: "Night") -> list[Mapping[str, object]]:
    counts = night.to_json()["items"]
    if not isinstance(counts, dict):
        return []
    return [
        {"operation": operation, "decision": decision, "items": f"{count:,}"}
        for operation, decisions in counts.items()
        for decision, count in decisions.items()
    ]


def _why_nothing(night: "Night", reports: Mapping[str, Report]) -> list[str]:
    """The sentences of a silent night: those of planners as their redacted reports say them, the others hold counts alone."""
    ran = [name for name, report in night.proposals.items() if not report.skipped]
    return [*(f"{name}: {reports[name].headline}" for name in ran), *night.why_nothing[len(ran) :]]


def _report(night: "Night", items: list[dict[str, object]], level: Level) -> str:
    plan, probes = night.plan, night.probes
    if plan is None or probes is None:
        return ""
    deferred = [{"item": item, "conflicts with": winner} for item, winner in list(plan.deferred.items())[:50]]
    reports = {n: redact_report(report, level) for n, report in {**night.reports, **night.proposals}.items()}
    headlines = [{"operation": name, "result": report.headline} for name, report in reports.items()]
    silent = [
        "#### Why there is nothing new",
        "\n".join(f"- {escape(sentence, 400)}" for sentence in _why_nothing(night, reports)),
    ]
    parts = [
        f"### Plan {plan.plan_hash}",
        f"Snapshot {escape(night.snapshot_id)} · {night.new_items:,} new, {night.carried_items:,} carried over, "
        f"{len(plan.deferred):,} deferred.",
        *(silent if night.why_nothing else ()),
        "#### What was proven",
        "\n".join(f"- {escape(s, 400)}" for s in probes.sentences),
        "#### What audits and planners say",
        markdown_table(headlines),
        f"#### Items ({min(len(items), 100)} of {len(items):,}; {command('plans show', night.namespace, '--json')} lists all)",
        markdown_table(items[:100]),
    ]
    if deferred:
        parts += [
            f"#### Deferred to the next night ({len(deferred)} of {len(plan.deferred):,})",
            markdown_table(deferred),
        ]
    return "\n\n".join(part for part in parts if part)
