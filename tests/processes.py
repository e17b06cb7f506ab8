"""Processes that tests kill: forked off one that has the library loaded, as starting Python for each takes seconds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["slowwave.surfaces.api.memory", "tests.wiki.claims"])


def started(target: Callable[..., object], *given: object) -> BaseProcess:
    """A process that calls a function of a module; what is given is pickled. It has the environment of the first one of its worker."""
    process = _SERVER.Process(target=target, args=given, daemon=True)
    process.start()
    return process
