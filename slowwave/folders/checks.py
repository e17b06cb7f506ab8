"""What keeps a connected folder from being read or written, for ``slowwave doctor``: by names and rights, without reading a file."""

from __future__ import annotations

from slowwave.bindings.connected import ConnectedStore, connected_stores
from slowwave.errors import Refused, SlowwaveError
from slowwave.folders.sources import LETTA, is_folder, source_of
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.texts.counted import counted

_SHOWN = 3


def diagnose_folders(store: Store) -> list[Diagnosis]:
    """Every connected folder; nothing where none can be read, which whoever asks about stores says already."""
    try:
        with store.connect("reader") as connection:
            folders = [of for of in connected_stores(connection) if is_folder(of)]
    except SlowwaveError:
        return []
    return [said for of in folders for said in _diagnose(of)]


def _diagnose(of: ConnectedStore) -> list[Diagnosis]:
    source = source_of(of)
    try:
        scan = source.scan()
    except Refused as problem:
        if of.kind == LETTA:
            return [
                Diagnosis(
                    f"{problem} The nights and applies of {of.name} are refused.",
                    f"Mend it, or `slowwave connect remove {of.name}`.",
                )
            ]
        return [
            Diagnosis(
                f"The folder {of.name} lies at {source.root}, where there is none that can be read: its nights and applies are refused.",
                f"Mount it, or `slowwave connect remove {of.name}`.",
            )
        ]
    found: list[Diagnosis] = []
    if of.writing and (shut := source.shut(scan.files)):
        found.append(
            Diagnosis(
                f"Files of the folder {of.name} could not follow what is applied: {_few(shut)} cannot be replaced by this login.",
                f"Give it the right to write there, or let no plan be applied: `slowwave connect write {of.name} --off`.",
            )
        )
    if scan.left_out:
        told = [f"{out.path} ({out.reason})" for out in scan.left_out]
        found.append(
            Diagnosis(
                f"Of the folder {of.name}, {counted(len(told), f'{source.noun} is', f'{source.noun}s are')} left out: {_few(told)}.",
                "Look at them.",
                problem=False,
            )
        )
    return found


def _few(said: list[str]) -> str:
    more = f", and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(line[:120] for line in said[:_SHOWN]) + more
