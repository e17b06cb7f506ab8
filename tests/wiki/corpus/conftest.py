"""The vault beside these tests, synced."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.store.connect import Store
from tests.wiki.corpus.folders import Folder

VAULT = Path(__file__).with_name("vault")


@pytest.fixture
def vault(tmp_path: Path, store: Store) -> Folder:
    """A copy of the vault beside this test, synced."""
    folder = Folder(tmp_path / "vault", store, "vault", "vault")
    for file in sorted(VAULT.rglob("*.md")):
        folder.write(file.relative_to(VAULT).as_posix(), file.read_bytes())
    assert folder.sync().new == 9
    return folder
