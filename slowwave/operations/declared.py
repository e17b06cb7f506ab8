"""What a module declares of its operations, read from its text without importing it.

A list of operations is wanted by everything, also where none of them will run: by Dagster's definitions, which every process loads, and by
the command line. Importing them brings some hundred modules. So, as setuptools does it, what is declared is read statically where that is
possible, and the module is imported where it is not: when it declares something beside literals and the names of a few small modules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from slowwave.operations.inputs import Inputs
from slowwave.operations.spec import Operation

_SMALL: Final = (
    *(
        "dataclasses",
        "pydantic",
        "typing",
        "slowwave.operations.coverage",
        "slowwave.operations",
        "slowwave.operations.spec",
    ),
    *("slowwave.plans.permitted", "slowwave.store.tables"),
)
"""Modules whose names a declaration may use; all are imported by whatever lists operations."""

_IMPORTS: Final = re.compile(
    rf"^from (?:{'|'.join(map(re.escape, _SMALL))}) import (?:\([^)]*\)|[^\n(]*)$", re.MULTILINE
)
_OPTIONS: Final = re.compile(r"^class \w+\(BaseModel\):\n(?:(?: {4}[^\n]*)?\n)+", re.MULTILINE)
_BEGINNING: Final = re.compile(r"^@operation\(", re.MULTILINE)
_DECLARED: Final = re.compile(r'^@operation\(.*?^def \w+\([^\n]*\n {4}""".*?"""', re.MULTILINE | re.DOTALL)
"""From the decorator to the end of the docstring."""

_FURTHER: Final = re.compile(r"^@(?!operation\()[^\n]*\n", re.MULTILINE)
"""Other decorators: they are for the function that does the work."""


@dataclass(frozen=True, slots=True)
class _Late:
    """A function of a module that is imported when it is called."""

    module: str
    name: str

    def __call__(self, inputs: Inputs) -> Any:
        return getattr(import_module(self.module), self.name).run(inputs)


def declared(spec: ModuleSpec) -> list[Operation[Any]]:
    """The operations of a module. Raises ``SettingsError`` for a declaration that cannot be."""
    source = spec.loader.get_source(spec.name) if isinstance(spec.loader, InspectLoader) else None
    if source is None:
        return written_in(import_module(spec.name))
    whole = len(_BEGINNING.findall(source))
    found = _read(spec, source) if whole else []
    return found if len(found) == whole else written_in(import_module(spec.name))


def _read(spec: ModuleSpec, source: str) -> list[Operation[Any]]:
    """What can be read without the rest of the module."""
    known: dict[str, Any] = {"__name__": spec.name}
    parts = ["\n".join(m.group() for m in _IMPORTS.finditer(source))]
    parts += [m.group() for m in _OPTIONS.finditer(source)]
    parts += [f"from __future__ import annotations\n{_FURTHER.sub('', m.group())}" for m in _DECLARED.finditer(source)]
    try:
        for part in parts:
            code = compile(part, spec.origin or "", "exec", dont_inherit=True)
            exec(code, known)  # noqa: S102 - a part of what an import would run
    except (NameError, SyntaxError):
        return []
    return [v.called_by(_Late(spec.name, name)) for name, v in known.items() if isinstance(v, Operation)]


def written_in(module: ModuleType) -> list[Operation[Any]]:
    """The operations of an imported module, not those that it imports itself."""
    return [v for v in vars(module).values() if isinstance(v, Operation) and v.module == module.__name__]
