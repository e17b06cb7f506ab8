"""The graph of a namespace in networkx, and the files of it."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.api.graph import FORMATS, Format, graph, write_graph
from slowwave.surfaces.cli.main import app
from tests.nights import new_world


@pytest.fixture
def made(store: Store) -> nx.MultiDiGraph:
    return graph(new_world(store).slug, store=store)


def test_graph_has_the_live_rows_with_their_columns(store: Store) -> None:
    world = new_world(store)
    found = graph(world.slug, store=store)
    entities = {str(e["id"]): e for e in world.rows["entities"] if e["invalidated_at"] is None}
    edges = {
        str(r["id"]): r
        for r in world.rows["relationships"]
        if r["invalidated_at"] is None and {str(r["source_entity_id"]), str(r["target_entity_id"])} <= entities.keys()
    }
    assert set(found.nodes) == entities.keys()
    assert {key for _, _, key in found.edges(keys=True)} == edges.keys()
    for id_, entity in entities.items():
        assert (found.nodes[id_]["name"], found.nodes[id_]["entity_type"]) == (entity["name"], entity["entity_type"])
    assert slowwave.graph is graph


def test_graph_of_an_unknown_namespace_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match="nowhere"):
        graph("nowhere", store=store)


@pytest.mark.parametrize("form", FORMATS)
def test_written_graph_has_the_same_nodes_and_edges(made: nx.MultiDiGraph, tmp_path: Path, form: Format) -> None:
    node = next(iter(made))
    made.nodes[node]["description"] = "<b>&\x00\x1b a\u2028b"
    path = tmp_path / f"graph.{form}"
    write_graph(made, path, form)
    again = (
        nx.node_link_graph(json.loads(path.read_text()), edges="edges")
        if form == "json"
        else nx.read_graphml(path, force_multigraph=True)
        if form == "graphml"
        else nx.read_gexf(path)
    )
    assert set(again.nodes) == set(made.nodes)
    assert again.number_of_edges() == made.number_of_edges()
    assert again.nodes[node]["description"].replace("\x00\x1b", "") == "<b>& a\u2028b"


def test_graph_export_writes_the_file_and_says_how_much(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = new_world(store)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    path = tmp_path / "graph.gexf"
    done = CliRunner().invoke(app, ["namespace", "graph", world.slug, str(path), "--format", "gexf"])
    assert done.exit_code == 0, done.output
    assert f"{nx.read_gexf(path).number_of_nodes():,} entities" in done.output
    assert CliRunner().invoke(app, ["namespace", "graph", world.slug, str(path), "--format", "dot"]).exit_code != 0
