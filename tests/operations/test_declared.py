"""What is read from the text of a module is what its import would have declared."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from slowwave.operations import operations
from slowwave.operations.registry import PACKAGES, declared, written_in
from tests.operations.chapter import ROOT, code


def test_text_and_import_say_the_same() -> None:
    """Of every operation of ours, field by field but the function."""
    for package in PACKAGES:
        for found in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            for made in written_in(import_module(found.name)):
                read = operations()[made.name]
                differing = {f.name for f in fields(made) if getattr(made, f.name) != getattr(read, f.name)}
                assert differing <= {"run", "options"}, made.name
                assert (made.options is None) == (read.options is None)


def test_a_list_of_them_imports_none() -> None:
    """Dagster's definitions and the command line want names, switches and docstrings."""
    code = (
        "import sys\n"
        "from slowwave.operations import operations\n"
        "assert len(operations()) >= 34\n"
        f"print([n for n in sys.modules if n.startswith({tuple(f'{p}.' for p in PACKAGES)!r})])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("edits", "imported"),
    [
        ({}, False),
        ({"    options=LongMemoriesOptions,\n": ""}, False),
        ({"def long_memories": "@pc.identity\ndef long_memories"}, False),
        ({'("census",)': "tuple(sorted(['census']))"}, False),
        ({'("census",)': "tuple([pc and 'census'])"}, True),
        (
            {
                "class LongMemoriesOptions(BaseModel)": "class Base(BaseModel):\n    pass\n\n\nclass LongMemoriesOptions(Base)"
            },
            True,
        ),
        ({"(inputs: Inputs)": "(\n    inputs: Inputs,\n)"}, True),
    ],
)
def test_a_module_is_imported_where_its_text_does_not_say_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edits: dict[str, str], imported: bool
) -> None:
    """A name of another module is such a case; either way the operation is the same, and its options are."""
    text = code("long_memories")
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "long_ones.py"
    path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "long_ones", raising=False)
    spec = spec_from_file_location("long_ones", path)
    assert spec is not None
    (made,) = declared(spec)
    assert (made.name, made.module, made.after, made.reads) == (
        *("long_memories", "long_ones", ("census",)),
        ("memories", "memory_versions"),
    )
    assert made.description.startswith("Memories of more characters")
    assert [*(made.options.model_fields if made.options else ())] == ["characters"] * (
        "    options=LongMemoriesOptions,\n" not in edits
    )
    assert ("long_ones" in sys.modules) == imported
