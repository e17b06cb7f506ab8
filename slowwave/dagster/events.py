"""A night as Dagster shows it: materializations, checks and metadata, and the links on which people decide.

Nothing here computes: a night is written down as it read and sealed. Metadata hold as much memory text as ``redact_text`` allows. Markdown
under 1,000 characters is shown inline by the UI and longer text behind a button, hence ``summary`` and ``report``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import dagster as dg
import pyarrow as pa

from slowwave.dagster.layout import DEFAULT, Layout, namespaces
from slowwave.night.run_events import Level, level_of, redact_report, redact_rows
from slowwave.operations import Proposal
from slowwave.plans.commands import argument
from slowwave.plans.report import Report, markdown_table, rounded
from slowwave.plans.signatures import ApprovalRule
from slowwave.snapshots.models import SqlModel, check_models, column_lineage, load_models
from slowwave.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from slowwave.night.plan_page import PlanPage
    from slowwave.night.runs import Night
    from slowwave.night.status import NamespaceStatus
    from slowwave.operations import Inputs
    from slowwave.store.connect import Store

Reported = dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation

# Links that open the Launchpad of a job, filled in as far as a page knows it: what a person has to type is left empty and comes last.
#
# The route is the UI's own and not documented: a browser test holds it, and what a link names is always shown as well.

REVIEW_URL: Final = "SLOWWAVE_REVIEW_URL"
"""Variable with the address of the review page: it belongs to the operator, since no setting of a namespace may lead people elsewhere."""

_SHELL_WORD: Final = re.compile(r"[\w./@:+-]+")


def approval_link(layout: Layout, namespace: str, plan_hash: str, *, force: bool = False) -> str:
    """Return a link that approves a plan once the approver's name is typed, and with ``force`` a note before it."""
    forced = ["force: true", "note: "] if force else []
    return _link(layout, "approve_plan", "night__approval", [_hash(plan_hash), *forced, "approver: "], namespace)


def part_link(layout: Layout, namespace: str, plan_hash: str, part: str, *, force: bool = False) -> str:
    """Return a link that approves a part of a plan.

    ``items`` names the items to approve, ``without`` the items or operations to leave out. Both are lists.
    """
    forced = ["force: true", "note: "] if force else []
    lines = [_hash(plan_hash), f"{part}: ", *forced, "approver: "]
    return _link(layout, "approve_plan", "night__approval", lines, namespace)


def countersign_link(layout: Layout, namespace: str, plan_hash: str) -> str:
    """Return a link that adds a further approval to what somebody else approved, once the name is typed."""
    lines = [_hash(plan_hash), "countersign: true", "approver: "]
    return _link(layout, "approve_plan", "night__approval", lines, namespace)


def reject_link(layout: Layout, namespace: str, plan_hash: str) -> str:
    """Return a link that rejects a plan, once the reason and the name are typed."""
    lines = [_hash(plan_hash), "reason: ", "rejected_by: "]
    return _link(layout, "reject_plan", "reject_plan_items", lines, namespace)


def undo_link(layout: Layout, namespace: str, run_id: str, *, some: bool = False) -> str:
    """Return a link that undoes an apply run; with ``some`` the ids of the items are left to type."""
    lines = [f'run: "{run_id}"', *(["items: "] if some else [])]
    return _link(layout, "undo_job", "undo_applied_run", lines, namespace)


def decision_links(
    layout: Layout, namespace: str, plan_hash: str, *, force: bool = False, rule: ApprovalRule | None = None
) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the other decisions about a plan, one line each and short enough that the UI shows them at once.

    If ``rule`` asks for more than one approval, the lines also state how to add the further ones.
    """
    second = f"[Sign what somebody else approved]({countersign_link(layout, namespace, plan_hash)})"
    some, rest = (part_link(layout, namespace, plan_hash, part, force=force) for part in ("items", "without"))
    signatures = (
        {"signatures": dg.MetadataValue.md(f"{rule.sentence()} {second}")} if rule and rule != ApprovalRule() else {}
    )
    return {
        "review": dg.MetadataValue.md(review_text(namespace, plan_hash)),
        "approve_some": dg.MetadataValue.md(
            f"[Only these items]({some}) · [All but these items or operations]({rest})"
        ),
        "reject": dg.MetadataValue.md(f"[Reject this plan]({reject_link(layout, namespace, plan_hash)})"),
        **signatures,
    }


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


def _link(layout: Layout, job: str, op: str, lines: list[str], namespace: str) -> str:
    config = "\n".join((f"ops:\n  {op}:\n    config:", *(f"      {line}" for line in lines)))
    tags = {"tags[0][key]": "dagster/partition", "tags[0][value]": namespace}
    return f"/locations/{quote(layout.location)}/jobs/{job}/playground/setup?{urlencode({'config': config, **tags})}"


# Metadata of reports, tables, models, snapshots and plans.

_LISTED: Final = 1_000
"""Items that the table of a plan holds, questions first: Dagster stores all of them with the event."""

_SAMPLE_ROWS: Final = 10


def report_metadata(report: Report, level: Level, items: int | None = None) -> dict[str, Any]:
    """Return the metadata of an audit, or of a planner that proposes so many ``items``.

    Each number is metadata of its own, which the UI plots over time; summary, whole report and a table of ten rows come before it.
    """
    report = redact_report(report, level)
    return {
        **({} if items is None else {"items": items}),
        "summary": dg.MetadataValue.md(report.summary()),
        "report": dg.MetadataValue.md(report.markdown()),
        **({"top": table_metadata(report.table)} if report.table else {}),
        **{
            name: int(value) if isinstance(value, int) else float(value)
            for name, value in report.numbers.items()
            if math.isfinite(value)
        },
    }


def snapshot_metadata(taken: Snapshot) -> dict[str, Any]:
    """Return the rows of each table of a snapshot, and its instant."""
    rows = {name: table.num_rows for name, table in taken.tables.items()}
    vectors = {name: len(found) for name, found in taken.vectors.items()}
    models = {found.model for found in taken.vectors.values() if found.model}
    return {
        "dagster/row_count": sum(rows.values()) + sum(vectors.values()),
        "rows": dg.MetadataValue.json({name: n for name, n in {**rows, **vectors}.items() if n}),
        "memories": rows["memories"],
        "snapshot_id": taken.snapshot_id,
        "taken_at": dg.MetadataValue.timestamp(taken.taken_at),
        "model": ", ".join(sorted(models)) or "(none)",
    }


def table_metadata(rows: Sequence[Mapping[str, object]], most: int = 10, longest: int = 120) -> dg.TableMetadataValue:
    """Return the first ``most`` rows, redacted already; fractions have six figures.

    Text is cut at ``longest`` characters and holds no control or direction characters.
    """
    columns = list(rows[0])
    return dg.MetadataValue.table(
        records=[dg.TableRecord({c: _cell(rounded(row.get(c)), longest) for c in columns}) for row in rows[:most]],
        schema=dg.TableSchema(columns=[dg.TableColumn(c, _type([row.get(c) for row in rows])) for c in columns]),
    )


def _cell(value: object, longest: int) -> str | int | float | bool | None:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return "".join(c if c.isprintable() else " " for c in str(value))[:longest]


def _type(values: Sequence[object]) -> str:
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return "int"
    return "float" if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values) else "string"


def model_check(layout: Layout, model: SqlModel) -> dg.AssetCheckSpec:
    """Declare the check of a model: all that its file promises of its rows."""
    promised = "; ".join(str(check) for check in model.checks)
    return dg.AssetCheckSpec("keeps_its_promises", asset=layout.key("model", model.name), description=f"{promised}.")


def _model_metadata(layout: Layout, model: SqlModel, table: pa.Table, level: Level) -> dict[str, Any]:
    """Return the metadata of a model's rows.

    Each column states its source, because Dagster shows lineage of columns only in some views.
    """
    lineage = column_lineage(model, load_models())
    columns = [
        dg.TableColumn(
            field.name, str(field.type), "from " + ", ".join(".".join(origin) for origin in lineage.get(field.name, []))
        )
        for field in table.schema
    ]
    deps = {
        column: [_column_dep(layout, origin, name) for origin, name in origins] for column, origins in lineage.items()
    }
    rows = redact_rows(table.slice(0, _SAMPLE_ROWS).to_pylist(), level)
    # The column names are those of the model, so they hold no memory.
    sample = [dict(zip(table.column_names, row.values(), strict=True)) for row in rows]
    return {
        "dagster/row_count": table.num_rows,
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "dagster/column_lineage": dg.TableColumnLineage(deps),
        "sample": dg.MetadataValue.md(markdown_table(sample) or "No rows."),
    }


def _column_dep(layout: Layout, table: str, column: str) -> dg.TableColumnDep:
    if table.startswith("snapshot."):
        return dg.TableColumnDep(layout.key("snapshot"), f"{table.removeprefix('snapshot.')}.{column}")
    return dg.TableColumnDep(layout.key("model", table), column)


def plan_metadata(
    page: PlanPage, run_id: str, rule: ApprovalRule | None = None, layout: Layout = DEFAULT
) -> dict[str, Any]:
    """Return the metadata of a plan: the verdict with its link, the other decisions, then items, probes and the whole report."""
    from slowwave.night.plan_page import SIDES

    waits = page.state in ("awaiting_approval", "partly_approved")
    force = bool(page.needs_force)
    link = approval_link(layout, page.namespace, page.plan_hash, force=force)
    return {
        "summary": dg.MetadataValue.md(page.summary(link)),
        **(decision_links(layout, page.namespace, page.plan_hash, force=force, rule=rule) if waits else {}),
        "probes": dg.MetadataValue.md(page.probes()),
        "report": dg.MetadataValue.md(page.markdown()),
        "plan_hash": page.plan_hash,
        "run_id": run_id,
        "new_items": page.new_items,
        "asked_before": page.carried_items,
        "left_for_another_night": len(page.deferred),
        "decided_items": page.decided_items,
        "questions": page.questions,
        **({"why": dg.MetadataValue.md(page.why())} if page.explained else {}),
        **({"items": table_metadata(page.items, _LISTED, SIDES)} if page.items else {}),
    }


def applied_metadata(
    layout: Layout, namespace: str, run_id: str, plan_hash: str, counts: Mapping[str, int], state: str = "completed"
) -> dict[str, Any]:
    """Return the counts of an apply run and the links that undo it."""
    undo: dict[str, Any] = {}
    if counts.get("applied"):
        whole, some = undo_link(layout, namespace, run_id), undo_link(layout, namespace, run_id, some=True)
        undo["undo"] = dg.MetadataValue.md(f"[Undo this run]({whole}) · [Undo some of its items]({some})")
    return {**undo, "run_id": run_id, "plan_hash": plan_hash, "state": state, **counts}


def status_metadata(page: str, statuses: list[NamespaceStatus]) -> dict[str, Any]:
    """Return the status page without its heading, and the number of namespaces in each state.

    The UI shows the time of the page itself, and plots the numbers over time.
    """
    from slowwave.night.status import words

    return {
        "status": dg.MetadataValue.md(page.partition("\n\n")[2]),
        "namespaces": len(statuses),
        "to_approve": sum(one.to_approve for one in statuses),
        "questions": sum(one.questions for one in statuses),
        **{word.replace(" ", "_").replace(",", ""): many for word, many in words(statuses).items()},
    }


# The checks of a night's reports about pages: what an audit lists, as a check of the audit that turns green when it is mended.

PAGE_CHECKS: Final = {
    "links_lead_somewhere": (
        "dead_links",
        ("dead",),
        "Every link that somebody wrote means a page, and a heading or block of it.",
    ),
    "pages_agree_with_themselves": (
        "page_health",
        ("state conflict", "contradictions", "event mismatch"),
        "No page has fields that exclude each other, a section of contradictions, or a timeline that goes on after its date.",
    ),
}
"""Check → the audit, those of its numbers that are zero where it holds, and what it asks."""


def _page_results(layout: Layout, reports: Mapping[str, Report]) -> Iterator[dg.AssetCheckEvaluation]:
    for name, (audit, numbers, _) in PAGE_CHECKS.items():
        if report := reports.get(audit):
            found = report.numbers
            yield dg.AssetCheckEvaluation(
                asset_key=layout.key("audit", audit),
                check_name=name,
                passed=not any(found.get(number, 0) for number in numbers),
                severity=dg.AssetCheckSeverity.WARN,
                description=report.skipped or ", ".join(f"{number}: {found.get(number, 0):,}" for number in numbers),
                metadata={"pages": found.get("pages", 0), **{number: found.get(number, 0) for number in numbers}},
            )


# The events of a night.


def operation_key(layout: Layout, kind: str, name: str) -> dg.AssetKey:
    """Return ``audit/<name>`` or ``plan/<name>``."""
    return layout.key("audit" if kind == "audit" else "plan", name)


def night_events(
    night: Night,
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    *,
    layout: Layout = DEFAULT,
    only: Collection[dg.AssetKey] | None = None,
    rule: ApprovalRule | None = None,
) -> Iterator[Reported]:
    """Yield the events of a night in its order; with ``only``, those of these assets.

    An operation that did not run has no event, so that its page keeps the report of the night in which it ran.
    """
    snapshot, level = inputs.snapshot, level_of(inputs.snapshot.settings)
    for event in _night_events(night, inputs, proposals, layout, level, rule):
        if only is None or event.asset_key in only:
            if isinstance(event, dg.AssetMaterialization):
                yield event._replace(partition=snapshot.namespace)
            else:
                yield event


def _night_events(
    night: Night,
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    layout: Layout,
    level: Level,
    rule: ApprovalRule | None,
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    yield dg.AssetMaterialization(layout.key("snapshot"), metadata=snapshot_metadata(inputs.snapshot))
    for model in load_models():
        if model.name in inputs.models:
            table = inputs.models[model.name]
            key = layout.key("model", model.name)
            yield dg.AssetMaterialization(key, metadata=_model_metadata(layout, model, table, level))
            broken = check_models([model], inputs.models)
            yield dg.AssetCheckEvaluation(
                asset_key=key,
                check_name=model_check(layout, model).name,
                passed=not broken,
                description=" ".join(broken) or "Its rows keep them.",
            )
    ran = {name: report for name, report in night.reports.items() if not _was_off(report)}
    for name, report in ran.items():
        yield dg.AssetMaterialization(layout.key("audit", name), metadata=report_metadata(report, level))
    yield from _page_results(layout, ran)
    for name, proposal in proposals.items():
        if not _was_off(proposal.report):
            metadata = report_metadata(proposal.report, level, len(proposal.items))
            yield dg.AssetMaterialization(layout.key("plan", name), metadata=metadata)
    if night.plan is not None:
        yield _plan_event(night, inputs, layout, level, rule)


def _was_off(report: Report) -> bool:
    return report.skipped in ("op_not_requested", "op_disabled_by_config")


def _plan_event(
    night: Night, inputs: Inputs, layout: Layout, level: Level, rule: ApprovalRule | None
) -> dg.AssetMaterialization:
    from slowwave.night.plan_page import page_of

    page = page_of(night, inputs.settings.plan_expiry_days, level)
    metadata = plan_metadata(page, night.run_id, rule, layout)
    return dg.AssetMaterialization(layout.key("night", "plan"), metadata=metadata)


def store_observation(layout: Layout, store: Store, namespace: str, rows: int) -> dg.AssetObservation | None:
    """Return the observation of the store that a snapshot with ``rows`` memories was read from; None for Slowwave's own schema."""
    from slowwave.bindings.stores import connected_store
    from slowwave.store.namespaces import namespace_id

    with store.connect("reader") as connection:
        found = connected_store(connection, namespace_id(connection, namespace))
    if found is None:
        return None
    connected = found[0]
    tables = {name: f"{bound.schema}.{bound.table}" for name, bound in connected.binding.tables.items()}
    return dg.AssetObservation(
        layout.key("store", "tables"),
        partition=namespace,
        metadata={
            "store": connected.name,
            "binding": connected.binding.title,
            "writing": connected.writing,
            "tables": dg.MetadataValue.json(tables),
            "dagster/table_name": next(iter(tables.values())),
            "dagster/row_count": rows,
        },
    )


# A night that ran outside of Dagster, reported to an instance: ``slowwave night`` calls this where an instance is configured.


def report_night(
    night: Night,
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    instance: dg.DagsterInstance | None = None,
    *,
    whole: bool = True,
    store: Store | None = None,
) -> int:
    """Write a night to ``instance`` (default: that of the environment) and return the number of events.

    Without ``whole``, only its plan is written: an event takes its storage some thirty milliseconds, and a night has sixty of them. With
    ``store``, the tables of a connected store that it read are observed as well. The partition is added if it is new. Raises what Dagster
    raises for an instance that cannot be opened or reached.
    """
    instance = instance or dg.DagsterInstance.get()
    only = None if whole else {DEFAULT.key("night", "plan")}
    events = list(night_events(night, inputs, proposals, only=only))
    rows = inputs.snapshot.table("memories").num_rows
    if whole and store is not None and (seen := store_observation(DEFAULT, store, night.namespace, rows)):
        events.insert(0, seen)
    instance.add_dynamic_partitions(str(namespaces.name), [night.namespace])
    for event in events:
        instance.report_runless_asset_event(event)
    return len(events)


def report_status(store: Store, instance: dg.DagsterInstance | None = None) -> None:
    """Write the status of all namespaces to ``instance`` (default: that of the environment), as the asset ``night/status`` does."""
    from slowwave.night.status import morning_page

    page, statuses = morning_page(store)
    event = dg.AssetMaterialization(DEFAULT.key("night", "status"), metadata=status_metadata(page, statuses))
    (instance or dg.DagsterInstance.get()).report_runless_asset_event(event)
