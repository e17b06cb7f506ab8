"""The store's contract in Great Expectations, validated inside Postgres: only counts come back.

The package takes seconds to import, so only the process that checks does it. What guards apply are the invariants, not this.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from memory_assets.applied import applied
from memory_assets.checks.scope import namespaces_of
from resources.redaction import level_now
from slowwave.reports.redaction import Level, redact
from slowwave.store.connect import Store


@dataclass(frozen=True, slots=True)
class Promise:
    """One expectation about the rows of a query; ``kind`` is the class of ``great_expectations.expectations``."""

    about: str
    query: str
    kind: str
    arguments: Mapping[str, Any]


_TRUE: Final = {"column": "holds", "value_set": [True]}

PROMISES: Final = {
    "entity_ids_are_unique": Promise(
        "No two entities have one id.",
        "SELECT id::text AS id, namespace_id FROM memory.entities",
        "ExpectColumnValuesToBeUnique",
        {"column": "id"},
    ),
    "entity_confidence_is_a_share": Promise(
        "The confidence of an entity lies between 0 and 1.",
        "SELECT confidence, namespace_id FROM memory.entities",
        "ExpectColumnValuesToBeBetween",
        {"column": "confidence", "min_value": 0, "max_value": 1},
    ),
    "mention_counts_are_not_negative": Promise(
        "Counters are deltas, and none goes below zero.",
        "SELECT mention_count, namespace_id FROM memory.entities",
        "ExpectColumnValuesToBeBetween",
        {"column": "mention_count", "min_value": 0},
    ),
    "merged_entities_are_retired": Promise(
        "An entity that was merged into another is invalidated.",
        "SELECT merged_into IS NULL OR invalidated_at IS NOT NULL AS holds, namespace_id FROM memory.entities",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
    "relationship_weights_are_not_negative": Promise(
        "The weight of a relationship is zero or more.",
        "SELECT weight, namespace_id FROM memory.relationships",
        "ExpectColumnValuesToBeBetween",
        {"column": "weight", "min_value": 0},
    ),
    "memories_point_at_their_own_version": Promise(
        "The current version of a memory is a version of that memory.",
        "SELECT m.current_version_id IS NULL OR v.memory_id = m.id AS holds, m.namespace_id FROM memory.memories m "
        "LEFT JOIN memory.memory_versions v ON v.id = m.current_version_id",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
    "validity_does_not_end_before_it_begins": Promise(
        "A row's time in the world ends after it begins.",
        "SELECT valid_to IS NULL OR valid_from IS NULL OR valid_to >= valid_from AS holds, namespace_id FROM memory.entities "
        "UNION ALL SELECT valid_to IS NULL OR valid_from IS NULL OR valid_to >= valid_from, namespace_id FROM memory.memories",
        "ExpectColumnValuesToBeInSet",
        _TRUE,
    ),
}


@dg.multi_asset_check(
    name="contract",
    specs=[dg.AssetCheckSpec(name, asset=applied.key, description=promise.about) for name, promise in PROMISES.items()],
    can_subset=True,
)
def contract(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.AssetCheckResult]:
    """Ask Postgres through Great Expectations, for the run's namespace or for all."""
    chosen = {key.name for key in context.selected_asset_check_keys}
    promises = {name: promise for name, promise in PROMISES.items() if name in chosen}
    namespaces = namespaces_of(context, store)
    level = level_now(store, *namespaces)
    for name, result in validate(store, namespaces, promises).items():
        found: Mapping[str, Any] = result.result or {}
        wrong = errors_of(result)
        looked_at = int(found.get("element_count") or 0)
        unexpected = int(found.get("unexpected_count") or 0)
        yield dg.AssetCheckResult(
            check_name=name,
            asset_key=applied.key,
            passed=bool(result.success) and not wrong,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"It could not be asked: {_raised(wrong[0], level)}"
            if wrong
            else f"{unexpected:,} of {looked_at:,} rows break it.",
            metadata={"looked_at": looked_at, "unexpected": unexpected},
        )


def _raised(message: str, level: Level) -> str:
    return "what it raised may quote rows, and is hidden." if level == "all" else str(redact(message, level))


def validate(store: Store, namespaces: list[str], promises: Mapping[str, Promise]) -> dict[str, Any]:
    """Great Expectations' result of each promise about the rows of ``namespaces``, as the reader's role."""
    import great_expectations as gx  # seconds to import
    import great_expectations.expectations as gxe
    from sqlalchemy import make_url

    with store.connect("reader") as connection:  # says in a sentence what is wrong with the database, if anything is
        rows = connection.execute("SELECT id FROM memory.namespaces WHERE slug = ANY(%s)", (namespaces,)).fetchall()
    ids = ", ".join(f"'{uuid.UUID(str(id_))}'" for (id_,) in rows) or "NULL"
    reader = Store(store.logins.get("reader", store.owner)).sqlalchemy_url()
    url = make_url(reader).update_query_dict({"options": "-c role=slowwave_reader"})
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_postgres("store", connection_string=url.render_as_string(hide_password=False))
    results: dict[str, Any] = {}
    for name, promise in promises.items():
        query = f"SELECT * FROM ({promise.query}) q WHERE namespace_id IN ({ids})"  # noqa: S608 - ids are checked UUIDs
        batch = source.add_query_asset(name, query=query).add_batch_definition_whole_table("all").get_batch()
        results[name] = batch.validate(getattr(gxe, promise.kind)(**promise.arguments), result_format="BASIC")
    return results


def errors_of(result: Any) -> list[str]:
    """What an expectation raised: it says so in ``exception_info``, flat, or nested under the id of a metric."""
    info = result.exception_info or {}
    shapes = [info, *(nested for nested in info.values() if isinstance(nested, Mapping))]
    return [
        str(shape.get("exception_message") or "an error without a message").splitlines()[0][:300]
        for shape in shapes
        if shape.get("raised_exception")
    ]
