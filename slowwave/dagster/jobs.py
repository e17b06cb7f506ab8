"""Jobs that need no decision of a person, and the schedules: nights, folders, proposals, deep passes, retention, checks, the status page.

Which work is due belongs to the library. A job here calls it for one namespace or more, and reports the result.
"""

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from slowwave.dagster.assets import planned_nights
from slowwave.dagster.checks import ALARMS
from slowwave.dagster.events import Reported
from slowwave.dagster.layout import (
    DEFAULT,
    STORE_PROBLEMS,
    Layout,
    Timetable,
    error_text,
    level_now,
    namespaces,
    redacted_errors,
    reported_failures,
)
from slowwave.errors import DreamCancelled, DreamLockUnavailable
from slowwave.night.retention import retain
from slowwave.night.run_events import in_words
from slowwave.night.status import Closed, due
from slowwave.operations import WEEKLY
from slowwave.plans.ledger import expire_plans
from slowwave.sources.following import look_at_stores
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_id, namespace_settings
from slowwave.store.namespaces import namespaces as stored_namespaces
from slowwave.store.settings import zone_of

if TYPE_CHECKING:
    from slowwave.wiki.deep.run import DeepClosed

# Nights. One run serves many namespaces: a run for each would load definitions, connections and models again for every one of them.

NIGHT_CONFIG: Final = {
    "namespaces": dg.Field([str], description="Names of namespaces."),
    "operations": dg.Field(
        str,
        default_value="",
        description="Names separated by commas, `all`, or `weekly` for the weekly ones as well; by default what the settings switch on.",
    ),
    "force": dg.Field(bool, default_value=False, description="Plan even if nothing changed since the last night."),
}


def night_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``night_job``, which runs the nights of a list of namespaces and ends before the gate.

    Dagster's own runs of several partitions are contiguous ranges of keys that report every key in them. Which namespaces a night
    changes is known only at its end, so the op reports each event with its partition itself.
    """

    @dg.op(config_schema=NIGHT_CONFIG, out=dg.Out(dg.Nothing))
    def plan_nights(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[Reported]:
        """Snapshot, audit and plan each namespace. One that fails is named at the end and does not stop the others."""
        config = context.op_config
        names = list(dict.fromkeys(config["namespaces"]))
        with reported_failures():
            known = set(stored_namespaces(store))
        if unknown := sum(name not in known for name in names):
            # Their names are not repeated: a value of the configuration may be taken from the environment.
            raise dg.Failure(
                f"{unknown:,} of {len(names):,} names are no namespaces of this store. `slowwave namespace list` lists them. "
                "Nothing was planned.",
                allow_retries=False,
            )
        yield from planned_nights(
            *(context, store, layout, names), ops=config["operations"].strip() or None, force=config["force"]
        )

    @dg.job(
        name="night_job",
        description="The nights of some namespaces: snapshot, models, audits, planners, sealed plan. It ends before the gate.",
    )
    def job() -> None:
        """Run one op."""
        plan_nights()

    return job


TILES_CONFIG: Final = {
    "namespace": dg.Field(str, description="Name of the namespace."),
    "operations": NIGHT_CONFIG["operations"],
    "tiles": dg.Field(int, default_value=16, description="Tiles of each search, at most."),
}


@dg.executor(
    name="processes_where_allowed",
    config_schema=dg.multiprocess_executor.config_schema.as_field(),
    requirements=dg.multiple_process_executor_requirements(),
)
def processes_where_allowed(init: dg.InitExecutorContext) -> dg.Executor:
    """Run each step in a process, or all in this one if it may not have any, as the runs of a Celery worker."""
    alone = multiprocessing.current_process().daemon
    created = (dg.in_process_executor if alone else dg.multiprocess_executor).executor_creation_fn
    if created is None:
        raise TypeError(
            "This version of Dagster creates its executors in another way. Install the version of constraints.txt."
        )
    return created(init)


def tiled_night_job(layout: Layout = DEFAULT, executor: dg.ExecutorDefinition | None = None) -> dg.JobDefinition:
    """Build ``tiled_night_job``, the night of one huge namespace, whose candidate search many workers share.

    Tables and results of the search are files of the snapshot; the steps pass only their names to each other.
    """

    # An output with `is_required=False` that yields no tile would skip the last step: a small namespace would have no night.
    @dg.op(config_schema=TILES_CONFIG, out={"night": dg.Out(dict), "tiles": dg.DynamicOut(list)})
    def divide_candidate_search(
        context: dg.OpExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.Output[Any] | dg.DynamicOutput[Any]]:
        """Take the snapshot, and save the tables of its searches. A namespace that is too large for a worker is refused."""
        from slowwave.night.night import divide_search  # brings all of the engine, which definitions do without

        config = context.op_config
        name, operations = config["namespace"], config["operations"].strip()
        with reported_failures(), redacted_errors(level_now(store, name)):
            divided = divide_search(store, name, config["tiles"], ops=operations or None)
        if not divided.tiles:
            context.log.info(
                f"The candidate search of {name} is too small or too dense to divide, so the last step does all of it."
            )
        for tile in divided.tiles:
            yield dg.DynamicOutput(list(tile), f"{tile.search[:8]}_{tile.number}", "tiles")
        night = {"namespace": name, "operations": operations, "snapshot_id": divided.snapshot_id}
        yield dg.Output({**night, "taken_at": divided.taken_at.isoformat()}, "night")

    @dg.op
    def search_tile(context: dg.OpExecutionContext, tile: list[Any]) -> list[Any]:
        """Search one tile, and save the pairs that it finds."""
        from slowwave.snapshots import tiles

        with reported_failures():
            context.add_output_metadata({"pairs": tiles.search_tile(tiles.Tile(*tile))})
        return tile

    @dg.op(out=dg.Out(dg.Nothing))
    def plan_tiled_night(
        context: dg.OpExecutionContext, store: dg.ResourceParam[Store], night: dict[str, str], tiles: list[Any]
    ) -> Iterator[Reported]:
        """Audit and plan the namespace with the pairs of all tiles; the plan is that of ``night_job``."""
        from slowwave.night.night import Tiles
        from slowwave.snapshots.tiles import Tile

        taken_at = datetime.fromisoformat(night["taken_at"])
        searched = Tiles(night["snapshot_id"], taken_at, [Tile(*tile) for tile in tiles])
        operations = night["operations"] or None
        yield from planned_nights(
            *(context, store, layout, [night["namespace"]]), ops=operations, force=True, tiles=searched
        )

    @dg.job(
        name="tiled_night_job",
        executor_def=executor or processes_where_allowed,
        description="The night of one huge namespace: many workers share the search of candidates. It ends before the gate.",
    )
    def job() -> None:
        """Divide, search each tile, and plan."""
        night, tiles = divide_candidate_search()
        plan_tiled_night(night, tiles.map(search_tile).collect())

    return job


def night_config(names: Sequence[str], operations: str = "") -> dict[str, object]:
    """Return the run config of ``night_job``."""
    config = {"namespaces": list(names), **({"operations": operations} if operations else {})}
    return {"ops": {"plan_nights": {"config": config}}}


def namespaces_in(run: dg.DagsterRun) -> frozenset[str]:
    """Return the namespaces that a run works on, as far as its tags and its config name them."""
    config: Any = run.run_config
    ops = config.get("ops", {})
    given = ops.get("plan_nights", {}).get("config", {}).get("namespaces", [])
    tiled = ops.get("divide_candidate_search", {}).get("config", {}).get("namespace")
    partition = run.tags.get("dagster/partition")
    return frozenset((*given, *(name for name in (tiled, partition) if name)))


# Jobs of one namespace.


def corpus_sync_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``corpus_sync_job``, which syncs the folders that a namespace follows."""

    @dg.op(out=dg.Out(dg.Nothing))
    def sync_folders(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Sync one folder after the other; one that is missing does not stop the others."""
        from slowwave.store.configured_models import embedder_for
        from slowwave.wiki.corpus.corpora import (
            corpora_of,  # reading Markdown and embedding, which definitions do without
        )
        from slowwave.wiki.corpus.sync import sync_corpus

        name = context.partition_key
        counts = dict.fromkeys(("new", "changed", "moved", "gone", "unchanged", "left_out", "chunks_embedded"), 0)
        failed: list[str] = []
        with reported_failures(), store.connect("reader") as connection:
            corpora = [one for one in corpora_of(connection, namespace_id(connection, name)) if one.folder]
            embedder = embedder_for(namespace_settings(connection, name))
        for corpus in corpora:
            try:
                with store.connect("owner") as connection:
                    done = sync_corpus(connection, name, corpus, embedder)
            except STORE_PROBLEMS as problem:
                failed.append(error_text(problem))
                continue
            for count in counts:
                found = getattr(done, count)
                counts[count] += found if isinstance(found, int) else len(found)
        metadata = {"folders": len(corpora), "failed": len(failed), **counts}
        context.log_event(dg.AssetMaterialization(layout.key("corpus", "folders"), metadata=metadata, partition=name))
        if failed:
            raise dg.Failure(" ".join(failed)[:2000], allow_retries=False)

    @dg.job(
        name="corpus_sync_job",
        partitions_def=namespaces,
        description="Bring the documents of one namespace to what the folders that it follows hold. `changed_folders` starts it.",
    )
    def job() -> None:
        """Run one op."""
        sync_folders()

    return job


def proposals_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``proposals_job``, which seals what agents proposed in a namespace as plans that wait for approval."""

    @dg.op(out=dg.Out(dg.Nothing))
    def settle_proposals(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Seal each proposal as a plan that waits for approval, and approve or reject what tokens decided. Nothing is applied."""
        from slowwave.wiki.proposals import settle

        with reported_failures():
            done = settle(store, context.partition_key, wait=60.0)
        counts = {name: len(getattr(done, name)) for name in ("sealed", "refused", "signed", "rejected")}
        key = layout.key("proposals", "plans")
        context.log_event(dg.AssetMaterialization(key, metadata=counts, partition=context.partition_key))

    @dg.job(
        name="proposals_job",
        partitions_def=namespaces,
        description="Seal what agents proposed in one namespace as plans that wait for approval. `open_proposals` starts it.",
    )
    def job() -> None:
        """Run one op."""
        settle_proposals()

    return job


def deep_job() -> dg.JobDefinition:
    """Build ``deep_job``, which runs a deep pass of a namespace unless a gate is closed."""

    @dg.op(out=dg.Out(dg.Nothing))
    def deep_pass_of_namespace(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Let a model work on a scratch copy, and seal its changes as a plan for a person.

        A closed gate and a namespace that another run holds are no failures; a change outside the scratch copy is.
        """
        from slowwave.wiki.deep.run import run_deep

        name = context.partition_key
        with reported_failures(), redacted_errors(level_now(store, name)):
            try:
                done = run_deep(
                    *(store, name),
                    trigger="schedule",
                    reason="the weekly schedule",
                    dagster_run_id=context.run_id,
                )
            except (DreamLockUnavailable, DreamCancelled) as ended:
                context.log.info(str(ended))
                return
        if done.closed:
            context.log.info(f"{name}: {done.closed.sentence}")
        elif done.night and done.night.plan:
            context.add_output_metadata(
                {
                    "run_id": done.night.run_id,
                    "plan_hash": done.night.plan.plan_hash,
                    "new_items": done.night.new_items,
                }
            )

    @dg.job(
        name="deep_job",
        partitions_def=namespaces,
        description="A deep pass of one namespace: a model works on a scratch copy, and its changes become a plan. Off by default.",
    )
    def job() -> None:
        """Run one op."""
        deep_pass_of_namespace()

    return job


# Jobs of all namespaces.


def retention_job() -> dg.JobDefinition:
    """Build ``retention_job``, which removes what is past its retention in every namespace."""

    @dg.op(out=dg.Out(dg.Nothing))
    def remove_expired(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Clean one namespace after the other; one that cannot be read does not stop the others."""
        total: dict[str, int] = {}
        failed: list[str] = []
        with reported_failures():
            names = stored_namespaces(store)
        for name in names:
            try:
                with store.connect("reader") as connection:
                    settings = namespace_settings(connection, name)
                removed = retain(store, name, settings)
            except STORE_PROBLEMS as problem:
                failed.append(f"{name}: {error_text(problem)}")
                continue
            except Exception as problem:  # noqa: BLE001 - the other namespaces follow, whatever it is
                failed.append(f"{name}: {in_words(problem, 'all')}.")
                continue
            if any(removed.values()):
                counts = ", ".join(f"{n:,} {kind}" for kind, n in removed.items() if n)
                context.log.info(f"{name}: {counts} removed.")
            total = {kind: total.get(kind, 0) + n for kind, n in removed.items()}
        context.add_output_metadata({"namespaces": len(names), **total})
        if failed:
            raise dg.Failure(" ".join(failed)[:2000], allow_retries=False)

    @dg.job(
        name="retention_job",
        description="Remove what is past its retention: report files, findings, token counts, items nobody will decide, before-images.",
    )
    def job() -> None:
        """Run one op."""
        remove_expired()

    return job


def checks_jobs(layout: Layout = DEFAULT) -> list[Any]:
    """Build ``checks_job`` (all asset checks of applied plans and folders) and ``freshness_job`` (their alarms alone)."""
    applied, folders = layout.key("night", "applied"), layout.key("corpus", "folders")
    of_folders = dg.AssetSelection.checks_for_assets(folders)
    return [
        dg.define_asset_job(
            "checks_job",
            selection=dg.AssetSelection.checks_for_assets(applied) | of_folders,
            description="The invariants, the store's contract, and whether folders are synced and indexed, for all namespaces.",
        ),
        dg.define_asset_job(
            "freshness_job",
            selection=dg.AssetSelection.checks(*(dg.AssetCheckKey(applied, name) for name in ALARMS)) | of_folders,
            description="The freshness alarms, for all namespaces.",
        ),
    ]


def status_job(layout: Layout = DEFAULT) -> Any:
    """Build ``status_job``, which writes the status page; a run of its schedule sends the page to the webhook, if one is set."""
    return dg.define_asset_job(
        "status_job",
        selection=dg.AssetSelection.assets(layout.key("night", "status")),
        description="The status of every namespace, as one page. A run of the schedule sends it to the webhook, if one is set.",
    )


# Schedules.


def build_schedules(jobs: Mapping[str, Any], timetable: Timetable | None = None) -> list[dg.ScheduleDefinition]:
    """Build the schedules of ``jobs`` (by name), all of which run from the start."""
    when = timetable or Timetable.from_settings()
    running: Any = {"execution_timezone": when.time_zone, "default_status": dg.DefaultScheduleStatus.RUNNING}
    nightly_days = None if len(when.days) == 7 else when.days
    return [
        _nightly(jobs["night_job"], when, cron=when.cron(days=nightly_days), running=running),
        _weekly_deep(jobs["deep_job"], when, running=running),
        dg.ScheduleDefinition(
            name="freshness_alarms",
            job=jobs["freshness_job"],
            cron_schedule="0 */6 * * *",
            description="Every six hours: warns of namespaces that nobody audits, plans that nobody reads, applies that change nothing.",
            **running,
        ),
        dg.ScheduleDefinition(
            name="daily_retention",
            job=jobs["retention_job"],
            cron_schedule=when.cron(1, 30),
            description=f"At {when.at(1, 30)}: removes what is past its retention, in every namespace.",
            **running,
        ),
        dg.ScheduleDefinition(
            name="morning_status",
            job=jobs["status_job"],
            cron_schedule=when.cron(3),
            description=f"At {when.at(3)}, after the nights: the status of every namespace, as a page, and to the webhook if one is set.",
            **running,
        ),
    ]


def _nightly(job: dg.JobDefinition, when: Timetable, *, cron: str, running: Any) -> dg.ScheduleDefinition:
    @dg.schedule(
        name="nightly",
        job=job,
        cron_schedule=cron,
        description=f"At {when.at()}: nights of all namespaces for which no gate is closed, {when.nights_per_run} in a run; once a week "
        "with the weekly operations where they have enough to do.",
        **running,
    )
    def nightly(
        context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Leave namespaces without a partition to the next night; report a closed gate by its name."""
        at = context.scheduled_execution_time.astimezone(zone_of(when.time_zone))
        with_weekly = at.isoweekday() == max(when.days)
        try:
            expire_plans(store)
            problems = look_at_stores(store)
            known = set(context.instance.get_dynamic_partitions(str(namespaces.name)))
            nights = {name: due(store, name, weekly=with_weekly) for name in stored_namespaces(store) if name in known}
            sizes = when.sizes(store, list(nights))
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        closed = in_short([one.closed for one in nights.values() if one.closed])
        requests: list[dg.RunRequest] = []
        for operations in ("", WEEKLY):
            names = [name for name, one in nights.items() if one.night and one.weekly == bool(operations)]
            for size in sorted({sizes[name] for name in names}):
                of_size = [name for name in names if sizes[name] == size]
                for start in range(0, len(of_size), when.nights_per_run):
                    group = of_size[start : start + when.nights_per_run]
                    key = f"{at:%Y-%m-%d}:{operations or 'nightly'}:{start // when.nights_per_run}"
                    key += f":{size}" if size else ""
                    config = night_config(group, operations)
                    requests.append(dg.RunRequest(run_key=key, run_config=config, tags=when.run_tags.get(size)))
        if not requests:
            return dg.SkipReason(" ".join(closed) or "There is no namespace yet.")
        for sentence in (*closed, *problems):
            context.log.info(sentence)
        return requests

    return nightly


def _weekly_deep(job: dg.JobDefinition, when: Timetable, *, running: Any) -> dg.ScheduleDefinition:
    @dg.schedule(
        name="weekly_deep",
        job=job,
        cron_schedule=when.cron(2, days=[max(when.days)]),
        description=f"Once a week at {when.at(2)}: a deep pass of every namespace in which it is switched on and for which no gate is "
        "closed.",
        **running,
    )
    def weekly_deep(
        context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Request a deep pass for each namespace after the nightly schedule; report closed gates, unless the deep pass is off."""
        from slowwave.wiki.deep.run import deep_gates

        try:
            known = set(context.instance.get_dynamic_partitions(str(namespaces.name)))
            found = {name: closed for name, closed in deep_gates(store).items() if name in known}
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        closed = [gate for gate in found.values() if gate]
        for sentence in in_short([gate for gate in closed if gate.gate != "disabled"]):
            context.log.info(sentence)
        date = f"{context.scheduled_execution_time:%Y-%m-%d}"
        requests = [
            dg.RunRequest(run_key=f"deep:{date}:{name}", partition_key=name)
            for name, closed in found.items()
            if closed is None
        ]
        return requests or dg.SkipReason(" ".join(in_short(closed)) or "There is no namespace yet.")

    return weekly_deep


_NAMED: Final = 10
"""Maximum number of namespaces that one gate holds back and a tick lists one by one."""


def in_short(closed: "Sequence[Closed | DeepClosed]") -> list[str]:
    """Return the sentences of closed gates; of a gate that holds back more than ``_NAMED`` namespaces, their number and the first."""
    by_gate: dict[str, list[Closed | DeepClosed]] = {}
    for one in closed:
        by_gate.setdefault(one.gate, []).append(one)
    found: list[str] = []
    for gate, same in by_gate.items():
        if len(same) <= _NAMED:
            found += map(str, same)
        else:
            found.append(f"{gate}: {len(same):,} namespaces, the first of which: {same[0].sentence}")
    return found
