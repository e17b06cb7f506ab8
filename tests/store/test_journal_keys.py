"""What journal entries and their images name is there, whoever writes them; looked up once a statement."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from tests.memories import ask

HERE, NEIGHBOUR, NOWHERE = (str(uuid.uuid4()) for _ in range(3))

ENTRIES = """
WITH entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, action)
  SELECT n, %(entry)s, gen_random_uuid(), gen_random_uuid(), 'entities', gen_random_uuid(), 'insert' FROM unnest(ARRAY[1, 2]) n
)
INSERT INTO night.before_images (journal_id, namespace_id) SELECT n, %(image)s FROM unnest(%(images)s::int[]) n
"""


@pytest.fixture
def applier(store: Store) -> Iterator[Connection]:
    """Who journals, in a store of two namespaces."""
    with store.connect("owner") as owner:
        owner.execute(
            "INSERT INTO memory.namespaces (id, slug) VALUES (%s, 'here'), (%s, 'neighbour')", (HERE, NEIGHBOUR)
        )
    with store.connect("applier") as connection:
        yield connection


def test_entries_and_their_images_come_in_one_statement(applier: Connection) -> None:
    """As apply writes them."""
    applier.execute(ENTRIES, {"entry": HERE, "image": HERE, "images": [1, 2]})
    assert applier.execute("SELECT count(*) FROM night.before_images").fetchone() == (2,)


@pytest.mark.parametrize(
    ("entry", "image", "images"),
    [
        pytest.param(NOWHERE, NOWHERE, [1], id="a namespace that is not there"),
        pytest.param(HERE, HERE, [1, 2, 3], id="an entry that is not there"),
        pytest.param(HERE, NEIGHBOUR, [1], id="an entry of another namespace"),
    ],
)
def test_what_is_not_there_is_refused(
    store: Store, applier: Connection, entry: str, image: str, images: list[int]
) -> None:
    """The whole statement, with the code of a foreign key."""
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        applier.execute(ENTRIES, {"entry": entry, "image": image, "images": images})
    assert ask(store, "SELECT count(*) FROM night.journal") == [(0,)]


def test_an_image_is_not_moved_to_an_entry_that_is_not_there(store: Store, applier: Connection) -> None:
    """Not by the owner either."""
    applier.execute(ENTRIES, {"entry": HERE, "image": HERE, "images": [1, 2]})
    with store.connect("owner") as owner, pytest.raises(psycopg.errors.ForeignKeyViolation):
        owner.execute("UPDATE night.before_images SET journal_id = 3 WHERE journal_id = 2")
