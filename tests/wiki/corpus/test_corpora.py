"""Corpora as rows: a folder is followed once, by one profile, under any name that it is called by."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.errors import ImportRefused, Refused
from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import (
    SESSIONS_STANDING,
    Corpus,
    add_corpus,
    chosen_corpus,
    corpora_of,
    sessions_corpus,
)


def follow(store: Store, folder: Path, profile: str | None = None, slug: str = "work") -> Corpus:
    with store.connect("owner") as connection:
        return add_corpus(connection, slug, folder, profile)


def test_a_folder_is_followed_once(store: Store, tmp_path: Path) -> None:
    """However it is written; it keeps its profile, and another namespace may follow it too."""
    folder = tmp_path / "notes"
    folder.mkdir()
    first = follow(store, folder, "vault")
    assert follow(store, folder / ".." / "notes") == first
    assert (first.folder, first.profile, first.standing, first.synced_at) == (folder.resolve(), "vault", 1.0, None)
    with pytest.raises(Refused, match="by the profile vault"):
        follow(store, folder, "plain")
    assert follow(store, folder, slug="other").id != first.id


def test_what_cannot_be_followed_makes_no_namespace(store: Store, tmp_path: Path) -> None:
    """No folder, no such profile, no name."""
    with pytest.raises(Refused, match="is no folder"):
        follow(store, tmp_path / "absent")
    with pytest.raises(Refused, match="dory, plain, vault"):
        follow(store, tmp_path, "roam")
    with pytest.raises(ImportRefused, match="cannot be used"):
        follow(store, tmp_path, slug="No Slug!")
    with store.connect("reader") as connection:
        assert connection.execute("SELECT count(*) FROM memory.namespaces").fetchone() == (0,)


def test_corpora_are_chosen_by_the_name_of_their_folder(store: Store, tmp_path: Path) -> None:
    """Or by all of its path; imported sessions have neither folder nor full standing."""
    for name in ("a", "deep/a", "b"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        made = follow(store, tmp_path / name)
    with store.connect("owner") as connection:
        sessions = sessions_corpus(connection, "work")
        assert (sessions.folder, sessions.standing) == (None, SESSIONS_STANDING)
        assert sessions_corpus(connection, "work") == sessions
        every = corpora_of(connection, made.namespace_id)
        assert [Path(one.root).name for one in every] == ["a", "a", "b", "sessions:"]
        assert chosen_corpus(connection, made.namespace_id, None) == every
        assert chosen_corpus(connection, made.namespace_id, "a") == every[:2]
        assert chosen_corpus(connection, made.namespace_id, every[1].root) == [every[1]]
        with pytest.raises(Refused, match="Corpora: a, a, b"):
            chosen_corpus(connection, made.namespace_id, "c")
