"""Declarations: what cannot be is said where it stands, and a function stays the function that it is."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from slowwave.errors import SettingsError, SnapshotError
from slowwave.operations import Inputs, operation
from slowwave.plans.permitted import Permit
from slowwave.plans.report import Report
from slowwave.store.settings import Settings
from tests.snapshots import make_inputs, make_snapshot, uid


class Options(BaseModel):
    least: int = Field(default=3, ge=1)


def found(inputs: Inputs) -> Report:
    """What is there.

    And more.
    """
    return Report("found", "", {"least": inputs.settings.options("found", Options).least})


def silent(inputs: Inputs) -> Report:
    return found(inputs)


def test_the_function_is_called_and_its_docstring_read() -> None:
    """As if there were no decorator; the indentation of the docstring goes."""
    one = operation(kind="audit", reads=("memories",), options=Options)(found)
    assert (one.name, one.kind, one.description) == ("found", "audit", "What is there.\n\nAnd more.")
    assert one(make_inputs(make_snapshot())).numbers == {"least": 3}


def test_a_function_is_given_what_it_declares_and_nothing_else() -> None:
    """So a table that a declaration forgets is missed in the operation's own test, and not under Dagster alone."""

    def looks(inputs: Inputs) -> Report:
        """What is there."""
        snapshot = inputs.snapshot
        with pytest.raises(SnapshotError, match="entities"):
            snapshot.table("entities")
        assert set(inputs.models) == {"live_entities"}
        with pytest.raises(SettingsError, match=r"recall_signals.*add .recall_signals. to models"):
            inputs.models["recall_signals"]
        rows = {"memories": len(snapshot.table("memories")), **{name: len(v) for name, v in snapshot.vectors.items()}}
        return Report("looks", "", rows)

    one = {uid("one"): [1.0, 0.0]}
    snapshot = make_snapshot(
        memories=[{"id": uid("one")}],
        entities=[{"id": uid("one")}],
        vectors={"memory_vectors": one, "entity_vectors": one},
    )
    inputs = make_inputs(snapshot)
    made = operation(kind="audit", reads=("memories", "memory_vectors"), models=("live_entities",))(looks)
    assert {"live_entities", "live_relationships"} <= set(inputs.models)
    assert made(inputs).numbers == {"memories": 1, "memory_vectors": 1, "entity_vectors": 0, "chunk_vectors": 0}


@pytest.mark.parametrize(
    ("declared", "run", "said"),
    [
        ({"kind": "audit"}, silent, "no description"),
        ({"kind": "audit", "switch": "nothing_enabled"}, found, "its switch is 'nothing_enabled'"),
        ({"kind": "planner", "permits": ()}, found, "says in permits"),
        ({"kind": "audit", "permits": (Permit("set_state", {"memories"}),)}, found, "an audit changes nothing"),
        ({"kind": "audit", "options": type("O", (BaseModel,), {"__annotations__": {"enabled": bool}})}, found, "enabled"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(declared: Any, run: Any, said: str) -> None:
    """With the name of the operation and of its module."""
    with pytest.raises(SettingsError, match=said) as raised:
        operation(reads=(), **declared)(run)
    assert run.__name__ in str(raised.value)
    assert __name__ in str(raised.value)


def test_options_come_from_variables_and_from_the_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the namespace's on top; what cannot be is named as every setting is."""
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__FOUND__LEAST", "5")
    assert Settings().options("found", Options).least == 5
    namespace = Settings.for_namespace({"operations": {"found": {"least": 7}}})
    assert namespace.options("found", Options).least == 7
    assert namespace.fingerprint() != Settings().fingerprint()
    with pytest.raises(SettingsError, match=r"operations\.found\.least cannot be 0"):
        Settings.for_namespace({"operations": {"found": {"least": 0}}}).options("found", Options)
