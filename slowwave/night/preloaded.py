"""What every process of a night reads before its first one, loaded by importing this module: the operations with their rules, DuckDB, the
SQL models, and the weights of the static model where the environment asks for no other.

It is imported for that alone, by the process that those of a night are copies of (``slowwave.night.several``): what was loaded before is
loaded once and lies once in memory. Nothing here opens a connection, starts a thread, or keeps what the environment says, which may be
another when a copy is made.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from slowwave.errors import SlowwaveError
from slowwave.models.embedder import OfflineEmbedder
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.operations import AUDITS, PLANNERS
from slowwave.snapshots.models import load_models
from slowwave.store.settings import Settings

_LATE = ("duckdb", "slowwave.night.several", "slowwave.text.screening")
"""What is imported only where it is used."""


def _load() -> None:
    for name in (*_LATE, *(made.module for made in (*AUDITS.values(), *PLANNERS.values()))):
        import_module(name)
    load_models()
    if Settings.for_namespace({}).embedding_model == STATIC_MODEL:
        OfflineEmbedder().embed(["Loaded."])


with suppress(SlowwaveError):  # whoever needs what is missing says so
    _load()
gc.freeze()  # a collection in a copy would write to each page of what all of them share
