"""A folder that changed is synced by a run of its own, once a state."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from slowwave.dagster.events import PAGE_CHECKS as CHECKS
from slowwave.dagster.jobs import corpus_sync_job
from slowwave.dagster.sensors import changed_folders_sensor
from slowwave.night.status import due
from slowwave.sources.following import connect_folder
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.corpora import add_corpus
from tests.dagster import test_changed_trees
from tests.dagster.project import Project, failure, project

SLUG = "notes"


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Path:
    write(tmp_path / "notes", "a.md", "# A\n\n[[nowhere]]\n")
    with store.connect("owner") as connection:
        add_corpus(connection, SLUG, tmp_path / "notes")
    return tmp_path / "notes"


def tick(p: Project) -> list[tuple[str, str]]:
    """Partition and key of the runs that a tick asks for."""
    result = changed_folders_sensor(corpus_sync_job())(
        dg.build_sensor_context(instance=p.instance, resources={"store": p.store})
    )
    if isinstance(result, dg.SkipReason):
        return []
    assert isinstance(result, dg.SensorResult)
    return [(str(one.partition_key), str(one.run_key)) for one in result.run_requests or []]


def why_not(p: Project) -> str:
    result = changed_folders_sensor(corpus_sync_job())(
        dg.build_sensor_context(instance=p.instance, resources={"store": p.store})
    )
    assert isinstance(result, dg.SkipReason)
    return result.skip_message or ""


def test_a_changed_folder_is_synced_and_then_there_is_nothing_to_do(store: Store, folder: Path) -> None:
    """From the file to the document, with what was done in the lineage; an edit is another run."""
    with project(store, SLUG) as p:
        ((partition, first),) = tick(p)
        assert (partition, tick(p)) == (SLUG, [(SLUG, first)])
        result = p.run("corpus_sync_job", SLUG)
        assert result.success
        told = p.metadata(result, "corpus", "folders")
        assert (told["folders"].value, told["new"].value, told["failed"].value) == (1, 1, 0)
        assert p.value("SELECT path FROM memory.documents") == "a.md"
        assert "Nothing has changed in 1 folders" in why_not(p)
        write(folder, "a.md", "# A\n\nOther words.\n")
        ((_, second),) = tick(p)
        assert second != first


def test_a_namespace_without_a_partition_waits_for_it(store: Store, folder: Path) -> None:
    with project(store, "another") as p:
        assert tick(p) == []


def test_a_folder_that_is_not_there_fails_its_run_and_keeps_no_other_waiting(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    """The sensor tells why it starts none; a run that somebody starts syncs what is there."""
    away = tmp_path / "away"
    write(away, "b.md", "# B\n")
    write(tmp_path / "later", "c.md", "# C\n")
    with store.connect("owner") as connection:
        add_corpus(connection, SLUG, away)
        add_corpus(connection, SLUG, tmp_path / "later")
    away.rename(tmp_path / "elsewhere")
    with project(store, SLUG) as p:
        assert len(tick(p)) == 1
        result = p.run("corpus_sync_job", SLUG)
        assert "away is no folder" in failure(result)
        assert p.value("SELECT array_agg(path ORDER BY path) FROM memory.documents") == ["a.md", "c.md"]
        assert "away is no folder" in why_not(p)


def test_a_changed_folder_makes_the_night_another_than_unchanged(store: Store, tmp_path: Path) -> None:
    """The schedule skips a namespace in which nothing has changed; after the sensor's run it does not. Its night reads its tree."""
    folder, tree = tmp_path / "notes", tmp_path / "tree"
    test_changed_trees.write(tree, "- Anna prefers tea\n", 600)
    connect_folder(store, tree, embedder_for(Settings.for_namespace({})), name=SLUG)
    write(folder, "a.md", "# A\n\n[[nowhere]]\n")
    test_changed_trees.write(tree, "- Anna prefers coffee\n", 300)
    with store.connect("owner") as owner:
        add_corpus(owner, SLUG, folder)
        owner.execute("""UPDATE memory.namespaces SET settings = '{"gate_min_hours": 0, "gate_min_new_records": 1}'""")
    with project(store, SLUG) as p:
        assert p.run("corpus_sync_job", SLUG).success
        asked = test_changed_trees.tick(p)
        assert [partition for partition, _ in asked] == [SLUG]
        assert p.night(SLUG).success
        assert p.value("SELECT body FROM memory.folder_blocks WHERE kind = 'block'") == "Anna prefers coffee"
        assert test_changed_trees.tick(p) == "Nothing has changed in 1 connected folders."
        closed = due(store, SLUG).closed
        assert closed is not None
        assert closed.gate == "unchanged"
        write(folder, "b.md", "# B\n\nNews.\n")
        assert len(tick(p)) == 1
        assert due(store, SLUG).closed == closed
        assert p.run("corpus_sync_job", SLUG).success
        assert due(store, SLUG).closed is None


def test_what_audits_list_is_a_check_of_theirs(store: Store, folder: Path) -> None:
    """A link that leads nowhere and a page at odds with itself; mended, the checks hold, whatever other namespaces there are. Audits follow
    from the folders."""
    write(folder, "b.md", "---\nstatus: active\nsuperseded_by: gone.md\n---\n# B\n")
    with project(store, SLUG, "another") as p:
        p.run("corpus_sync_job", SLUG)
        night = p.night(SLUG)
        assert night.success
        found = {e.check_name: e for e in night.get_asset_check_evaluations() if e.check_name in CHECKS}
        assert {name: e.passed for name, e in found.items()} == {
            "links_lead_somewhere": False,
            "pages_agree_with_themselves": False,
        }
        assert found["links_lead_somewhere"].metadata["dead"].value == 1
        write(folder, "nowhere.md", "# Nowhere\n")
        (folder / "b.md").unlink()
        p.run("corpus_sync_job", SLUG)
        again = p.materialize(SLUG, "night/reaudit")
        passed = {e.check_name: e.passed for e in again.get_asset_check_evaluations()}
        assert passed["links_lead_somewhere"]
        assert passed["pages_agree_with_themselves"]
        graph = p.defs.resolve_asset_graph()
        upstream = graph.get_ancestor_asset_keys(dg.AssetKey(["audit", "page_health"]))
        assert dg.AssetKey(["corpus", "folders"]) in upstream


def test_folders_and_vectors_have_alarms(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that was not synced is late; after a change of the model, so are its chunks."""

    def alarms(p: Project) -> dict[str, bool]:
        result = p.run("freshness_job")
        return {
            e.check_name: e.passed
            for e in result.get_asset_check_evaluations()
            if "_are_synced" in e.check_name or "vectors" in e.check_name
        }

    with project(store, SLUG) as p:
        assert alarms(p) == {"folders_are_synced": False, "chunks_have_vectors": True}
        p.run("corpus_sync_job", SLUG)
        assert alarms(p) == {"folders_are_synced": True, "chunks_have_vectors": True}
        with store.connect("owner") as owner:
            owner.execute('UPDATE memory.namespaces SET settings = \'{"embedding_model": "all-minilm-l6-v2-int8"}\'')
        assert alarms(p) == {"folders_are_synced": False, "chunks_have_vectors": False}
