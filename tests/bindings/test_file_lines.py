"""Where something stands in a TOML file."""

from __future__ import annotations

import pytest

from slowwave.bindings.files import line_of

TEXT = """store = "notes"

[tables.memories]
table = "notes"
key = { id = "bigint" }
namespace = [
  "owner",
]

[tables.memories.columns]
content = "body"
"recorded_at" = { at = "made", type = "timestamptz" }

[[known]]
version = "1"

[[known]]
version = "2"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("store",), 1),
        (("tables", "memories"), 3),
        (("tables", "memories", "key", "id"), 5),
        (("tables", "memories", "namespace", 0), 6),
        (("tables", "memories", "columns", "content"), 11),
        (("tables", "memories", "columns", "recorded_at", "type"), 12),
        (("tables", "memories", "columns", "nothing"), 10),
        (("known", 1, "version"), 18),
        (("nowhere",), 1),
        ((), 1),
    ],
)
def test_what_lies_under_a_path_has_its_line(path: tuple[str | int, ...], line: int) -> None:
    """Or that of what it lies in."""
    assert line_of(TEXT, path) == line
