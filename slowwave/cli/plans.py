"""``slowwave plans``: look at plans, approve them, reject them, revoke approvals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.text import Text

from slowwave.cli.listing import one_line, telling, wrapped
from slowwave.cli.session import (
    Json,
    Namespace,
    open_store,
    out,
    plain,
    program,
    say,
    short,
    show_json,
    show_table,
    suggest,
    width_of,
)
from slowwave.errors import Refused
from slowwave.plans.commands import NOTE, Undecided, argument, reject_command, undecided
from slowwave.plans.diff import Rewording, changes, lost_lines, rewordings
from slowwave.plans.gate import approve as sign
from slowwave.plans.gate import reject as turn_down
from slowwave.plans.latest import find_plan, latest_plan, no_plan, waiting_plans
from slowwave.plans.ledger import StoredPlan, read_plan
from slowwave.plans.revocation import revoke as withdraw
from slowwave.plans.states import items_text, shown_state
from slowwave.plans.writings import KINDS, about, cited, writing
from slowwave.store.connect import Store
from slowwave.texts.losses import losses
from slowwave.texts.quotation import quotable

app = typer.Typer(help="Look at plans, approve or reject them, revoke approvals.", no_args_is_help=True)

_SHOWN = 25
_LONGEST_LINE: Final = 4_000  # characters
_STYLES: Final = {"- ": "red", "+ ": "green", "  ": "dim", "@@": "cyan"}

Hash = Annotated[str, typer.Argument(help="The plan's hash, or its first characters.")]
Plan = Annotated[str | None, typer.Option("--plan", help="A plan's hash; the night's latest by default.")]
Items = Annotated[str | None, typer.Option("--items", help="Item ids, or their first characters, separated by commas.")]


@app.command("list")
def list_(
    namespace: Annotated[str | None, typer.Argument(help="Only this namespace.")] = None, json: Json = False
) -> None:
    """List plans, newest first."""
    with open_store().connect("reader") as connection:
        rows = connection.execute(
            "SELECT n.slug, p.plan_hash, p.state, p.recorded_at, p.expires_at, night.item_counts(p.plan_hash) "
            "FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE %s::text IS NULL OR n.slug = %s "
            "ORDER BY p.recorded_at DESC LIMIT 100",
            (namespace, namespace),
        ).fetchall()
    rows = [(n, h, shown_state(s, counts, e), r, e, counts) for n, h, s, r, e, counts in rows]
    columns = ("namespace", "plan_hash", "state", "recorded_at", "expires_at", "items")
    if json:
        show_json([dict(zip(columns, (*row[:5], _in_plan(row[5])), strict=True)) | {"counts": row[5]} for row in rows])
    else:
        show_table(
            "Plans",
            ("plan", "namespace", "state", "recorded", "expires", "items"),
            [(str(h)[:12], n, s, f"{r:%Y-%m-%d %H:%M}", f"{e:%Y-%m-%d}", items_text(c)) for n, h, s, r, e, c in rows],
        )


@app.command()
def show(namespace: Namespace, plan: Plan = None, json: Json = False) -> None:
    """Show a plan: its items, its probes, and the command that approves it."""
    store = open_store()
    found = read_stored(store, namespace, plan)
    if json:
        show_json(found.to_json())
        return
    say(
        f"Plan {found.plan_hash[:12]} of {namespace}: {found.shown_state} ({items_text(found.counts)}), "
        f"expires {found.expires_at:%Y-%m-%d %H:%M} UTC"
    )
    for sentence in _sentences(found):
        say(sentence, indent=2)
    digits = telling([s.id for s in found.items])
    decided = any(s.status != "pending" for s in found.items)
    show_table(
        "Items",
        ("item", "operation", "decision", "risk", *(("status",) if decided else ()), "probability", "rows"),
        [
            (
                *(
                    s.id[:digits],
                    s.operation,
                    s.decision,
                    s.risk,
                    *((s.status,) if decided else ()),
                ),
                *(f"{s.probability:.3f}", _rows(found, n)),
            )
            for n, s in enumerate(found.items[:_SHOWN])
        ],
    )
    if len(found.items) > _SHOWN:
        say(f"… and {len(found.items) - _SHOWN:,} more; --json shows all.")
    if found.items:
        suggest("Why an item is there", f"{program()} why {argument(namespace)} {found.items[0].id}")
    with store.connect("reader") as connection:
        suggest_decision(undecided(connection, found.plan_hash))
        others = [h for h in waiting_plans(connection, namespace) if h != found.plan_hash]
    if others and plan is None:
        one = "Another plan waits, which a proposal or a pass of its own made"
        many = f"{len(others):,} other plans wait, which proposals or passes of their own made. The first"
        suggest(
            one if not others[1:] else many, f"{program()} plans show {argument(namespace)} --plan {others[0][:12]}"
        )


def suggest_decision(left: Undecided | None) -> None:
    """The commands that approve and reject what of a plan waits for a person; first why it takes force, where it does."""
    if left is None:
        return
    if left.failed:
        say(f"Probes failed: {' '.join(left.failed)}")
        say(
            f"To approve it all the same takes --force and a reason in place of {NOTE}, which is kept with the approval."
        )
    if left.decided:
        rest = f"; {left.reviews:,} for review are left out, name them with --items" if left.reviews else ""
        suggest(f"Approve {left.decided:,} items{rest}", left.approve(program()))
    else:
        suggest(f"Only items for review wait, {left.reviews:,} of them. Approve one", left.approve(program()))
    suggest("Or reject the plan", reject_command(left.namespace, left.plan_hash, program=program()))


@app.command()
def diff(namespace: Namespace, plan: Plan = None, items: Items = None) -> None:
    """Show what a plan would change: every cell before and after, pages by line, claims, and what of a memory's text would be lost."""
    store = open_store()
    found = read_stored(store, namespace, plan)
    wanted = _split(items)
    shown = [(s.item, s.status) for s in found.items if wanted is None or any(s.id.startswith(w) for w in wanted)]
    reworded = [r for item, _ in shown for r in rewordings(item)]
    texts = stored_texts(store, [v for r in reworded for v in (r.version, r.by)])
    texts |= stored_texts(store, [id_ for item, status in shown for id_ in cited(item.mutation, status)])
    for item, status in shown:
        out.print(f"[bold]{item.id}[/] {plain(item.operation)} {plain(item.decision)} ({status})")
        if item.mutation.kind in KINDS:
            print_writing(writing(item.mutation, texts), indent=2)
            continue
        for c in changes(item):
            name = ".".join(p for p in (c.table, c.column) if p)
            say(f"{name} {c.row}: {short(quotable(c.before))} → {short(quotable(c.after))}", indent=2)
        for reworded in rewordings(item):
            _print_losses(reworded, texts)


@app.command()
def approve(
    namespace: Namespace,
    plan_hash: Hash,
    approver: Annotated[str, typer.Option(help="Who signs.")] = "",
    items: Items = None,
    without: Annotated[
        str | None, typer.Option(help="Leave out: item ids or whole operations, separated by commas.")
    ] = None,
    include_review: Annotated[bool, typer.Option(help="Approve review items as well.")] = False,
    force: Annotated[bool, typer.Option(help="Approve although a probe failed; needs --note.")] = False,
    note: Annotated[str, typer.Option(help="Why; kept with the approval.")] = "",
    json: Json = False,
) -> None:
    """Approve a plan: everything but review items, or the items named. What is approved has to pass its probes by itself."""
    approval = sign(
        open_store(),
        namespace,
        plan_hash,
        approver=approver,
        channel="cli",
        items=_split(items),
        without=_split(without) or (),
        include_review=include_review,
        force=force,
        note=note,
    )
    if json:
        show_json({"approval_id": approval.id, "plan_hash": approval.plan_hash, "items": list(approval.item_ids)})
    else:
        say(f"Approved {len(approval.item_ids):,} items of plan {approval.plan_hash[:12]}.")
        suggest("Apply them", f"{program()} apply {argument(namespace)}")


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


@app.command()
def revoke(
    namespace: Namespace,
    name: Annotated[
        str,
        typer.Argument(metavar="HASH|APPROVAL", help="A plan's hash, or an approval's id, or its first characters."),
    ],
    reason: Annotated[str, typer.Option(help="Why; kept with the approval.")],
    revoked_by: Annotated[str, typer.Option("--by", help="Who revokes.")] = "",
    json: Json = False,
) -> None:
    """Withdraw an approval, or all approvals of a plan, before they are applied; what is applied already is for `undo`."""
    done = withdraw(open_store(), namespace, name, revoked_by=revoked_by, reason=reason)
    if json:
        show_json(asdict(done))
        return
    say(
        f"Revoked {len(done.approval_ids):,} approvals of plan {done.plan_hash[:12]}: {done.waiting:,} items wait again."
    )
    if done.applied:
        say(f"{done.applied:,} items were applied before and stand.")
        suggest("Take them back", *(f"{program()} undo {run}" for run in done.runs))


def read_stored(store: Store, namespace: str, prefix: str | None, *, item: str = "") -> StoredPlan:
    """The plan named by its hash or first characters, or the namespace's latest, see ``read_plan``; none is refused."""
    with store.connect("reader") as connection:
        hash_ = find_plan(connection, namespace, prefix) if prefix else latest_plan(connection, namespace)
        if hash_ is None:
            raise Refused(no_plan(connection, namespace))
        return read_plan(connection, hash_, item=item)


def stored_texts(store: Store, ids: Iterable[str]) -> dict[str, str]:
    """Version → its text, and entity → its name. Versions are never overwritten: it is what the plan saw."""
    wanted = sorted({id_ for id_ in ids if id_})
    if not wanted:
        return {}
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT id::text, content FROM memory.memory_versions WHERE id = ANY(%(ids)s::uuid[]) UNION ALL "
            "SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[])",
            {"ids": wanted},
        )
        return {str(id_): str(content) for id_, content in rows}


def print_writing(lines: Sequence[str], *, indent: int = 0) -> None:
    """What an item would write: our sentences, and the lines of pages with their marks. Where one is wrapped, the rest of it is indented
    further, so that no text can pass for a sentence of ours."""
    for line in lines:
        style = _STYLES.get(line[:2], "")
        left = indent + 2 if style else indent
        text = " " * left + one_line(line, _LONGEST_LINE)
        for part in wrapped(text, width_of(out), hang=indent + 6):
            out.print(Text(part, style))


def _print_losses(reworded: Rewording, texts: Mapping[str, str]) -> None:
    """What a memory would no longer say, without what screening would redact."""
    if reworded.version not in texts:
        return
    before = quotable(texts[reworded.version])
    after = quotable(texts.get(reworded.by, "") if reworded.by else reworded.text)
    lost = losses(before, after)
    was, now = lost.tokens
    where = "leaves recall" if not after else "stands in other words"
    out.print(
        f"  [bold]memory {reworded.memory}[/] {where}: {lost.lost:,} of {lost.passages:,} passages go, {was:,} → {now:,} tokens"
    )
    for line in lost_lines(lost):
        style = {"-": "red", "+": "green", "~": "yellow"}.get(line[0], "dim")
        out.print(f"    [{style}]{plain(line, _LONGEST_LINE)}[/]")
    if lost.terms:
        out.print(f"    no longer said: {plain(', '.join(lost.terms), _LONGEST_LINE)}")


def _in_plan(counts: object) -> int:
    """Items that a plan holds; what was deferred is in none."""
    found = counts if isinstance(counts, dict) else {}
    return sum(int(str(n)) for status, n in found.items() if status != "deferred")


def _sentences(plan: StoredPlan) -> list[str]:
    found = plan.summary.get("sentences")
    return [str(s) for s in found] if isinstance(found, list) else []


def _rows(plan: StoredPlan, n: int) -> str:
    """What an item is about: its names when the planner gave them, else its rows."""
    item = plan.items[n].item
    if item.mutation.kind in KINDS:
        return about(item.mutation)
    names = item.evidence.get("names")
    if isinstance(names, (list, tuple)):
        return " = ".join(str(name) for name in names)
    mutation = item.mutation
    rows = [mutation.keep, *mutation.absorb] if mutation.keep else list(mutation.rows)
    return f"{mutation.table} " + ", ".join((r.external_id or r.id[:8]) for r in rows if r)


def _split(items: str | None) -> list[str] | None:
    return None if items is None else [i.strip() for i in items.split(",") if i.strip()]
