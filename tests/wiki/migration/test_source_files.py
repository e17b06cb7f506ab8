"""What cannot be read is named by file and line; nothing is followed, unpacked or read beyond its bounds."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.wiki.migration import files as source_files
from slowwave.wiki.migration.files import source_folder
from tests.wiki.migration.folders import folder, staged


def archive(files: dict[str, str | bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return sink.getvalue()


def test_each_bad_file_is_named_with_its_line_and_the_others_are_read(tmp_path: Path) -> None:
    """Binary, other encodings, broken JSON in its line, keys twice, anchors, NUL, quotes that do not close, nonsense of every kind."""
    outside = tmp_path / "outside.md"
    outside.write_text("secret plans")
    root = folder(
        tmp_path / "brain",
        {
            "good.md": "# Good\n\nThe harbour opens at nine.\n",
            "binary.md": b"# A\n\x00\x01\x02",
            "latin.md": "# A\n\nna\xefve\n".encode("latin-1"),
            "rows.jsonl": '{"a": 1}\n' * 16 + '{"a": \n' + '{"a": 2}\n',
            "twice.json": '{"a": {"x": 1},\n "b": {"x": 1,\n "y": 2, "x": 3}}',
            "broken.json": '{\n"a": [1,\n}',
            "bomb.yaml": "a: &a [1, 2]\nb: *a\n",
            "twice.yaml": "a: 1\nb: 2\na: 3\n",
            "bad.toml": "a = 1\nb = = 2\n",
            "open.csv": 'id,text\n1,"never closed\n2,b\n',
            "head.md": "---\ntitle: [\n---\n\nText\n",
            "deep.json": "[" * 5_000 + "]" * 5_000,
            "nul.json": '{"a": "x\\u0000y"}',
            "no.zip": b"PK not really",
        },
    )
    (root / "link.md").symlink_to(outside)
    found = staged(root)
    assert [page.source for page in found.pages] == ["good.md"]
    assert {(out.path, out.line) for out in found.bad} == {
        ("binary.md", 2),
        ("latin.md", 3),
        ("rows.jsonl", 17),
        ("twice.json", 3),
        ("broken.json", 3),
        ("bomb.yaml", 1),
        ("twice.yaml", 3),
        ("bad.toml", 2),
        ("open.csv", 2),
        ("head.md", 3),
        ("deep.json", 1),
        ("nul.json", 1),
        ("no.zip", 0),
        ("link.md", 0),
    }
    assert all("secret plans" not in out.reason for out in found.bad)


def test_sizes_are_bounded_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file of fifty megabytes costs nothing, and a folder of too many files is refused as a whole."""
    root = folder(tmp_path, {"good.md": "Text here.\n"})
    with (root / "large.md").open("wb") as file:
        file.truncate(50_000_000)
    found = staged(root)
    assert [(out.path, "50,000,000 bytes" in out.reason) for out in found.bad] == [("large.md", True)]
    monkeypatch.setattr(source_files, "MOST_FILES", 1)
    with pytest.raises(Refused, match="more than 1"):
        source_folder(root)


def test_an_export_is_read_from_its_archive_and_a_bomb_is_not(tmp_path: Path) -> None:
    """Only the files of an export are read of it, and no more of them than they may become."""
    said = '[{"uuid": "c1", "name": "Tides", "chat_messages": [{"sender": "human", "text": "When is high tide?"}]}]'
    root = folder(
        tmp_path,
        {
            "good.zip": archive({"data/conversations-001.json": said, "users.json": "[]", "../../evil.md": "no"}),
            "bomb.zip": archive({"conversations.json": b"[" + b" " * 3_000_000 + b"]"}),
            "other.zip": archive({"notes.md": "# A"}),
        },
    )
    found = staged(root)
    assert [page.source for page in found.pages] == ["good.zip/conversations-001.json"]
    assert "When is high tide?" in found.pages[0].text
    assert {out.path for out in found.bad} == {"bomb.zip", "other.zip"}


def test_a_single_file_is_read_and_a_link_or_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    """The same readers, whether the file is named or its folder."""
    root = folder(tmp_path, {"note.txt": "High tide is at nine.\n", "picture.png": b"x"})
    (root / "link.txt").symlink_to(root / "note.txt")
    assert staged(root / "note.txt").pages[0].text.endswith("High tide is at nine.\n")
    for name in ("link.txt", "picture.png"):
        with pytest.raises(Refused):
            source_folder(root / name)
    assert [(out.path, out.reason) for out in staged(root).noted if out.path == "*.png"] == [
        ("*.png", "1 of this kind are not read")
    ]
