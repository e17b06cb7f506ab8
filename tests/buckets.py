"""Snapshots in a bucket of an S3 server that runs in this process, and the caches of several workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import pytest


class Bucket:
    """A bucket, with the address of the snapshots in it."""

    base = "s3://memory-snapshots/nights"

    def __init__(self, files: Any) -> None:
        self.files = files

    def names(self) -> list[str]:
        """Return the paths of all objects."""
        return [str(path) for path in self.files.find("memory-snapshots")]


@contextmanager
def serve_s3() -> Generator[str]:
    """Run an S3 server in this process; yield its address."""
    pytest.importorskip("s3fs")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@contextmanager
def use_bucket(server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Bucket]:
    """Set the login in the environment alone, an empty bucket, and a cache in ``folder``."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "night"),
        ("AWS_SECRET_ACCESS_KEY", "a secret that nothing prints"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", server),
        ("SLOWWAVE_SNAPSHOTS", Bucket.base),
    ):
        monkeypatch.setenv(name, value)
    another_machine(folder, monkeypatch, "first")
    fsspec.get_filesystem_class("s3").clear_instance_cache()  # instances keep the address of another test's server
    files = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    files.mkdir("memory-snapshots")
    yield Bucket(files)
    files.rm("memory-snapshots", recursive=True)


def another_machine(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Path:
    """Use the cache of another worker, which is empty at first; return its folder."""
    place = folder / name
    place.mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place / f"slowwave-cache-{os.getuid()}"
