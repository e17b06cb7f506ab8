"""The settings that hold in a namespace, for those who answer by day: read with its row, made once as long as they stay."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.config.settings import Settings
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

_NAMESPACE: Final = "SELECT id::text, settings::text FROM memory.namespaces WHERE slug = %s"


class KnownNamespace(NamedTuple):
    """A namespace's id and its settings."""

    id: str
    settings: Settings


def known_namespace(connection: Connection, namespace: str) -> KnownNamespace:
    """A namespace by its name. Raises ``Refused`` for an unknown one."""
    known = connection.execute(_NAMESPACE, (namespace,)).fetchone()
    id_, overlay = known or (namespace_id(connection, namespace), "{}")
    return KnownNamespace(str(id_), _settings(str(overlay), _variables()))


def settings_of(connection: Connection, namespace: str) -> Settings:
    """The settings that hold in a namespace. Raises ``Refused`` for an unknown one."""
    return known_namespace(connection, namespace).settings


@lru_cache(64)
def _settings(overlay: str, variables: tuple[tuple[str, str], ...]) -> Settings:
    """A namespace's settings, made once as long as neither they nor the environment change: making them costs more than a search."""
    return Settings.for_namespace(json.loads(overlay))


def _variables() -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in os.environ.items() if name.startswith("SLOWWAVE_"))
