"""Imports that every process of a night needs before its first night.

Importing this module loads the operations with their rules, DuckDB, the SQL models, and the weights of the static model unless the
environment selects another one.

Only the process from which the processes of a night are forked (``slowwave.night.several``) imports it, so that everything is loaded once
and is in memory once. Nothing here opens a connection, starts a thread, or keeps values of the environment, which may be different when a
process is forked.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from slowwave.errors import SlowwaveError
from slowwave.models.embedder import OfflineEmbedder
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.operations import operations
from slowwave.snapshots.models import load_models
from slowwave.store.settings import Settings

_LATE = ("duckdb", "slowwave.night.several", "slowwave.text.screening")
"""Modules that other modules import only at the place of use."""


def _load() -> None:
    for name in _LATE:
        import_module(name)
    for made in operations().values():
        made.load()
    load_models()
    if Settings.for_namespace({}).embedding_model == STATIC_MODEL:
        OfflineEmbedder().embed(["Loaded."])


with suppress(SlowwaveError):  # the code that needs the missing part reports it
    _load()
gc.freeze()  # a collection in a forked process would copy each shared page
