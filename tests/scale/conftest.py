"""Tests marked ``scale``: they start servers and workers of their own for minutes, so only ``make test-scale`` runs them."""

from __future__ import annotations

import shutil

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect them unless ``-m`` or a path on the command line names them."""
    if "scale" in config.option.markexpr or any("scale" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("scale")]
    items[:] = [item for item in items if not item.get_closest_marker("scale")]
    config.hook.pytest_deselected(items=left_out)


def require_program(name: str, package: str) -> str:
    """Return the path of a program; skip the test with the apt package that has it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return found
