"""Paths of pages: names that people give their notes, and nothing that leaves the folder."""

from __future__ import annotations

import pytest

from slowwave.text.markdown import fold_path, path_fault

NAMES = (
    "notes/tides.md", "Projects/Lantern.md", "Reading list.md", "People/李娜.md", "Ünïcode/Straße – 2.md", "日記.md",
    "C# & co (draft), v1.2.md", "a'b+c=d@e!~[x]{y}$z^.md", "🌊 tides.md",
)  # fmt: skip
UNSAFE = (
    "", "notes", "x.txt", "/etc/passwd.md", "../x.md", "a/../x.md", "a//b.md", ".git/x.md", "a/.x.md", "./x.md", "a\\b.md", "..\\x.md",
    "%2e%2e/x.md", "a%2Fb.md", "a\nb.md", "a\tb.md", "a\0b.md", "a\x7fb.md", "a\x85b.md", "a\u2028b.md", "a\u202eb.md", "a\u200bb.md",
    "a\u00a0b.md", "a\ufeffb.md", "a\ud800b.md", "a\U000e0041b.md",
    "logs/sessions/x.md", "Logs/Sessions/x.md", "archive/x.md", "Archive/x.md", "x" * 298 + ".md",
)  # fmt: skip
ONLY_OLD = ("What now?.md", "a:b.md", "12 | 13.md", "a /b.md", " a.md", "a./b.md", "می‌خواهم.md", "李" * 70 + ".md")


@pytest.mark.parametrize("path", NAMES)
def test_path_fault_of_a_name_of_people_is_empty(path: str) -> None:
    """Capitals, spaces, punctuation and every script."""
    assert path_fault(path, is_new=True) == path_fault(path) == ""


@pytest.mark.parametrize("path", UNSAFE)
def test_path_fault_of_an_unsafe_path_names_the_rule(path: str) -> None:
    """Whether a page has it or not."""
    assert path_fault(path)
    assert path_fault(path, is_new=True)


@pytest.mark.parametrize("path", ONLY_OLD)
def test_path_fault_of_an_unportable_name_is_of_new_pages_only(path: str) -> None:
    """A page that exists can be written as it is named."""
    assert path_fault(path) == ""
    assert path_fault(path, is_new=True)


def test_fold_path_of_names_that_one_file_system_takes_for_one_is_equal() -> None:
    """Case, and accents composed or not."""
    assert fold_path("People/Jose\u0301.md") == fold_path("people/JOSÉ.md")
    assert fold_path("people/jose.md") != fold_path("people/josé.md")
