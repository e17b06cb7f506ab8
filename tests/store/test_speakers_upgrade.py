"""Passages from before speakers were recorded: each gets the author of the memory that its import made with it."""

from __future__ import annotations

from pathlib import Path

from slowwave.store import migrate
from slowwave.store.connect import Store
from tests.memories import ask, remember

SCRIPT = Path(migrate.__file__).parent / "migrations" / "versions" / "0053_speakers.sql"


def test_upgrade_gives_imported_messages_their_speakers_and_other_passages_none(store: Store) -> None:
    """Roles name no one, statements have no speaker, and a merge adds foreign passages to a memory's sources. A file's page has none."""
    memories = {
        "a": ("Jon", "episodic"),
        "b": ("user", "episodic"),
        "c": ("Ava", "semantic"),
        "d#2": ("Mia", "episodic"),
        "d": ("Ole", "episodic"),
        "page": ("Ida", "episodic"),
    }
    chunks = {"a": "Jon", "a#2": "Jon", "b": None, "c": None, "d#2": "Mia", "d#3": "Ole", "page": None, "other": None}
    remember(
        store,
        "acme",
        corpora=[{"id": "corpus", "root": "/nowhere", "profile": "dory"}],
        documents=[{"id": "talk"}, {"id": "file", "corpus_id": "corpus", "path": "a.md"}],
        chunks=[
            {"id": f"c {key}", "external_id": key, "document_id": "file" if key == "page" else "talk", "content": key}
            for key in chunks
        ],
        memories=[
            {"id": f"m {key}", "external_id": key, "kind": kind, "author": author, "current_version_id": f"v {key}",
             "source_chunk_ids": ["c other"]}
            for key, (author, kind) in memories.items()
        ],
        memory_versions=[{"id": f"v {key}", "memory_id": f"m {key}", "content": key} for key in memories],
    )  # fmt: skip
    script = SCRIPT.read_text()
    start = script.index("WITH spoken")
    with store.connect("owner") as owner:
        owner.execute(script[start : script.index(";", start)].encode())
    assert dict(ask(store, "SELECT external_id, speaker FROM memory.chunks")) == chunks
