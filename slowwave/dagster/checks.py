"""Asset checks: the store's contract, the invariants of what was applied, and the freshness alarms.

The contract is asked through Great Expectations inside Postgres, and only counts come back. What must hold of a row by itself is a
constraint of its table, and what guards apply are the invariants; the contract holds what is worth a warning and takes other rows to see.
Great Expectations takes seconds to import, and pandas with it, so only the process that checks does.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from slowwave.dagster.layout import DEFAULT, Layout, level_now
from slowwave.night.retention import Freshness, audited, decided, effective
from slowwave.night.run_events import Level, redact
from slowwave.plans.approval import InvariantResult, changed_as_planned, event_chain, retired_endpoints
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespaces
from slowwave.wiki.corpus.sync import chunks_have_vectors, folders_are_synced

_NAMESPACE_IDS: Final = "SELECT id FROM memory.namespaces WHERE slug = ANY(%s)"


@dataclass(frozen=True, slots=True)
class Promise:
    """One expectation about the rows of a query; ``kind`` is the class of ``great_expectations.expectations``."""

    about: str
    query: str
    kind: str
    arguments: Mapping[str, Any]


_TRUE: Final = {"column": "holds", "value_set": [True]}

PROMISES: Final = {
    "mention_counts_are_not_negative": Promise(
        "Counters are written as differences, and none ends below zero.",
        "SELECT mention_count, namespace_id FROM memory.entities",
        "ExpectColumnValuesToBeBetween",
        {"column": "mention_count", "min_value": 0},
    ),
    "memories_point_at_their_own_version": Promise(
        "The current version of a memory is a version of that memory.",
        "SELECT m.current_version_id IS NULL OR v.memory_id IS NOT DISTINCT FROM m.id AS holds, m.namespace_id FROM memory.memories m "
        "LEFT JOIN memory.memory_versions v ON v.id = m.current_version_id",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
    "merge_chains_end_at_live_rows": Promise(
        "Whoever follows a merged entity from survivor to survivor comes to one that is live.",
        "WITH RECURSIVE followed AS ("
        "SELECT id AS first, namespace_id, merged_into AS at, 1 AS steps FROM memory.entities WHERE merged_into IS NOT NULL "
        "UNION ALL SELECT f.first, f.namespace_id, e.merged_into, f.steps + 1 FROM followed f JOIN memory.entities e ON e.id = f.at "
        "WHERE e.merged_into IS NOT NULL AND f.steps < 100) "
        "SELECT bool_or(e.id IS NOT NULL AND e.merged_into IS NULL AND e.invalidated_at IS NULL) AS holds, f.namespace_id "
        "FROM followed f LEFT JOIN memory.entities e ON e.id = f.at GROUP BY f.first, f.namespace_id",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
    "memories_have_vectors": Promise(
        "Where memories have vectors, a fifth of the active ones at most has none: similarity does not see these.",
        "SELECT avg(CASE WHEN EXISTS (SELECT FROM memory.memory_vectors v WHERE v.id = m.id) THEN 0.0 ELSE 1.0 END)::float8 "
        "AS share, namespace_id FROM memory.memories m WHERE invalidated_at IS NULL AND state = 'active' AND EXISTS "
        "(SELECT FROM memory.memory_vectors v WHERE v.namespace_id = m.namespace_id) GROUP BY namespace_id",
        "ExpectColumnValuesToBeBetween",
        {"column": "share", "min_value": 0, "max_value": 0.2},
    ),
    "type_shares_are_steady": Promise(
        "No type of entities has gained or lost a quarter of all live entities since the last night, where there were twenty or more.",
        "WITH nights AS (SELECT DISTINCT ON (namespace_id) namespace_id, summary #> '{baselines,schema_drift}' AS seen FROM night.plans "
        "WHERE summary #> '{baselines,schema_drift,entity_frequencies}' IS NOT NULL ORDER BY namespace_id, recorded_at DESC), "
        "before AS (SELECT n.namespace_id, f.key AS type, f.value::float8 / (n.seen ->> 'entity_total')::float8 AS share "
        "FROM nights n, jsonb_each_text(n.seen -> 'entity_frequencies') f WHERE (n.seen ->> 'entity_total')::bigint >= 20), "
        "today AS (SELECT namespace_id, entity_type AS type, count(*) / sum(count(*)) OVER (PARTITION BY namespace_id) AS share "
        "FROM memory.entities WHERE invalidated_at IS NULL GROUP BY namespace_id, entity_type) "
        "SELECT coalesce(t.share, 0)::float8 - coalesce(b.share, 0) AS moved, coalesce(t.namespace_id, b.namespace_id) "
        "AS namespace_id FROM before b FULL JOIN today t ON t.namespace_id = b.namespace_id AND t.type = b.type "
        "WHERE coalesce(t.namespace_id, b.namespace_id) IN (SELECT namespace_id FROM before)",
        "ExpectColumnValuesToBeBetween",
        {"column": "moved", "min_value": -0.25, "max_value": 0.25},
    ),
    "nothing_is_recorded_in_the_future": Promise(
        "Rows were recorded, and retired, in the past; five minutes are left to clocks that differ.",
        "SELECT greatest(recorded_at, coalesce(invalidated_at, recorded_at)) <= now() + interval '5 minutes' AS holds, namespace_id FROM ("
        "SELECT recorded_at, invalidated_at, namespace_id FROM memory.entities "
        "UNION ALL SELECT recorded_at, invalidated_at, namespace_id FROM memory.relationships "
        "UNION ALL SELECT recorded_at, invalidated_at, namespace_id FROM memory.memory_facts "
        "UNION ALL SELECT recorded_at, invalidated_at, namespace_id FROM memory.memories) AS rows",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
    "recall_scores_are_in_range": Promise(
        "A recall has a score for each hit or none, and every score is a number from -1 up.",
        "SELECT cardinality(scores) IN (0, cardinality(hit_ids)) AND NOT EXISTS (SELECT FROM unnest(scores) s WHERE s IS NULL "
        "OR s IN ('NaN', 'Infinity') OR s < -1) AS holds, namespace_id FROM memory.recall_events",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
}
"""Promises that no constraint of a table can hold: about other rows, the last night, the time, or counters that meet in any order."""


# Invariants, and alarms.

INVARIANTS: Final[Mapping[str, Callable[[Connection, str], InvariantResult]]] = {
    "no_live_relationship_touches_a_retired_entity": retired_endpoints,
    "cells_changed_are_cells_planned": changed_as_planned,
    "event_chain_verifies": event_chain,
}

ALARMS: Final[Mapping[str, Callable[[Connection, Sequence[str]], Freshness]]] = {
    "namespaces_are_audited": audited,
    "plans_are_decided": decided,
    "applies_change_something": effective,
}
"""Alarms of ``night/applied``; no memory is at risk, so they are warnings."""

FOLDER_ALARMS: Final[Mapping[str, Callable[[Connection, Sequence[str]], Freshness]]] = {
    "folders_are_synced": folders_are_synced,
    "chunks_have_vectors": chunks_have_vectors,
}
"""Alarms of ``corpus/folders``."""


def build_checks(layout: Layout = DEFAULT) -> list[dg.AssetChecksDefinition]:
    """Build the asset checks; each covers the namespace of its run, or all namespaces if the run has no partition."""
    applied, folders = layout.key("night", "applied"), layout.key("corpus", "folders")

    @dg.multi_asset_check(
        name="contract",
        specs=[dg.AssetCheckSpec(name, asset=applied, description=promise.about) for name, promise in PROMISES.items()],
        can_subset=True,
    )
    def contract(
        context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.AssetCheckResult]:
        """Ask Postgres through Great Expectations."""
        yield from contract_results(store, _namespaces(context, store), applied, _chosen(context))

    @dg.multi_asset_check(
        name="invariants",
        specs=[dg.AssetCheckSpec(name, asset=applied, description=_about(run)) for name, run in INVARIANTS.items()],
        can_subset=True,
    )
    def invariants(
        context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.AssetCheckResult]:
        """Ask the database."""
        yield from invariant_results(store, _namespaces(context, store), applied, _chosen(context))

    @dg.multi_asset_check(
        name="freshness",
        specs=[
            dg.AssetCheckSpec(name, asset=asset, description=_about(run))
            for asset, alarms in ((applied, ALARMS), (folders, FOLDER_ALARMS))
            for name, run in alarms.items()
        ],
        can_subset=True,
    )
    def freshness(
        context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.AssetCheckResult]:
        """Ask the ledger, and look at the folders."""
        chosen, names = _chosen(context), _namespaces(context, store)
        with store.connect("reader") as connection:
            for asset, alarms in ((applied, ALARMS), (folders, FOLDER_ALARMS)):
                for name in [name for name in alarms if name in chosen]:
                    answer = alarms[name](connection, names)
                    yield dg.AssetCheckResult(
                        check_name=name,
                        asset_key=asset,
                        passed=not answer.late,
                        severity=dg.AssetCheckSeverity.WARN,
                        description=" ".join(answer.late)[:2000] or f"All {answer.looked_at:,} namespaces are well.",
                        metadata={"namespaces": answer.looked_at, "late": len(answer.late)},
                    )

    return [contract, invariants, freshness]


def evaluation(result: dg.AssetCheckResult, partition: str) -> dg.AssetCheckEvaluation:
    """Return a check's result as the event of one partition, for runs that serve several."""
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key or dg.AssetKey([]),
        check_name=result.check_name or "",
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=partition,
    )


def _about(run: Callable[..., object]) -> str:
    return " ".join((run.__doc__ or "").split("\n\n")[0].split())


def _chosen(context: dg.AssetCheckExecutionContext) -> set[str]:
    return {key.name for key in context.selected_asset_check_keys}


def _namespaces(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    run = context.op_execution_context
    return [run.partition_key] if run.has_partition_key else namespaces(store)


def invariant_results(
    store: Store, names: Sequence[str], asset: dg.AssetKey, chosen: Collection[str] = INVARIANTS.keys()
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of the chosen invariants over some namespaces."""
    with store.connect("reader") as connection:
        for name in [name for name in INVARIANTS if name in chosen]:
            answers = {namespace: INVARIANTS[name](connection, namespace) for namespace in names}
            broken = [f"{namespace}: {answer.sentence}" for namespace, answer in answers.items() if not answer.holds]
            yield dg.AssetCheckResult(
                check_name=name,
                asset_key=asset,
                passed=not broken,
                description=" ".join(broken or [a.sentence for a in answers.values()])[:2000],
                metadata={
                    "namespaces": len(answers),
                    "looked_at": sum(answer.looked_at for answer in answers.values()),
                    "wrong": sum(answer.wrong for answer in answers.values()),
                },
            )


def contract_results(
    store: Store, names: Sequence[str], asset: dg.AssetKey, chosen: Collection[str] = PROMISES.keys()
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of the chosen promises of the contract over some namespaces."""
    promises = {name: promise for name, promise in PROMISES.items() if name in chosen}
    level = level_now(store, *names)
    for name, result in validate(store, list(names), promises).items():
        found: Mapping[str, Any] = result.result or {}
        wrong = errors_of(result)
        looked_at = int(found.get("element_count") or 0)
        unexpected = int(found.get("unexpected_count") or 0)
        yield dg.AssetCheckResult(
            check_name=name,
            asset_key=asset,
            passed=bool(result.success) and not wrong,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"It could not be asked: {_raised(wrong[0], level)}"
            if wrong
            else f"{unexpected:,} of {looked_at:,} rows break it.",
            metadata={"looked_at": looked_at, "unexpected": unexpected},
        )


def _raised(message: str, level: Level) -> str:
    return "its error may quote rows, and is hidden." if level == "all" else str(redact(message, level))


def validate(store: Store, namespaces: list[str], promises: Mapping[str, Promise]) -> dict[str, Any]:
    """Great Expectations' result of each promise about the rows of ``namespaces``, as the reader's role."""
    import great_expectations as gx  # seconds to import
    import great_expectations.expectations as gxe
    from sqlalchemy import event

    with store.connect("reader") as connection:  # says in a sentence what is wrong with the database, if anything is
        rows = connection.execute(_NAMESPACE_IDS, (namespaces,)).fetchall()
    ids = ", ".join(f"'{uuid.UUID(str(id_))}'" for (id_,) in rows) or "NULL"
    reader = Store(store.logins.get("reader", store.owner)).sqlalchemy_url()
    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    unprepared = {"connect_args": {"prepare_threshold": None}}  # as behind a pooler
    source = context.data_sources.add_postgres("store", connection_string=reader, kwargs=unprepared)
    event.listen(source.get_execution_engine().engine, "begin", _become_reader)
    results: dict[str, Any] = {}
    for name, promise in promises.items():
        query = f"SELECT * FROM ({promise.query}) q WHERE namespace_id IN ({ids})"  # noqa: S608 - ids are checked UUIDs
        batch = source.add_query_asset(name, query=query).add_batch_definition_whole_table("all").get_batch()
        results[name] = batch.validate(getattr(gxe, promise.kind)(**promise.arguments), result_format="BASIC")
    return results


def _become_reader(connection: Any) -> None:
    connection.exec_driver_sql("SET LOCAL ROLE slowwave_reader")


def errors_of(result: Any) -> list[str]:
    """Return the errors that an expectation raised.

    ``exception_info`` holds them, flat or nested under the id of a metric.
    """
    info = result.exception_info or {}
    shapes = [info, *(nested for nested in info.values() if isinstance(nested, Mapping))]
    return [
        str(shape.get("exception_message") or "an error without a message").splitlines()[0][:300]
        for shape in shapes
        if shape.get("raised_exception")
    ]
