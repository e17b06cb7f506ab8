"""The report of a small folder, word for word, and nothing in it that a terminal or Markdown would take for its own."""

from __future__ import annotations

import json
from pathlib import Path

from slowwave.wiki.migration.plan import report_json, report_lines, report_markdown
from tests.wiki.migration.folders import migrated, page

FILES = {
    "core/user.md": "# Mara\n\n- Works from Oslo.\n",
    "people/jo.md": page("person", "Jo", "Jo lives in Lisbon.", updated="2026-01-01"),
    "archive/people/jo.md": page("person", "Jo", "Jo lives in Rome."),
    "decisions/2026-02-03-oak.md": page("decision", "Oak hulls", "Hulls are of oak.", date="2026-02-03"),
    "old/people/jo.md": page("person", "Jo", "Jo lives in Oslo.", updated="2026-03-01"),
    "people/Untitled.md": "Somebody rows.\n",
    "people/mara.md": page("project", "Mara", "Mara sails."),
    "later.md": page("person", "Lee", "Lee will retire.", date="2031-01-01"),
    "bad.json": '{"a": 1,\n "a": 2}',
    "rows.csv": "id,text\n1,One row\n",
    "key.md": "The key is ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8.\n",
    "picture.png": b"x",
}

REPORT = r"""# Migration of brain to acme

Run {run_id}. Read as:

- .: Dory corpus

| | |
| --- | ---: |
| pages staged | 9 |
| pages to write | 9 |
| pages to change | 0 |
| pages about a subject | 6 |
| pages kept as evidence | 2 |
| set aside | 2 |
| claims | 5 |
| canonical pages | 0 |
| statements known already | 0 |
| contradictions | 1 |
| files that cannot be taken | 1 |

## Readers

- CSV: 1
- Markdown: 8

## Files that cannot be taken

- bad.json, line 2: 'a' stands twice in one object

## Kept out by screening

- key.md, line 1: screening keeps it out (secret: github token)

## Set aside

- people/Untitled.md: it is a person and nothing names it

## Not read

- \*.png: 1 of this kind are not read

## Subjects

- core:user (user): 1 claim, confidence high
- decision:oak (Oak hulls): 1 claim, confidence high
- person:jo (Jo): 2 claims, confidence high
- project:mara (Mara): 1 claim, confidence medium

## Contradictions

- person:jo: “Jo lives in Oslo.” is believed; “Jo lives in Lisbon.” is kept as history

## Audit

Verdict fail, after one repair review.

- person:later: taken out, it begins on 2031-01-01, which is still to come
- project:mara: review, it is not sure
"""


def test_the_report_of_a_small_folder(tmp_path: Path) -> None:
    """As it is printed; the same folder gives the same."""
    found = migrated(tmp_path / "brain", FILES)
    assert report_markdown(found) == REPORT.replace("{run_id}", found.run_id)
    assert report_markdown(migrated(tmp_path / "brain", {})) == report_markdown(found)


def test_a_terminal_is_told_the_same_without_marks(tmp_path: Path) -> None:
    """Names as they are, a number beside what is counted, and what belongs together set in."""
    lines = report_lines(migrated(tmp_path / "old_brain", FILES))
    assert lines[0] == (0, "Migration of old_brain to acme")
    assert {(2, "pages staged: 9"), (0, ""), (0, "Not read"), (2, "- *.png: 1 of this kind are not read")} <= set(lines)
    assert not [line for _, line in lines if line.startswith(("#", "|"))]


def test_the_run_as_json(tmp_path: Path) -> None:
    """The counters that Dory's clients read, and where each page comes from."""
    told = report_json(migrated(tmp_path / "brain", FILES), 12)
    assert {name: told[name] for name in ("staged", "written", "canonical_created", "quarantined")} == {
        "staged": 9, "written": 9, "canonical_created": 0, "quarantined": 2,
    }  # fmt: skip
    assert told["stats"] == {
        "llm_classified": 0, "llm_asked": 0, "llm_reused": 0, "fallback_classified": 9, "llm_extracted": 0,
        "fallback_extracted": 6, "llm_failed": 0, "atom_count": 6, "contradiction_count": 1, "duration_ms": 12,
    }  # fmt: skip
    assert told["audit"]["dropped"] == ["person:later"]
    assert [entry["place"] for entry in told["files"] if entry["source"] == "rows.csv"] == [
        "sources/imported/brain/rows.csv.md"
    ]
    json.dumps(told)


def test_names_are_text_in_a_report(tmp_path: Path) -> None:
    """No escape sequence, no markup, no order of reading turned round."""
    name = "a\x1b[31m<b>[x](y)\u202e.md"
    text = report_markdown(
        migrated(
            tmp_path,
            {f"people/{name}": page("person", '"J\\u001b[1m[o](http://x)"', "Jo rows."), f"bad{name}": b"\xff"},
        )
    )
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[x](y)" not in text
    assert "](http" not in text
