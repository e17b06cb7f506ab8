"""``slowwave operations``: all operations in the order of a night, each with its switch."""

from __future__ import annotations

import json

import pytest

from slowwave.night.night import OPERATIONS
from slowwave.operations.registry import operations
from tests.surfaces.cli.conftest import Run


def test_operations_as_json_lists_every_operation_in_night_order(run: Run) -> None:
    """The order is that in which a night runs them; the kind, default switch, variable and summary are those that each declares."""
    listed = json.loads(run("operations", "--json")[1])
    assert [one["name"] for one in listed] == list(OPERATIONS)
    assert [(one["kind"], one["default"], one["variable"], one["description"]) for one in listed] == [
        (made.kind, made.default(), made.variable, made.description.splitlines()[0]) for made in operations().values()
    ]
    assert {one["name"]: one["switch"] for one in listed} == {one["name"]: one["default"] for one in listed}
    assert {one["default"] for one in listed} == {"on", "weekly", "off"}


@pytest.mark.parametrize(
    ("name", "value", "switch"),
    [("census", "false", "off"), ("purge_expired", "true", "on"), ("decay_transition", "true", "on")],
)
def test_operations_with_variable_set_shows_changed_switch(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, switch: str
) -> None:
    """The variable that the list names changes the switch; the default stays."""
    before = {one["name"]: one for one in json.loads(run("operations", "--json")[1])}
    monkeypatch.setenv(before[name]["variable"], value)
    after = {one["name"]: one for one in json.loads(run("operations", "--json")[1])}
    assert after == {**before, name: {**before[name], "switch": switch}}
    assert before[name]["switch"] == before[name]["default"] != switch


def test_operations_without_database_prints_one_line_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list needs no store: each line has the name, kind, switch, variable and description."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    code, out, err = run("operations")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for name, made in operations().items():
        (line,) = (line for line in lines if line.split(" ")[0] == name)
        assert line.split()[:4] == [name, made.kind, made.default(), made.variable]
        assert line.endswith(made.summary)
    assert "namespace set NAMESPACE operations.NAME.enabled=true" in out
