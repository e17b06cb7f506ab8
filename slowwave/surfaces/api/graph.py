"""The graph of a namespace: its live entities and relationships for networkx, and files that graph tools read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from slowwave.errors import Refused
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store

if TYPE_CHECKING:
    import networkx as nx


Format = Literal["graphml", "gexf", "json"]
FORMATS: Final[tuple[Format, ...]] = ("graphml", "gexf", "json")

_NODE: Final = ("name", "entity_type", "description", "attributes", "mention_count", "confidence", "pinned")
_EDGE: Final = ("relationship_type", "description", "properties", "confidence", "weight")
_PROVENANCE: Final = ("external_id", "source_document_ids", "source_chunk_ids", "valid_from", "valid_to", "recorded_at")


def graph(namespace: str, *, store: Store | None = None) -> nx.MultiDiGraph[str]:
    """Return the live entities of a namespace as nodes and its live relationships as edges.

    Nodes are ids of entities, keys of edges ids of relationships. Attributes are the columns of the row: values, lists of ids of its
    sources, and instants as ISO 8601; columns without a value are left out. Relationships that name an entity that is not live are left
    out. Without ``store`` the store of the environment is read. Cost: linear in entities and relationships.

    Raises:
        Refused: there is no such namespace.
    """
    import networkx as nx  # slow to import

    snapshot = export_snapshot(store or open_store(), namespace)
    made: nx.MultiDiGraph[str] = nx.MultiDiGraph(namespace=namespace, taken_at=snapshot.taken_at.isoformat())
    for row in snapshot.live("entities").to_pylist():
        made.add_node(str(row["id"]), **_attributes(row, (*_NODE, *_PROVENANCE)))
    for row in snapshot.live("relationships").to_pylist():
        source, target = str(row["source_entity_id"]), str(row["target_entity_id"])
        if source in made and target in made:
            made.add_edge(source, target, key=str(row["id"]), **_attributes(row, (*_EDGE, *_PROVENANCE)))
    return made


def write_graph(made: nx.MultiDiGraph[str], path: Path, form: Format) -> None:
    """Write a graph as GraphML, GEXF or node-link JSON. Lists and objects are JSON texts in the first two, which know only scalars."""
    import networkx as nx

    if form not in FORMATS:
        raise Refused(f"There is no format {form!r} for graphs. Known: {', '.join(FORMATS)}.")
    if form == "json":
        path.write_text(
            json.dumps(nx.node_link_data(made, edges="edges"), ensure_ascii=False, indent=1, default=str) + "\n"
        )
        return
    flat: nx.MultiDiGraph[str] = nx.MultiDiGraph(**made.graph)
    flat.add_nodes_from((node, _flat(values)) for node, values in made.nodes(data=True))
    for source, target, key, values in made.edges(keys=True, data=True):
        flat.add_edge(source, target, key=key, **_flat(values))
    if form == "graphml":
        nx.write_graphml(flat, path)
    else:
        nx.write_gexf(flat, path)


def _attributes(row: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns that have a value; JSON columns as objects, instants as text."""
    found: dict[str, Any] = {}
    for column in columns:
        value = row.get(column)
        if value is None or value == [] or value == "":
            continue
        if column in ("attributes", "properties"):
            value = json.loads(value) if isinstance(value, str) else value
        found[column] = value.isoformat() if hasattr(value, "isoformat") else value
    return found


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with lists and objects as JSON texts, and without characters that XML forbids."""
    return {
        name: value
        if isinstance(value, (bool, int, float))
        else _xml_text(value if isinstance(value, str) else json.dumps(value))
        for name, value in values.items()
    }


def _xml_text(text: str) -> str:
    """Return the text without control characters, which XML 1.0 forbids even when they are escaped."""
    return "".join(
        c for c in text if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
