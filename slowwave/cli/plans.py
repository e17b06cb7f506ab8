"""``slowwave plans``: look at plans, approve them, reject them."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, open_store, out, plain, program, show_json, show_table
from slowwave.errors import Refused
from slowwave.plans.diff import changes
from slowwave.plans.gate import approve as sign
from slowwave.plans.gate import reject as turn_down
from slowwave.plans.ledger import StoredPlan, find_plan, latest_plan, read_plan
from slowwave.store.connect import Store

app = typer.Typer(help="Look at plans, approve or reject them.", no_args_is_help=True)

Hash = Annotated[str, typer.Argument(help="The plan's hash, or its first characters.")]
Plan = Annotated[str | None, typer.Option("--plan", help="A plan's hash; the latest plan by default.")]
Items = Annotated[str | None, typer.Option("--items", help="Item ids, or their first characters, separated by commas.")]


@app.command("list")
def list_(
    namespace: Annotated[str | None, typer.Argument(help="Only this namespace.")] = None, json: Json = False
) -> None:
    """List plans, newest first."""
    with open_store().connect("reader") as connection:
        rows = connection.execute(
            "SELECT n.slug, p.plan_hash, p.state, p.recorded_at, p.expires_at, "
            "(SELECT count(*) FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status <> 'deferred') "
            "FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE %s::text IS NULL OR n.slug = %s "
            "ORDER BY p.recorded_at DESC LIMIT 100",
            (namespace, namespace),
        ).fetchall()
    columns = ("namespace", "plan_hash", "state", "recorded_at", "expires_at", "items")
    if json:
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show_table(
            "Plans",
            columns,
            [(n, str(h)[:12], s, f"{r:%Y-%m-%d %H:%M}", f"{e:%Y-%m-%d}", i) for n, h, s, r, e, i in rows],
        )


@app.command()
def show(namespace: Namespace, plan: Plan = None, json: Json = False) -> None:
    """Show a plan: its items, its probes, and the command that approves it."""
    found = read_stored(open_store(), namespace, plan)
    if json:
        show_json(found.to_json())
        return
    out.print(
        f"[bold]Plan {found.plan_hash[:12]}[/] of {plain(namespace)}: {found.state}, expires {found.expires_at:%Y-%m-%d %H:%M} UTC"
    )
    for sentence in _sentences(found):
        out.print(f"  {plain(sentence, 1000)}")
    show_table(
        "Items",
        ("item", "operation", "decision", "risk", "status", "probability", "rows"),
        [
            (
                *(s.item.id[:8], s.item.operation, s.item.decision, s.item.risk, s.status, f"{s.item.probability:.3f}"),
                _rows(found, n),
            )
            for n, s in enumerate(found.items[:50])
        ],
    )
    if len(found.items) > 50:
        out.print(f"… and {len(found.items) - 50:,} more; --json shows all.")
    out.print(f"Why an item is there: {program()} why {plain(namespace)} ITEM")
    if found.state in ("awaiting_approval", "approved"):
        out.print(f"Approve: {program()} plans approve {plain(namespace)} {found.plan_hash[:12]} --approver YOUR-NAME")


@app.command()
def diff(namespace: Namespace, plan: Plan = None, items: Items = None) -> None:
    """Show every cell that a plan would change: before and after."""
    found = read_stored(open_store(), namespace, plan)
    wanted = _split(items)
    for stored in found.items:
        item = stored.item
        if wanted is not None and not any(item.id.startswith(w) for w in wanted):
            continue
        out.print(f"[bold]{item.id}[/] {plain(item.operation)} {plain(item.decision)} ({stored.status})")
        for c in changes(item):
            name = ".".join(p for p in (c.table, c.column) if p)
            out.print(f"  {plain(name)} {c.row}: {plain(c.before)} → {plain(c.after)}")


@app.command()
def approve(
    namespace: Namespace,
    plan_hash: Hash,
    approver: Annotated[str, typer.Option(help="Who signs.")] = "",
    items: Items = None,
    include_review: Annotated[bool, typer.Option(help="Approve review items as well.")] = False,
    force: Annotated[bool, typer.Option(help="Approve although a probe failed; needs --note.")] = False,
    note: Annotated[str, typer.Option(help="Why; kept with the approval.")] = "",
    json: Json = False,
) -> None:
    """Approve a plan: everything but review items, or the items named."""
    approval = sign(
        open_store(),
        namespace,
        plan_hash,
        approver=approver,
        channel="cli",
        items=_split(items),
        include_review=include_review,
        force=force,
        note=note,
    )
    if json:
        show_json({"approval_id": approval.id, "plan_hash": approval.plan_hash, "items": list(approval.item_ids)})
    else:
        out.print(
            f"Approved {len(approval.item_ids):,} items of plan {approval.plan_hash[:12]}. Apply: {program()} apply {plain(namespace)}"
        )


@app.command()
def reject(
    namespace: Namespace,
    plan_hash: Hash,
    reason: Annotated[str, typer.Option(help="Why; the next night remembers it.")],
    rejected_by: Annotated[str, typer.Option("--by", help="Who rejects.")] = "",
    items: Items = None,
    json: Json = False,
) -> None:
    """Reject a plan or some of its items; they are not proposed again unless their rows change."""
    count = turn_down(open_store(), namespace, plan_hash, rejected_by=rejected_by, reason=reason, items=_split(items))
    if json:
        show_json({"plan_hash": plan_hash, "rejected": count})
    else:
        out.print(f"Rejected {count:,} items.")


def read_stored(store: Store, namespace: str, prefix: str | None, *, item: str = "") -> StoredPlan:
    """The plan named by its hash or first characters, or the namespace's latest, see ``read_plan``; none is refused."""
    with store.connect("reader") as connection:
        hash_ = find_plan(connection, namespace, prefix) if prefix else latest_plan(connection, namespace)
        if hash_ is None:
            raise Refused(f"{namespace} has no plan yet. Run `slowwave night {namespace}`.")
        return read_plan(connection, hash_, item=item)


def _sentences(plan: StoredPlan) -> list[str]:
    found = plan.summary.get("sentences")
    return [str(s) for s in found] if isinstance(found, list) else []


def _rows(plan: StoredPlan, n: int) -> str:
    """What an item is about: its names when the planner gave them, else its rows."""
    item = plan.items[n].item
    names = item.evidence.get("names")
    if isinstance(names, (list, tuple)):
        return " = ".join(str(name) for name in names)
    mutation = item.mutation
    rows = [mutation.keep, *mutation.absorb] if mutation.keep else list(mutation.rows)
    return f"{mutation.table} " + ", ".join((r.external_id or r.id[:8]) for r in rows if r)


def _split(items: str | None) -> list[str] | None:
    return None if items is None else [i.strip() for i in items.split(",") if i.strip()]
