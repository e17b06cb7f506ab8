"""A connected folder that changed has a night of its own, once a state and not while somebody writes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import dagster as dg

from slowwave.dagster.jobs import night_job
from slowwave.dagster.sensors import changed_trees_sensor
from slowwave.sources.following import FolderFollower, connect_folder
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.dagster.project import Project, project


def write(root: Path, text: str, ago: float) -> None:
    root.mkdir(exist_ok=True)
    (root / "MEMORY.md").write_text(text)
    then = time.time() - ago
    os.utime(root / "MEMORY.md", (then, then))


def tick(p: Project) -> list[tuple[str, str]] | str:
    """Partition and key of the runs that a tick asks for; else why there are none."""
    result = changed_trees_sensor(night_job())(
        dg.build_sensor_context(instance=p.instance, resources={"store": p.store})
    )
    if isinstance(result, dg.SkipReason):
        return result.skip_message or ""
    assert isinstance(result, dg.SensorResult)
    return [(_namespace(one), str(one.run_key)) for one in result.run_requests or []]


def _namespace(request: dg.RunRequest) -> str:
    (name,) = request.run_config["ops"]["plan_nights"]["config"]["namespaces"]
    return name


def test_a_connected_folder_that_changed_has_a_night(store: Store, tmp_path: Path) -> None:
    """An edit wakes one night once it is a minute old; the night reads it, and then nothing is to do. A folder that is gone is told."""
    root = tmp_path / "my notes"
    write(root, "- Anna prefers tea\n", 600)
    connect_folder(store, root, embedder_for(Settings.for_namespace({})))
    with project(store, "my-notes") as p:
        assert tick(p) == "Nothing has changed in 1 connected folders."
        write(root, "- Anna prefers coffee\n", 5)
        assert "being written" in str(tick(p))
        write(root, "- Anna prefers coffee\n", 300)
        first = tick(p)
        assert isinstance(first, list)
        assert [partition for partition, _ in first] == ["my-notes"]
        assert tick(p) == first, "the same key, which Dagster runs once"
        FolderFollower().before_night(
            store, "my-notes"
        )  # as a night begins, of which tests/dagster/test_changed_folders.py has one
        assert p.value("SELECT body FROM memory.folder_blocks WHERE kind = 'block'") == "Anna prefers coffee"
        assert tick(p) == "Nothing has changed in 1 connected folders."
        (root / "MEMORY.md").rename(root / "topic.md")
        second = tick(p)
        assert isinstance(second, list)
        assert second != first
        root.rename(tmp_path / "away")
        assert "my-notes" in str(tick(p))
