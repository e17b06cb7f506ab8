"""``slowwave namespace``: list, show, change and remove namespaces."""

from __future__ import annotations

import json as json_values
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.states import shown_state
from slowwave.store.connect import Store
from slowwave.store.namespaces import unknown_namespace
from slowwave.surfaces.cli.session import Json, Namespace, err, one_line, open_store, say, show_json, show_table

# The list is requested often, so it imports little.

_READ_ONLY: Final = """(n.read_only OR EXISTS (SELECT 1 FROM night.store_namespaces k JOIN night.stores o ON o.name = k.store
  WHERE k.namespace_id = n.id AND NOT o.writing))"""
"""SQL: whether no apply writes to a namespace, as ``slowwave doctor`` counts them: the store of its rows may be one that is only read."""

_NAMESPACES: Final = f"""
SELECT n.slug, {_READ_ONLY},
  CASE WHEN s.store IS NULL THEN (SELECT count(*) FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL)
    ELSE coalesce((SELECT (t.row_counts ->> 'memories')::bigint FROM night.snapshots t
      WHERE t.namespace_id = n.id ORDER BY t.taken_at DESC LIMIT 1), 0) END,
  (SELECT count(*) FROM memory.entities e WHERE e.namespace_id = n.id AND e.invalidated_at IS NULL),
  (SELECT count(*) FROM memory.relationships r WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL),
  p.state, night.item_counts(p.plan_hash), p.expires_at, p.summary ? 'why_held_back' AND p.summary -> 'held_back' <> '{{}}'
FROM memory.namespaces n LEFT JOIN night.store_namespaces s ON s.namespace_id = n.id
LEFT JOIN LATERAL (SELECT * FROM night.plans p WHERE p.namespace_id = n.id ORDER BY (p.state = 'empty'), p.recorded_at DESC LIMIT 1) p
  ON true
ORDER BY n.slug
"""  # noqa: S608 - a condition of this module
"""Namespaces with their counts; for a connected store those of its last snapshot, because its tables are not counted for a list."""
_RELATIONS: Final = 8
"""Relations of a plan that a hint names."""
_NAMESPACE: Final = f"SELECT slug, id::text, {_READ_ONLY}, settings FROM memory.namespaces n WHERE slug = %s"  # noqa: S608


def list_(json: Json = False) -> None:
    """List namespaces with their live rows and latest plan."""
    with open_store().connect("reader") as connection:
        rows = connection.execute(_NAMESPACES).fetchall()
    rows = [(*row[:5], None if row[5] is None else _plan_state(*row[5:])) for row in rows]
    columns = ("namespace", "read_only", "memories", "entities", "relationships", "plan")
    if json:
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        shown = [
            [
                *(row[0], "yes" if row[1] else "no", *row[2:5]),
                "nothing to decide" if row[5] == "empty" else row[5] or "none yet",
            ]
            for row in rows
        ]
        show_table("Namespaces", ("namespace", "read-only", *columns[2:]), shown, first="demo")


def _plan_state(state: object, counts: object, expires_at: object, held_back: object) -> str:
    """Return the state of the latest plan; an empty one may have found changes that its store does not let a plan hold."""
    return "changes not planned" if state == "empty" and held_back else shown_state(state, counts, expires_at)


def show(namespace: Namespace, json: Json = False) -> None:
    """Show a namespace with its own settings."""
    with open_store().connect("reader") as connection:
        row = connection.execute(_NAMESPACE, (namespace,)).fetchone()
        if row is None:
            raise unknown_namespace(connection, namespace)
    shown: dict[str, Any] = dict(zip(("namespace", "id", "read_only", "settings"), row, strict=True))
    if json:
        show_json(shown)
        return
    say(f"namespace: {row[0]}")
    say(f"id: {row[1]}")
    say(f"read-only: {'yes' if row[2] else 'no'}")
    if shown["settings"]:
        say("settings of its own, as arguments of `set`:")
        for argument in _arguments(shown["settings"]):
            say(f"  {one_line(argument, 10_000)}")
    else:
        say("settings of its own: none, so those of the store and the defaults hold")


def _arguments(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the settings as arguments of ``slowwave namespace set``, quoted for a shell."""
    for name, value in sorted(settings.items()):
        if isinstance(value, dict) and value:
            yield from _arguments(value, f"{prefix}{name}.")
        else:
            yield shlex.quote(f"{prefix}{name}={json_values.dumps(value, ensure_ascii=False)}")


def change(
    namespace: Namespace,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Settings, such as enabled=false or operations.NAME.enabled=true; values are JSON or text.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="KEY", help="A setting to remove, so that the default is used again."),
    ] = None,
    read_only: Annotated[
        bool | None,
        typer.Option("--read-only/--writable", help="Refuse or allow apply and undo. Agents may write in both cases."),
    ] = None,
    json: Json = False,
) -> None:
    """Change settings of a namespace, or make it read-only."""
    from slowwave.operations.setting_names import change_settings
    from slowwave.plans.switches import set_read_only

    given: dict[str, object] = {}
    for pair in settings or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Refused(f"{pair[:60]!r} is not a setting. Write it as KEY=VALUE; nothing was changed.")
        try:
            given[key] = json_values.loads(value)
        except ValueError:
            given[key] = value
    if not given and not remove and read_only is None:
        raise Refused("Give a setting as KEY=VALUE, --remove KEY, --read-only or --writable. Nothing was changed.")
    store = open_store()
    if given or remove:
        change_settings(store, namespace, given, remove or ())
    if read_only is not None:
        set_read_only(store, namespace, read_only=read_only)
    show(namespace, json=json)
    if isinstance(names := given.get("operations.resolve_conflicts.newest_wins"), list):
        _hint_at_unknown_relations(store, namespace, [str(name) for name in names])


def _hint_at_unknown_relations(store: Store, namespace: str, names: list[str]) -> None:
    """Print which relations of ``newest_wins`` no item of the latest plan has; they may be of later ones, so this is no error."""
    from slowwave.night.answers import find_unknown_relations

    unknown, known = find_unknown_relations(store, namespace, names)
    if not unknown:
        return
    listed = ", ".join(f"“{name}”" for name in known[:_RELATIONS])
    says = f" It has {listed}{' and others' if len(known) > _RELATIONS else ''}." if known else ""
    missing = ", ".join(f"“{name}”" for name in unknown)
    say(f"Hint: no conflict in the latest plan has the relation {missing}.{says}", console=err)


def remove(namespace: Namespace, json: Json = False) -> None:
    """Delete an empty namespace, or end the nights of another one.

    A namespace without live memory whose history is kept has no more nights. One with live memory is refused.
    """
    from slowwave.night.retention import remove_namespace
    from slowwave.text.tokens import counted

    done = remove_namespace(open_store(), namespace)
    if json:
        show_json(done.to_json())
        return
    if done.deleted:
        say(f"{namespace} is deleted. It held no memory and no plan, so nothing of it is kept.")
        return
    undo = f"for {counted(done.undo_retention_days, 'day')}" if done.undo_retention_days else "without limit"
    say(
        f"{namespace} holds no live memory, and its nights have ended (`enabled` is false). Its history is kept: plans, approvals and the "
        f"journal without limit, undo {undo}, reports and findings for {counted(done.retention_days, 'day')}."
    )
    for table, rows in sorted(done.kept.items()):
        say(f"{table}: {counted(rows, 'row')}", indent=2)
