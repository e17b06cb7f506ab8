"""Names of settings: those that Slowwave does not know, and changes to the settings of a namespace.

An unknown name has no effect, so a person who misspells one wrongly believes that it works. ``slowwave doctor`` and every night name
them; a night refuses those of operations, because a misspelt switch lets an operation run that a person has switched off.
"""

from __future__ import annotations

import copy
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from psycopg.types.json import Jsonb

from slowwave.errors import Refused, SettingsError
from slowwave.operations.registry import operations
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.namespaces import unknown_namespace
from slowwave.store.settings import (
    KHORA_KILL_SWITCH,
    OPERATORS,
    PREFIX,
    PROGRAM_VARIABLES,
    Settings,
    khora_variables,
)
from slowwave.text.tokens import find_nearest

Config: TypeAlias = Settings | Mapping[str, object]
"""Settings of one call: whole settings, or a mapping of single keys."""

_OPERATIONS: Final = "operations"
_LIMITS: Final = frozenset(
    ("blast_radius_share", "blast_radius_rows", "blast_radius_housekeeping_share", "recall_floor")
)
"""Settings by which probes judge a plan."""

_LISTS: Final = (
    "`slowwave operations` lists the operations, and `slowwave namespace show NAMESPACE` the settings of a namespace"
)
_REPLACED: Final = {
    "auto_approve": "Policies replace it: `slowwave policies accept NAMESPACE OPERATION --by NAME` approves the low-risk changes of an "
    "operation, and `slowwave policies list` shows what is accepted."
}
"""Settings that existed once, each with what replaces it."""
_DELIMITER: Final = "__"
_SETTINGS: Final = "SELECT slug, settings FROM memory.namespaces WHERE settings <> '{}' ORDER BY slug"
_SETTINGS_TO_CHANGE: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s FOR NO KEY UPDATE"
_SET_SETTINGS: Final = "UPDATE memory.namespaces SET settings = %s WHERE slug = %s"


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """Hold a name without effect. ``nearest`` is the known name that it resembles most, two names joined by "or", or empty.

    ``of_operation`` is true for a switch or an option of an operation, and for a name that resembles one.
    """

    name: str
    nearest: str
    of_operation: bool

    @property
    def finding(self) -> str:
        """Return the sentence for a person."""
        return f"{self.name} is not a setting of Slowwave and has no effect."

    @property
    def meant(self) -> str:
        """Return the question whether the nearest known name was meant, or an empty string if none is near."""
        return f"Did you mean {self.nearest}?" if self.nearest else ""

    @property
    def remedy(self) -> str:
        """Return the sentence that follows the finding."""
        if instead := _REPLACED.get(self.name.lower().removeprefix(PREFIX.lower())):
            return f"{instead} Remove the setting."
        return f"{self.meant} Correct or remove it; {_LISTS}.".strip()


def unknown_variables(environment: Mapping[str, str]) -> list[UnknownSetting]:
    """Return the variables that have no effect, in alphabetical order: those with our prefix, and known names with a misspelt prefix."""
    known, of_operations = known_variables(), f"{PREFIX}{_OPERATIONS}{_DELIMITER}".upper()
    found: list[UnknownSetting] = []
    for name in sorted(environment):
        meant = _correct_sections(name.upper(), known)
        if not meant or (meant == name.upper() and _is_known(meant, known)):
            continue
        nearest = meant if _is_known(meant, known) else _nearest_variable(meant, known)
        found.append(UnknownSetting(name, nearest, meant.startswith(of_operations) or of_operations in nearest))
    try:
        given = json.loads(environment.get(f"{PREFIX}{_OPERATIONS}".upper(), "{}"))
    except ValueError:
        return found  # loading the settings refuses it
    return found + unknown_keys({_OPERATIONS: given})


@cache
def known_variables() -> frozenset[str]:
    """Return every variable that has an effect: settings, options of operations, and those of the program."""
    options = (
        f"{_OPERATIONS}{_DELIMITER}{name}{_DELIMITER}{option}" for name, given in _options().items() for option in given
    )
    return PROGRAM_VARIABLES | {f"{PREFIX}{name}".upper() for name in (*Settings.model_fields, *options)}


def _is_known(name: str, known: frozenset[str]) -> bool:
    """Return whether a variable is known, or sets one key of a mapping such as the half-life of one kind of memory."""
    whole, inside, _ = name.rpartition(_DELIMITER)
    if name in known:
        return True
    return bool(inside) and whole in known and _OPERATIONS.upper() != whole.removeprefix(PREFIX)


def unknown_keys(settings: Mapping[str, object]) -> list[UnknownSetting]:
    """Return the keys of a namespace's settings that name no setting, in the order in which they are given."""
    found: list[UnknownSetting] = []
    for key in settings:
        if key not in Settings.model_fields:
            nearest = " or ".join(_nearest_settings(key))
            found.append(UnknownSetting(key, nearest, of_operation=f"{_OPERATIONS}." in nearest))
    given = settings.get(_OPERATIONS)
    if not isinstance(given, Mapping):
        return found
    known = _options()
    for operation, options in given.items():
        if operation not in known:
            nearest = find_nearest(str(operation), known)
            found.append(UnknownSetting(f"{_OPERATIONS}.{operation}", nearest, of_operation=True))
        elif isinstance(options, Mapping):
            found += [
                UnknownSetting(f"{_OPERATIONS}.{operation}.{option}", find_nearest(str(option), known[operation]), True)
                for option in options
                if option not in known[operation]
            ]
    return found


def check_settings(settings: Mapping[str, object]) -> Settings:
    """Return the settings of a namespace that set ``settings``; warn of unknown variables and of unknown keys in it.

    Raises ``SettingsError`` for an invalid value, and for unknown names of operations: the night would not do what was set.
    """
    unknown = [*unknown_variables(os.environ), *unknown_keys(settings)]
    for one in (*(u for u in unknown if not u.of_operation), *_khora_findings(os.environ)):
        warnings.warn(f"{one.finding} {one.remedy}", UserWarning, stacklevel=2)
    if wrong := [one for one in unknown if one.of_operation]:
        raise SettingsError(
            f"{' '.join(f'{one.finding} {one.meant}'.strip() for one in wrong)} Nothing was planned, because operations would run "
            f"with other settings than those meant. Correct or remove the name; {_LISTS}."
        )
    return _check_values(settings)


def _check_values(settings: Mapping[str, object]) -> Settings:
    """Return the settings of a namespace, or raise ``SettingsError`` for the first invalid value, also of an operation's option."""
    made = Settings.for_namespace(settings)
    for operation in operations().values():
        if operation.options is not None:
            made.options(operation.name, operation.options)
    return made


def with_config(settings: Mapping[str, object], config: Config) -> dict[str, object]:
    """Return a namespace's own settings with those of one call: a mapping changes single keys, ``Settings`` replace them all.

    A key of an operation may be written with dots: ``operations.prune_edges.half_life_days``. The limits by which probes judge a plan stay
    those of the namespace: ``Settings`` do not replace them. Raises ``Refused`` for such a limit in a mapping, for an unknown key, and
    for one that only variables may set.
    """
    if isinstance(config, Settings):
        return {**settings, **config.model_dump(mode="json", exclude=set(OPERATORS | _LIMITS))}
    changed: dict[str, Any] = {}
    made: dict[str, Any] = copy.deepcopy(dict(settings))
    for path, value in _leaves(config):
        _put(changed, path, value)
        _put(made, path, value)
    _refuse_keys(changed)
    if limits := sorted(_LIMITS & changed.keys()):
        raise Refused(
            f"{limits[0]} limits what a plan may change, so it is set for the whole namespace and not for one plan. Nothing was changed."
        )
    return made


def _leaves(given: Mapping[str, object]) -> list[tuple[list[str], object]]:
    """Return each setting of a mapping as its path and value; the switches and options of an operation are settings of their own."""
    found: list[tuple[list[str], object]] = []
    for key, value in given.items():
        path = key.split(".")
        if path[0] == _OPERATIONS and len(path) < 3 and isinstance(value, Mapping):
            found += _leaves({f"{key}.{inner}": one for inner, one in value.items()})
        else:
            found.append((path, value))
    return found


def change_settings(
    store: Store, namespace: str, given: Mapping[str, object], removed: Sequence[str] = ()
) -> dict[str, object]:
    """Set keys of a namespace's own settings, and remove others; return the settings as they are now.

    A key of an operation is written with dots: ``operations.prune_edges.half_life_days``. It takes the owner's login. Raises ``Refused``
    for an unknown namespace or key, for a key that only variables may set, and for a value that cannot be; nothing is changed then.
    """
    with store.connect("owner") as connection, connection.transaction():
        row = connection.execute(_SETTINGS_TO_CHANGE, (namespace,)).fetchone()
        if row is None:
            raise unknown_namespace(connection, namespace)
        settings: dict[str, Any] = copy.deepcopy(row[0]) if isinstance(row[0], dict) else {}
        changed: dict[str, Any] = {}
        for key, value in given.items():
            _put(settings, key.split("."), value)
            _put(changed, key.split("."), value)
        for key in removed:
            _take(settings, key.split("."))
        _refuse_keys(changed)
        _check_values(settings)
        connection.execute(_SET_SETTINGS, (Jsonb(settings), namespace))
    return settings


def _refuse_keys(given: Mapping[str, object]) -> None:
    """Raise ``Refused`` for the first key that names no setting of a namespace."""
    if wrong := unknown_keys(given):
        raise Refused(f"{wrong[0].finding} {wrong[0].remedy} Nothing was changed.")
    if kept := sorted(set(given) & OPERATORS):
        raise Refused(
            f"{kept[0]} is set by the variable {PREFIX}{kept[0].upper()} alone: addresses, folders and schedules are the operator's, since "
            "whoever may write a namespace's settings must not send its memory elsewhere. Nothing was changed."
        )


def _put(settings: dict[str, Any], path: Sequence[str], value: object) -> None:
    for part in path[:-1]:
        inner = settings.setdefault(part, {})
        if not isinstance(inner, dict):
            raise Refused(f"{part} is set to a value that has no keys. Remove it first; nothing was changed.")
        settings = inner
    settings[path[-1]] = value


def _take(settings: dict[str, Any], path: Sequence[str]) -> None:
    holders: list[Any] = [settings]
    for part in path[:-1]:
        holders.append(holders[-1].get(part) if isinstance(holders[-1], dict) else None)
    if not isinstance(holders[-1], dict) or path[-1] not in holders[-1]:
        raise Refused(f"{'.'.join(path)} is not set in the namespace's own settings. Nothing was changed.")
    del holders[-1][path[-1]]
    for holder, part in zip(reversed(holders[:-1]), reversed(path[:-1]), strict=True):
        if not holder[part]:
            del holder[part]


def diagnose_settings(store: Store | None) -> list[Diagnosis]:
    """Return the findings of ``slowwave doctor`` about names and values of settings; those of namespaces if there is a ``store`` to ask."""
    found = [Diagnosis(one.finding, one.remedy, one.of_operation) for one in unknown_variables(os.environ)]
    found += _khora_findings(os.environ)
    invalid = _invalid({})
    found += [invalid] if invalid else []
    if store is not None:
        with store.connect("reader") as connection:
            rows = connection.execute(_SETTINGS).fetchall()
        for namespace, given in rows:
            settings = given if isinstance(given, dict) else {}
            found += [
                Diagnosis(f"In the settings of {namespace}: {one.finding}", one.remedy, one.of_operation)
                for one in unknown_keys(settings)
            ]
            if invalid is None and (own := _invalid(settings)):
                found.append(Diagnosis(f"In the settings of {namespace}: {own.finding}", own.remedy))
    return found


def _invalid(settings: Mapping[str, object]) -> Diagnosis | None:
    """Return the finding about the first invalid value of a namespace's settings and of variables."""
    try:
        _check_values(settings)
    except SettingsError as problem:
        finding, _, remedy = str(problem).partition(". ")
        return Diagnosis(f"{finding}.", f"{remedy} Nights do not run until then.")
    return None


def _khora_findings(environment: Mapping[str, str]) -> list[Diagnosis]:
    """Return a notice for khora's variables that are read here, in one sentence, and one for each that has no equivalent."""
    given = [one for one in khora_variables(environment) if one.name.upper() != KHORA_KILL_SWITCH]
    used, others = [one for one in given if one.setting], [one for one in given if not one.setting]
    found = [
        Diagnosis(f"{one.name} has no equivalent and no effect here.", "It may stay, if khora reads it.", problem=False)
        for one in others
    ]
    if used:
        pairs = ", ".join(f"{one.name} as {one.ours}" for one in used)
        finding = f"Variables of khora's are read, since ours are not set: {pairs}."
        found.append(Diagnosis(finding, "Set ours to stop this notice or to choose other values.", problem=False))
    return found


def _options() -> dict[str, frozenset[str]]:
    """Map each operation to the names of its options, including its switch."""
    return {
        name: frozenset(("enabled", *(made.options.model_fields if made.options else ())))
        for name, made in operations().items()
    }


def _correct_sections(name: str, known: frozenset[str]) -> str:
    """Return the variable with the nearest known prefix and the nearest known setting before the first delimiter; empty if not ours.

    A misspelt prefix is corrected only where the rest is known then: ``SLOWWAVES_ROOT`` may belong to another program.
    """
    prefix, underscore, rest = name.partition("_")
    if not underscore or not (prefix == PREFIX[:-1] or find_nearest(prefix, (PREFIX[:-1],))):
        return ""
    section, delimiter, inner = rest.partition(_DELIMITER)
    if delimiter and section.lower() not in Settings.model_fields:
        section = find_nearest(section, (field.upper() for field in Settings.model_fields)) or section
    corrected = f"{PREFIX}{section}{delimiter}{inner}"
    return corrected if prefix == PREFIX[:-1] or _is_known(corrected, known) else ""


def _nearest_variable(name: str, known: Iterable[str]) -> str:
    """Return the nearest variable by its last part, or by the part before it: the shared beginning makes all of them alike."""
    before, delimiter, last = name.removeprefix(PREFIX).rpartition(_DELIMITER)
    if not delimiter:
        program = (variable.removeprefix(PREFIX).lower() for variable in PROGRAM_VARIABLES)
        nearest_settings = _nearest_settings(last.lower(), program)
        return " or ".join(f"{PREFIX}{found.replace('.', _DELIMITER)}".upper() for found in nearest_settings)
    start = f"{PREFIX}{before}{delimiter}"
    if nearest := find_nearest(last, (other.removeprefix(start) for other in known if other.startswith(start))):
        return start + nearest
    inner = before.removeprefix(f"{_OPERATIONS.upper()}{_DELIMITER}")
    operation = find_nearest(inner, (other.upper() for other in _options())) if inner != before else ""
    options = {option.upper() for option in _options().get(operation.lower(), ())}
    return start.replace(inner, operation) + last if last in options else ""


def _nearest_settings(name: str, others: Iterable[str] = ()) -> list[str]:
    """Return the one or two settings, or ``others``, that a name without dots resembles, or none.

    Settings that have all words of the name come first, and of these the ones with the fewest other words: ``decay_days`` is
    ``operations.decay_transition.days``. Words are compared by their first five letters, so that singular and plural are equal.
    """
    names = _plain_names() | {other: other for other in others}
    words = _beginnings(name)
    sizes = [(len(held), plain) for plain in names if words <= (held := _beginnings(plain))]
    holding = {names[plain] for size, plain in sizes if size == min(sizes)[0]}
    if len(words) > 1 and 0 < len(holding) <= 2:
        return sorted(holding)
    nearest = find_nearest(name, names)
    return [names[nearest]] if nearest else []


def _plain_names() -> dict[str, str]:
    """Return all settings by their names without dots; for khora's names of an operation as well."""
    found: dict[str, str] = {}
    for operation, options in _options().items():
        made = operations().get(operation)
        for name in (*(made.khora if made else ()), operation):
            found |= {f"{name}_{option}": f"{_OPERATIONS}.{operation}.{option}" for option in options}
    return found | {name: name for name in Settings.model_fields}


def _beginnings(name: str) -> set[str]:
    return {word[:5] for word in name.split("_")}
