"""Wake profiles: those that come along, and an operator's own on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.errors import Refused, SettingsError
from slowwave.store.settings import Settings
from slowwave.wiki.recall.wake import wake_profiles


def test_the_profiles_that_come_along() -> None:
    """The order of the sections is the order of their worth, as Dory has it."""
    found = wake_profiles()
    assert found.profile("default").sections[:6] == ("user", "soul", "env", "active", "identity", "defaults")
    assert found.profile("casual").sections[:6] == ("user", "soul", "identity", "defaults", "active", "env")
    assert found.profile("coding").sections[:3] == ("active", "env", "defaults")
    assert dict(found.profile("coding").caps) == {"active": 480, "env": 340, "defaults": 260, "project": 360}
    assert found.profile("writing").sections[:4] == ("soul", "voice", "defaults", "active")
    assert found.profile("privacy").sections == ("boundaries", "defaults", "soul")
    for profile in found.profiles.values():
        assert {*profile.sections, *profile.caps} <= set(found.sections)
    with pytest.raises(Refused, match="casual, coding, default"):
        found.profile("formal")


def test_an_own_file_adds_and_replaces(tmp_path: Path) -> None:
    """What it does not name stays."""
    own = tmp_path / "own.toml"
    own.write_text(
        '[sections.house]\ntitle = "House rules"\npaths = ["rules/*.md"]\n'
        '[profiles.default]\nsections = ["house", "user"]\n[profiles.tiny]\nsections = ["house"]\n'
    )
    found = wake_profiles(own)
    assert found.profile("default").sections == ("house", "user")
    assert found.profile("tiny").sections == ("house",)
    assert found.profile("coding") == wake_profiles().profile("coding")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[profiles.a]\nsections = ["gone"]\n', "gone"),
        ('[profiles.a]\nsections = ["user"]\ncaps = {gone = 4}\n', "gone"),
        ('[profiles.a]\nsectoins = ["user"]\n', "profiles.a"),
        ('[sections.a]\ntitle = "A"\npaths = ["a.md"]\nlines = "("\n', "sections.a.lines"),
        ("[profiles", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With its name and the place in it."""
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(SettingsError, match=said) as raised:
        wake_profiles(own)
    assert "own.toml" in str(raised.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Instead of profiles that nobody asked for."""
    with pytest.raises(SettingsError, match="cannot be read"):
        wake_profiles(tmp_path / "none.toml")


def test_no_namespace_names_a_file_and_no_plan_rests_on_it() -> None:
    """A path is an operator's to set, and a new profile makes no plan another one."""
    assert Settings.for_namespace({"wake_profiles": "/etc/passwd"}).wake_profiles == ""
    assert Settings(wake_profiles="own.toml").fingerprint() == Settings().fingerprint()
