"""Namespaces from before a model was noted: each keeps the model that most of its vectors are of."""

from __future__ import annotations

import uuid
from pathlib import Path

from slowwave.store import migrate
from slowwave.store.connect import Store
from tests.memories import ask

SCRIPT = Path(migrate.__file__).parent / "migrations" / "versions" / "0015_models.sql"


def test_a_namespace_is_said_to_have_the_model_of_its_vectors(store: Store) -> None:
    """Not where its settings name one, nor where they are of an endpoint's; one without vectors takes the default."""
    vectors = {
        "static": {"fast-use-v3": 2, "all-minilm-l6-v2-int8": 1},
        "contextual": {"fast-use-v3": 1, "all-minilm-l6-v2-int8": 2},
        "far": {"bge": 2, "fast-use-v3": 1},
        "named": {"fast-use-v3": 1},
        "empty": {},
    }
    with store.connect("owner") as owner:
        for slug, counts in vectors.items():
            settings = '{"embedding_model": "bge", "enabled": false}' if slug == "named" else '{"enabled": false}'
            namespace = str(uuid.uuid4())
            owner.execute(
                "INSERT INTO memory.namespaces (id, slug, settings) VALUES (%s, %s, %s::jsonb)",
                (namespace, slug, settings),
            )
            for model, n in counts.items():
                owner.execute("SELECT memory.register_vector_model(%s, 2)", (model,))
                owner.execute(
                    "INSERT INTO memory.entities (id, namespace_id, name, entity_type) "
                    "SELECT gen_random_uuid(), %s, g::text, 'T' FROM generate_series(1, %s) g "
                    "RETURNING id",
                    (namespace, n),
                )
                owner.execute(
                    "INSERT INTO memory.entity_vectors (id, model, namespace_id, vector) SELECT e.id, %s, e.namespace_id, '[1,0]' "
                    "FROM memory.entities e WHERE e.namespace_id = %s "
                    "AND NOT EXISTS (SELECT 1 FROM memory.entity_vectors v WHERE v.id = e.id)",
                    (model, namespace),
                )
        owner.execute(SCRIPT.read_bytes())
    found = dict(ask(store, "SELECT slug, settings FROM memory.namespaces"))
    off = {"enabled": False}
    assert found == {
        "static": off | {"embedding_model": "fast-use-v3"},
        "contextual": off | {"embedding_model": "all-minilm-l6-v2-int8"},
        "far": off,
        "named": off | {"embedding_model": "bge"},
        "empty": off,
    }
