"""A folder becomes a plan: read and staged, held against what the namespace holds, and sealed as a proposal that waits for an approval.

Nothing is written before all of it is known to be good: not the namespace, where there is none yet, and no row. A dry run writes nothing at
all and asks no model. A run that is ended anywhere is taken up by the same call: what was read is read again, and what a model answered is
kept.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from slowwave.config.settings import Settings
from slowwave.corpus.folder_scan import LeftOut
from slowwave.errors import Refused
from slowwave.imports.namespaces import claim, namespace_id, refuse_read_only
from slowwave.imports.rows import chosen_slug
from slowwave.language.writer import consolidator_for
from slowwave.migrating.kept_answers import keep_answer, kept_answers
from slowwave.migrating.migration import Migration, Tell, migration
from slowwave.migrating.migration_items import migration_items
from slowwave.migrating.migration_report import counters, report_json
from slowwave.migrating.model_reading import OPERATION, PageReader
from slowwave.migrating.source_files import source_folder
from slowwave.migrating.staged_page import slug
from slowwave.migrating.staging import Staging, stage
from slowwave.night.outcome import Night
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.reports.model import Report
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.schema import SNAPSHOT_TABLES, arrow_schema
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces, refuse_connected
from slowwave.store.tables import VECTORS
from slowwave.texts.screened import each_text_once

_MIGRATED: Final = """
SELECT r.parameters #>> '{proposal,of}' FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE n.slug = %s AND r.parameters #>> '{proposal,operation}' = %s ORDER BY r.started_at DESC
"""
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"
_NAMED: Final = 10
"""Bad files that a refusal names."""


@dataclass(frozen=True, slots=True)
class PlannedMigration:
    """What a migration came to; ``night`` is its plan, None for a dry run. ``made`` says that the namespace was made for it."""

    found: Migration
    night: Night | None = None
    made: bool = False
    duration_ms: int = 0
    items: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As ``--json`` shows it."""
        return {
            **report_json(self.found, self.duration_ms),
            "dry_run": self.night is None,
            "items": dict(self.items),
            "plan_hash": self.night.plan.plan_hash if self.night and self.night.plan else None,
            "plan_state": self.night.state if self.night else None,
            "plan_run_id": self.night.run_id if self.night else None,
        }


@each_text_once()
def planned_migration(
    store: Store,
    folder: Path,
    namespace: str,
    *,
    model: bool = False,
    skip_bad: bool = False,
    dry_run: bool = False,
    tell: Tell | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> PlannedMigration:
    """Migrate a folder, an archive or a file to a namespace: the result is a plan to approve, and with ``dry_run`` what it would be.

    A folder goes by its name, and a second one of that name by its name and a part of a hash of where it lies: their plans stand beside
    each other, and so do their pages. ``model`` lets the model of ``consolidation_model`` read what the rules leave as evidence, within
    the budget of tokens. Raises ``Refused`` for a folder without anything to read, for files that cannot be taken unless ``skip_bad``
    leaves them out, for a namespace that is read-only, and as ``seal_proposal`` does; nothing is written then.
    """
    began = clock()
    chosen_slug(namespace)
    source = source_folder(folder)
    there = namespace in namespaces(store)
    key = hashlib.sha256(str(source.root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    if there:
        source.label = _label(store, namespace, source.label, key)
    staging = stage(source, None if tell is None else lambda done, total: tell("read", done, total))
    if not dry_run:
        _refuse_bad(staging, skip_bad=skip_bad)
        if there:
            with store.connect("reader") as connection:
                refuse_read_only(connection, [namespace])
                refuse_connected(connection, [namespace])
    if model and not dry_run:
        _refuse_without_model(store, namespace, there=there)
    found: list[Migration] = []
    counts: Counter[str] = Counter()
    if dry_run or not there:  # what may not be planned is refused before the namespace is made
        snapshot = export_snapshot(store, namespace) if there else _empty(namespace)
        found.append(migration(namespace, staging, snapshot, snapshot.taken_at, None, tell))
        items = migration_items(found[0], snapshot, Settings.for_namespace(snapshot.settings), None)
        counts.update(item.decision for item in items)
        if dry_run:
            return PlannedMigration(found[0], None, False, _since(began, clock), counts)
    if not there:
        if not counts and not model:
            raise Refused(
                f"Nothing of {staging.label} can be migrated, so {namespace} was not made. See what --dry-run says."
            )
        _make(store, namespace)

    def propose(inputs: Inputs) -> Proposal:
        found[:] = [_migration(store, namespace, staging, inputs, tell, model=model)]
        items = migration_items(found[0], inputs.snapshot, inputs.settings, inputs.embed)
        counts.clear()
        counts.update(item.decision for item in items)
        numbers: dict[str, int | float] = {**counters(found[0]), "claims": found[0].claims, "items": len(items)}
        headline = f"{len(items):,} items of {len(staging.files):,} files of {staging.label} would be migrated."
        return Proposal(tuple(items), Report(OPERATION, headline, numbers=numbers))

    night = seal_proposal(store, namespace, OPERATION, propose, of=f"{key} {staging.label}")
    return PlannedMigration(found[0], night, not there, _since(began, clock), counts)


def _label(store: Store, namespace: str, name: str, key: str) -> str:
    """What a folder of this name is called among the places of its namespace: the name that it was migrated under before, its own where no
    other folder has that, else its own with the ``key`` of where it lies.
    """
    with store.connect("reader") as connection:
        rows = connection.execute(_MIGRATED, (namespace, OPERATION)).fetchall()
    called = [(other, label) for other, _, label in (str(of).partition(" ") for (of,) in rows)]
    mine = [label for other, label in called if other == key and label in (name, f"{name}-{key}")]
    taken = any(slug(label) == slug(name) for _, label in called)
    return mine[0] if mine else f"{name}-{key}" if taken else name


def _migration(
    store: Store, namespace: str, staging: Staging, inputs: Inputs, tell: Tell | None, *, model: bool
) -> Migration:
    reader = None
    if model and inputs.consolidator is not None:
        chat = inputs.consolidator
        of_namespace = inputs.snapshot.namespace_id
        reader = PageReader(
            chat,
            inputs.budget,
            kept_answers(store, of_namespace, chat.model),
            lambda key, answer: keep_answer(store, of_namespace, chat.model, key, answer),
        )
    return migration(namespace, staging, inputs.snapshot, inputs.snapshot.taken_at, reader, tell)


def _refuse_bad(staging: Staging, *, skip_bad: bool) -> None:
    if not staging.bad or skip_bad:
        return
    named = "; ".join(_named(out) for out in staging.bad[:_NAMED])
    more = f"; and {len(staging.bad) - _NAMED:,} more" if len(staging.bad) > _NAMED else ""
    raise Refused(
        f"{len(staging.bad):,} of the files cannot be taken: {named}{more}. Nothing was planned. Correct them, or leave them out with "
        "--skip-bad."
    )


def _named(out: LeftOut) -> str:
    return f"{out.path}{f', line {out.line}' if out.line else ''}: {out.reason}"


def _refuse_without_model(store: Store, namespace: str, *, there: bool) -> None:
    settings = Settings.for_namespace(_own_settings(store, namespace) if there else {})
    if consolidator_for(settings) is None:
        raise Refused(
            "There is no model that could read the pages. Nothing was planned. Set SLOWWAVE_CONSOLIDATION_MODEL and "
            "SLOWWAVE_WRITER_ENDPOINT, or migrate without --model."
        )


def _own_settings(store: Store, namespace: str) -> Mapping[str, object]:
    with store.connect("reader") as connection:
        row = connection.execute(_NAMESPACE_SETTINGS, (namespace,)).fetchone()
    found: Any = row[0] if row else {}
    return found if isinstance(found, dict) else {}


def _make(store: Store, namespace: str) -> None:
    with store.connect("owner") as connection, connection.transaction():
        claim(connection, namespace, Counter(), Settings.for_namespace({}).embedding_model)


def _empty(namespace: str) -> Snapshot:
    """What a namespace holds that is not there yet."""
    tables = {name: arrow_schema(table).empty_table() for name, table in SNAPSHOT_TABLES.items()}
    vectors = {name: Vectors.empty() for name in VECTORS}
    return Snapshot(namespace_id(namespace), namespace, "none", datetime.now(UTC), 0, tables=tables, vectors=vectors)


def _since(began: float, clock: Callable[[], float]) -> int:
    return round((clock() - began) * 1000)
