"""Root hands over what it makes in another account's folder, and nobody else does anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowwave.store.logins import hand_over, keeper, make_private

DAEMON = 1


def test_an_account_of_its_own_keeps_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root's rights no owner is looked for."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    make_private(tmp_path / "a" / "b")
    assert keeper(tmp_path / "a" / "b" / "c") is None
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_root_gives_to_the_nearest_folders_account(tmp_path: Path) -> None:
    """Folders and files by turns; a link itself and never what it leads to; an account without a name gets nothing."""
    theirs, treasure = tmp_path / "theirs", tmp_path / "treasure"
    theirs.mkdir()
    treasure.touch()
    os.chown(theirs, DAEMON, DAEMON)
    make_private(theirs / "a" / "b")
    (theirs / "a" / "link").symlink_to(treasure)
    hand_over(theirs / "a" / "link")
    assert {p.lstat().st_uid for p in theirs.rglob("*")} == {DAEMON}
    assert treasure.stat().st_uid == 0
    os.chown(theirs, 54321, 54321)
    make_private(theirs / "c")
    assert (theirs / "c").stat().st_uid == 0
    assert keeper(tmp_path / "mine") is None
