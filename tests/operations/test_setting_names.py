"""Unknown names of settings are reported with the nearest known one; those of operations stop a night."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import slowwave
from slowwave.errors import SettingsError
from slowwave.night.night import run_night
from slowwave.operations.setting_names import (
    check_settings,
    diagnose_settings,
    known_variables,
    unknown_keys,
    unknown_variables,
)
from slowwave.store.connect import Store
from tests.surfaces.cli.conftest import Run, run  # noqa: F401 - the fixture
from tests.toy import toy


@pytest.mark.parametrize(
    ("variable", "nearest", "of_operation"),
    [
        ("SLOWWAVE_REDACT_TXT", "SLOWWAVE_REDACT_TEXT", False),
        ("SLOWWAVE_DATABSE_URL", "SLOWWAVE_DATABASE_URL", False),
        ("SLOWWAVE_ZZZZ", "", False),
        ("SLOWWAVE_OPERATIONS__DEDUPE_ENTITES__ENABLED", "SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__ENABLED", True),
        ("SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__ENABLD", "SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__ENABLED", True),
        ("slowwave_operations__lost__enabled", "", True),
        ("SLOWWAVE_OPERATONS__ARCHIVE_STALE__ENABLED", "SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", True),
        ("SLOWWAVE_OPERATION__ARCHIV_STALE__ENABLED", "SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", True),
        ("SLOWWAVE_OPERATIONS_ARCHIVE_STALE_ENABLED", "SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", True),
        ("SLOWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", "SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", True),
        ("SLOWAVE_REDACT_TEXT", "SLOWWAVE_REDACT_TEXT", False),
    ],
)
def test_unknown_variable_is_found_with_its_nearest_name(variable: str, nearest: str, of_operation: bool) -> None:
    (found,) = unknown_variables({variable: "false", "PATH": "/bin", "SLOWWAVE_HOME": "/srv"})
    assert (found.name, found.nearest, found.of_operation) == (variable, nearest, of_operation)


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("dedupe_entities_unique_sources", "operations.dedupe_entities.unique_sources"),
        ("pages_max_lines", "operations.compile_pages.max_lines"),
        ("community_summary_model", "operations.community_summaries.model"),
        ("compact_facts_enabled", "operations.purge_expired.enabled"),
        ("contradiction_reconcile_policy", "operations.resolve_conflicts.policy"),
        ("prune_edges_half_live_days", "operations.prune_edges.half_life_days"),
        ("deep_min", "operations.deep_pass.min_hours or operations.deep_pass.min_sessions"),
    ],
)
def test_option_named_without_dots_is_found_with_its_dotted_name(key: str, nearest: str) -> None:
    """Words in the order of the option, an operation under khora's name, a plural, a misspelling, and two options that suit."""
    (found,) = unknown_keys({key: 1})
    assert (found.nearest, found.of_operation) == (nearest, True)
    (variable,) = unknown_variables({f"SLOWWAVE_{key}".upper(): "1"})
    names = [f"SLOWWAVE_{name.replace('.', '__')}".upper() for name in nearest.split(" or ")]
    assert (variable.nearest, variable.of_operation) == (" or ".join(names), True)


def test_every_variable_that_the_code_reads_is_known() -> None:
    names = r'(?:environ(?:\.get\(|\[)|getenv\()\s*"(SLOWWAVE_[A-Z_]+)"'
    read = {
        m for path in Path(slowwave.__file__).parent.rglob("*.py") for m in re.findall(names, path.read_text("utf-8"))
    }
    assert "SLOWWAVE_SNAPSHOT_CACHE_GIB" in read
    assert unknown_variables(dict.fromkeys(read, "1")) == []


def test_known_variables_are_accepted() -> None:
    nested = (
        "SLOWWAVE_RELEVANCE_HALF_LIFE_DAYS__PROJECT",
        "SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__PER_TYPE_THRESHOLDS__PERSON",
    )
    others = ("SLOWAVE_ROOT", "SLOW_WAVE", "PATH", "XDG_DATA_HOME")
    assert unknown_variables(dict.fromkeys([*known_variables(), *nested, *others], "1")) == []


def test_misspelt_operation_in_the_json_variable_is_found() -> None:
    (found,) = unknown_variables({"SLOWWAVE_OPERATIONS": '{"dedupe_entites": {"enabled": false}}'})
    assert (found.name, found.nearest) == ("operations.dedupe_entites", "dedupe_entities")


def test_unknown_keys_of_a_namespace_are_found() -> None:
    settings = {
        "redact_txt": "all",
        "decay_days": 3,
        "colour": "red",
        "operations": {"prune_edges": {"half_live_days": 3, "enabled": True}, "relevance": {"enabled": False}},
    }
    assert [(one.name, one.nearest) for one in unknown_keys(settings)] == [
        ("redact_txt", "redact_text"),
        ("decay_days", "operations.decay_transition.days"),
        ("colour", ""),
        ("operations.prune_edges.half_live_days", "half_life_days"),
    ]


def test_unknown_setting_warns_and_misspelt_switch_is_refused() -> None:
    with pytest.warns(UserWarning, match="Did you mean redact_text"):
        check_settings({"redact_txt": "all"})
    with pytest.raises(SettingsError, match=r"Did you mean operations\.archive_stale\.enabled"):
        check_settings({"archive_stale_enabled": False})
    with pytest.raises(SettingsError, match="Did you mean dedupe_entities"):
        check_settings({"operations": {"dedupe_entites": {"enabled": False}}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_settings({"operations": {"dedupe_entities": {"enabled": False}}})


def test_khora_variables_are_named_in_one_notice_by_nights_and_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KHORA_DREAM_RETENTION_DAYS", "40")
    monkeypatch.setenv("KHORA_DREAM_REDACT_TEXT", "none")
    monkeypatch.setenv("KHORA_DREAM_DEDUPE_VERIFIER_BAND_HIGH", "0.9")
    monkeypatch.setenv("KHORA_DREAM_DISABLE_APPLY", "1")
    used = "KHORA_DREAM_REDACT_TEXT as SLOWWAVE_REDACT_TEXT, KHORA_DREAM_RETENTION_DAYS as SLOWWAVE_RETENTION_DAYS"
    none = "KHORA_DREAM_DEDUPE_VERIFIER_BAND_HIGH has no equivalent"
    with pytest.warns(UserWarning, match="KHORA_DREAM_") as given:
        check_settings({})
    assert [part in str(one.message) for part, one in zip((none, used), given, strict=True)] == [True, True]
    found = diagnose_settings(None)
    assert [part in one.finding for part, one in zip((none, used), found, strict=True)] == [True, True]
    assert not any(one.problem for one in found)


def test_invalid_values_of_variables_and_namespaces_are_findings(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(store, "harbour", operations={"prune_edges": {"half_life_days": "soon"}})
    (own,) = diagnose_settings(store)
    assert own.finding.startswith(
        "In the settings of harbour: The setting operations.prune_edges.half_life_days cannot be 'soon'"
    )
    monkeypatch.setenv("SLOWWAVE_NIGHTLY_HOUR", "29")
    (found,) = diagnose_settings(store)
    assert (found.finding.startswith("The setting nightly_hour cannot be '29'"), found.problem) == (True, True)
    assert "SLOWWAVE_NIGHTLY_HOUR" in found.remedy


def test_night_refuses_a_misspelt_switch(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(store, "of-variables")
    toy(store, "of-settings", operations={"archive_stal": {"enabled": False}})
    with pytest.raises(SettingsError, match=r"operations\.archive_stal .* Did you mean archive_stale"):
        run_night(store, "of-settings")
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__DEDUPE_MEMORYS__ENABLED", "false")
    with pytest.raises(SettingsError, match="DEDUPE_MEMORIES__ENABLED"):
        run_night(store, "of-variables")


def test_doctor_and_night_name_unknown_settings(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    toy(store, "harbour", redact_txt="all")
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__DEDUPE_MEMORYS__ENABLED", "false")
    code, out, _ = run("doctor")
    assert code == 1
    assert "Did you mean SLOWWAVE_OPERATIONS__DEDUPE_MEMORIES__ENABLED?" in out
    assert "In the settings of harbour: redact_txt is not a setting" in out
    code, _, err = run("night", "harbour")
    assert (code, "Did you mean SLOWWAVE_OPERATIONS__DEDUPE_MEMORIES__ENABLED?" in err) == (1, True)
    monkeypatch.delenv("SLOWWAVE_OPERATIONS__DEDUPE_MEMORYS__ENABLED")
    with pytest.warns(UserWarning, match="redact_text"):
        code, _, _ = run("night", "harbour")
    assert code == 0
