"""Settings: variables below, a namespace's own on top, and a fingerprint that covers them."""

from __future__ import annotations

import pytest

from slowwave.errors import SettingsError
from slowwave.matching.options import DedupeEntitiesOptions
from slowwave.operations.options import PromoteMemoriesOptions, PruneEdgesOptions
from slowwave.store.settings import Settings


def test_a_namespace_overlays_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable holds where the namespace says nothing; names that are no setting are left alone."""
    monkeypatch.setenv("SLOWWAVE_BATCH_ITEMS", "50")
    monkeypatch.setenv("SLOWWAVE_PLAN_EXPIRY_DAYS", "3")
    settings = Settings.for_namespace({"batch_items": 7, "colour": "red", "expertise": {"entity_types": ["person"]}})
    assert (settings.batch_items, settings.plan_expiry_days) == (7, 3)
    assert settings.expertise is not None
    assert settings.expertise.entity_types == ("person",)


@pytest.mark.parametrize(
    ("variables", "setting", "value"),
    [
        ({"KHORA_DREAM_ENABLED": "false"}, "enabled", False),
        ({"KHORA_DREAM_ENABLED": "false", "SLOWWAVE_ENABLED": "true"}, "enabled", True),
        ({"KHORA_DREAM_REDACT_TEXT": "none"}, "redact_text", "none"),
        ({"KHORA_DREAM_OPS__PRUNE_EDGES": "False"}, "operations.prune_edges.enabled", False),
        ({"KHORA_DREAM_OPS_PRUNE_EDGES": "0"}, "operations.prune_edges.enabled", False),
        (
            {"KHORA_DREAM_DEDUPE_ENTITIES_PER_TYPE_THRESHOLDS": '{"PERSON": 0.99}'},
            "operations.dedupe_entities",
            {"PERSON": 0.99},
        ),
    ],
)
def test_khora_variable_is_read_unless_ours_is_set(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], setting: str, value: object
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    found: object = Settings.for_namespace({})
    for part in setting.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    if setting == "operations.dedupe_entities":
        found = Settings.for_namespace({}).options("dedupe_entities", DedupeEntitiesOptions).per_type_thresholds
    assert found == value


def test_khora_variables_that_contradict_each_other_are_refused_with_both_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KHORA_DREAM_OPS__PRUNE_EDGES", "true")
    monkeypatch.setenv("KHORA_DREAM_PRUNE_EDGES_ENABLED", "false")
    with pytest.raises(SettingsError, match="KHORA_DREAM_OPS__PRUNE_EDGES and KHORA_DREAM_PRUNE_EDGES_ENABLED"):
        Settings.for_namespace({})
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__PRUNE_EDGES__ENABLED", "false")
    assert Settings.for_namespace({}).switch("prune_edges") is False


def test_a_namespace_cannot_send_its_memory_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses come from the environment alone: the key and the texts go where the operator says."""
    monkeypatch.setenv("SLOWWAVE_JUDGE_ENDPOINT", "http://judges.example/v1")
    overlay = {"judge_endpoint": "http://elsewhere.example", "embedding_endpoint": "http://elsewhere.example"}
    found = Settings.for_namespace(overlay)
    assert (found.judge_endpoint, found.embedding_endpoint) == ("http://judges.example/v1", "")


def test_a_namespace_cannot_have_git_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a program runs in the workspace, whose configuration it obeys, is the operator's decision too."""
    assert not Settings.for_namespace({"pages_git": True}).pages_git
    monkeypatch.setenv("SLOWWAVE_PAGES_GIT", "true")
    assert Settings.for_namespace({"pages_git": False}).pages_git


def test_the_fingerprint_moves_with_any_setting() -> None:
    """A plan names the settings that it was made under."""
    base = Settings().fingerprint()
    assert base == Settings().fingerprint()
    assert base != Settings(recall_window_days=30).fingerprint()


@pytest.mark.parametrize(
    ("overlay", "name"), [({"batch_items": 0}, "batch_items"), ({"expertise": {"types": []}}, "expertise")]
)
def test_a_value_that_cannot_be_is_named(overlay: dict[str, object], name: str) -> None:
    """Which setting, what is wrong, where to correct it."""
    with pytest.raises(SettingsError, match=name):
        Settings.for_namespace(overlay)


def test_settings_stand_by_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace changes an option and leaves the variable of the option beside it."""
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__PRUNE_EDGES__HALF_LIFE_DAYS", "30")
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__PRUNE_EDGES__TARGET_PREDICATES", '["KNOWS"]')
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__CENSUS__ENABLED", "false")
    found = Settings.for_namespace({"operations": {"prune_edges": {"half_life_days": 7}}})
    options = found.options("prune_edges", PruneEdgesOptions)
    assert (options.half_life_days, options.target_predicates) == (7, ("KNOWS",))
    assert (found.switch("census"), found.switch("prune_edges"), found.switch("not_there")) == (False, None, None)


def test_fingerprint_covers_options_of_operations() -> None:
    """Every switch and option counts, also those of an operation that is not known here."""
    others = [{"prune_edges": {"half_life_days": 30}}, {"orphans": {"enabled": False}}, {"own": {"size": 1}}]
    assert len({Settings(operations=other).fingerprint() for other in ({}, *others)}) == 4


def test_an_option_that_cannot_be_is_named_with_its_variable() -> None:
    with pytest.raises(SettingsError, match="SLOWWAVE_OPERATIONS__PROMOTE_MEMORIES__MAX_PER_NIGHT"):
        Settings.for_namespace({"operations": {"promote_memories": {"max_per_night": 0}}}).options(
            "promote_memories", PromoteMemoriesOptions
        )


@pytest.mark.parametrize("operations", [3, {"reembed": 3}, {"census": 3}])
def test_settings_of_operations_that_are_no_mapping_are_refused(operations: object) -> None:
    with pytest.raises(SettingsError, match="operations"):
        Settings.for_namespace({"operations": operations})


def test_the_oldest_settings_are_forgotten_first() -> None:
    """What was read a moment ago is still known, however many were read before it."""
    before = Settings.for_namespace({"batch_items": 1})
    for items in range(2, 200):
        newest = Settings.for_namespace({"batch_items": items})
        assert Settings.for_namespace({"batch_items": items}) is newest
        assert Settings.for_namespace({"batch_items": items - 1}) is before
        before = newest


def test_settings_that_were_read_before_follow_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same overlay under the same variables is read once; under others it is read again."""
    overlay: dict[str, object] = {"batch_items": 7}
    first = Settings.for_namespace(overlay)
    assert Settings.for_namespace(dict(overlay)) is first
    monkeypatch.setenv("slowwave_plan_expiry_days", "3")
    assert Settings.for_namespace(overlay).plan_expiry_days == 3
    assert Settings.for_namespace({"batch_items": 8}).batch_items == 8
    monkeypatch.delenv("slowwave_plan_expiry_days")
    assert Settings.for_namespace(overlay) is first
