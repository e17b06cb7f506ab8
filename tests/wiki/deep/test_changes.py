"""The difference between a copy as it was handed out and as it came back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slowwave.wiki.deep.changes import Changes, changes
from slowwave.wiki.deep.scratch import CopiedPage, HandedOut
from tests.snapshots import uid
from tests.wiki.deep.worlds import SAID, entry

FERRY = "memories/ferry.md"
PAGE = "pages/wiki/a.md"

COPY = HandedOut(
    files={
        FERRY: "# ferry\n\n" + entry("pier") + entry("keeper"),
        "memories/crane.md": "# crane\n\n" + entry("crane"),
        PAGE: "# A\n\nText.\n",
        "MEMORY.md": "# Memory\n\n- one\n",
        "sessions/s.md": "Mara: hello.\n",
    },
    memories={uid("pier"): FERRY, uid("keeper"): FERRY, uid("crane"): "memories/crane.md"},
    subjects={FERRY: "ferry", "memories/crane.md": "crane"},
    pages={PAGE: CopiedPage(uid("page"), "/srv/wiki", "a.md")},
    sessions={"sessions/s.md": uid("talk")},
    may_grow={"pages/wiki": "/srv/wiki"},
)


def came(**files: str) -> Changes:
    """With other texts for some files, by their last names."""
    names = {name.rpartition("/")[2].removesuffix(".md"): name for name in COPY.files}
    return changes(COPY, {**COPY.files, **{names.get(last, last): text for last, text in files.items()}})


def test_deep_an_unchanged_copy_has_no_changes() -> None:
    """Neither has one of which an editor took the white space away."""
    assert len(changes(COPY, COPY.files)) == 0
    assert len(came(ferry=COPY.files[FERRY].replace("six.\n", "six.  \n") + "\n\n")) == 0


def test_deep_entries_that_are_reworded_gone_moved_and_new() -> None:
    """A memory is known by its id, wherever it stands by then."""
    found = came(
        ferry="# ferry\n\n"
        + entry("pier").replace("six", "seven")
        + entry("crane")
        + "- New. [source: sessions/s.md]\n",
        crane="# crane\n",
    )
    assert [(c.memory, c.says) for c in found.reworded] == [(uid("pier"), SAID["pier"][1].replace("six", "seven"))]
    assert [c.memory for c in found.dropped] == [uid("keeper")]
    assert [(c.subject, c.says, c.sources) for c in found.stated] == [("ferry", "New.", ("sessions/s.md",))]


def test_deep_pages_new_files_and_the_index() -> None:
    """A new topic file is about what it is called; a new page is of the corpus in whose folder it lies."""
    more = {
        "memories/otto-weiss.md": "# Otto Weiss\n\n- Otto sails.\n",
        "memories/zoe.md": "# Anything\n\n- Zoe rows.\n",
        "pages/wiki/b/c.md": "# C\n",
    }
    found = changes(COPY, {**COPY.files, PAGE: "# A\n\nOther.\n", "MEMORY.md": "# Memory\n", **more})
    assert [(c.root, c.path, bool(c.was)) for c in found.pages] == [
        ("/srv/wiki", "a.md", True),
        ("/srv/wiki", "b/c.md", False),
    ]
    assert [c.subject for c in found.stated] == ["Otto Weiss", "zoe"]
    assert found.index is not None


@pytest.mark.parametrize(
    "text",
    [
        f"- [mem:{uid('nobody')}] Who?\n",
        "A line that is no entry.\n",
        entry("pier") + entry("pier").replace("six", "seven"),
    ],
    ids=["a memory that was not handed out", "no entry", "two texts for one memory"],
)
def test_deep_what_means_nothing_is_said_and_changes_nothing(text: str) -> None:
    """The memory of which two things are said keeps what it says."""
    found = came(ferry=f"# ferry\n\n{entry('pier')}{entry('keeper')}{text}")
    assert (len(found), len(found.odd)) == (0, 1)


@pytest.mark.parametrize(
    ("files", "share", "characters", "beyond"),
    [
        ({"crane": "# crane\n"}, 0.0, 0, True),
        ({"crane": "# crane\n"}, 0.0, 1_000, False),
        ({"crane": "# crane\n"}, 0.4, 0, False),
        ({"crane": "", "ferry": ""}, 1.0, 10_000, True),
        ({"MEMORY": ""}, 1.0, 10_000, True),
        ({"ferry": "# ferry\n\n" + entry("keeper"), "crane": entry("crane") + entry("pier")}, 0.0, 0, True),
    ],
)
def test_deep_what_is_taken_away_is_measured_in_lines_that_stand_nowhere_any_more(
    files: dict[str, Any], share: float, characters: int, beyond: bool
) -> None:
    """Half of all never goes, and the index is never emptied. Here nothing but a heading is lost where lines were moved."""
    found = came(**files)
    assert bool(found.beyond(share, characters)) is beyond
    assert not replace(found, lost=0, index=None).beyond(0, 0)
