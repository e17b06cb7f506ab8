"""What stands: what a file said before, told apart from what nights and agents wrote since."""

from __future__ import annotations

from slowwave.sources.loading import StoredMemory, Version, chunk_id, digest, version_id
from tests.snapshots import uid

NS = uid("namespace")


def stored(*versions: tuple[str, str], current: int = -1) -> StoredMemory:
    """A memory with the id ``a`` and versions (who wrote it, text); the current one by place."""
    made = [
        Version(version_id(NS, "a", n) if by == "import" else uid(f"{by} {n}"), n, digest(text))
        for n, (by, text) in enumerate(versions, 1)
    ]
    return StoredMemory(uid("a"), True, made[current].id, (), made)


def test_the_last_import_counts_not_what_was_made_of_it():
    """A night's wording is no news, the last correction is none, and an older one is."""
    memory = stored(("import", "one"), ("night", "1"), ("import", "two"), ("night", "2"))
    assert [memory.says(NS, "a", text) for text in ("two", "2", "one", "1", "three")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert memory.next_ordinal == 5


def test_a_memory_that_no_import_wrote_is_known_by_any_of_its_texts():
    """An agent used the id: its memory is not taken over by an older text of its own."""
    memory = stored(("agent", "one"), ("agent", "two"))
    assert [memory.says(NS, "a", text) for text in ("one", "two", "three")] == [True, True, False]


def test_ids_of_versions_never_meet():
    """The first has the id that imports always gave it."""
    ids = {f(NS, "a", n) for f in (version_id, chunk_id) for n in (1, 2, 3)}
    assert len(ids) == 6
    assert version_id(NS, "a") == version_id(NS, "a", 1)
