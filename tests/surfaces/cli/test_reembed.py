"""``slowwave namespace reembed`` says what was made and which model the namespace has now."""

from __future__ import annotations

import json
from pathlib import Path

from slowwave.store.connect import Store
from tests.surfaces.cli.conftest import Run


def test_a_namespace_goes_over_to_another_model(store: Store, run: Run, tmp_path: Path) -> None:
    """And back, where everything has its vectors still; a model that nobody has is refused."""
    file = tmp_path / "a.jsonl"
    said = {
        "namespace": "work",
        "created_at": "2026-03-01T09:00:00Z",
        "role": "user",
        "content": "Jane Smith likes tea.",
    }
    file.write_text(json.dumps(said) + "\n")
    assert run("import", "messages", str(file))[0] == 0
    code, out, _ = run("namespace", "reembed", "work", "--model", "all-minilm-l6-v2-int8")
    assert (code, "1 memory vector, 1 chunk vector" in out, "(before: fast-use-v3)" in out) == (0, True, True)
    code, out, _ = run("namespace", "reembed", "work", "--json")
    assert json.loads(out) == {
        "namespace": "work", "formerly": "all-minilm-l6-v2-int8", "model": "fast-use-v3", "made": {}, "with_speakers": 0,
    }  # fmt: skip
    code, _, err = run("namespace", "reembed", "work", "--model", "far")
    assert (code, "needs an endpoint" in err) == (1, True)
    assert run("namespace", "reembed", "nobody")[0] == 2


def test_reembed_reports_the_messages_that_got_their_speaker(store: Store, run: Run, tmp_path: Path) -> None:
    """J19: a store from before has vectors of messages without their speakers; one that is renewed is reported as such."""
    file = tmp_path / "a.jsonl"
    said = {
        "namespace": "work",
        "created_at": "2026-03-01T09:00:00Z",
        "role": "Jon",
        "content": "The green one is mine.",
    }
    file.write_text(json.dumps(said) + "\n")
    assert run("import", "messages", str(file))[0] == 0
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.chunk_vectors SET speaker = NULL")
    command = "slowwave namespace reembed work --model fast-use-v3"
    code, out, _ = run("doctor")
    assert (code, "Note: In work, 1 message has a vector made without the name of the speaker" in out) == (0, True)
    assert f"`{command}`" in out
    code, out, _ = run(*command.split()[1:])
    assert (code, "1 chunk vector;" in out, "1 of the chunk vectors replace vectors of messages" in out) == (
        0,
        True,
        True,
    )
    code, out, _ = run("namespace", "reembed", "work")
    assert (code, "nothing to embed" in out, "replace" in out) == (0, True, False)
    assert "without the name of the speaker" not in run("doctor")[1]
