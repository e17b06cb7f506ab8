"""Declared identity: the properties that identify the rows of a type, and the relation of two rows by their values.

An operator declares for a type the properties that are its identity together (``DedupeEntitiesOptions.identity``). Two rows of the type
are then in one of four relations:

- ``SAME``: both state every property, and all values are equal after normalisation. They merge without a question.
- ``DIFFERENT``: both state some property, and share no value of it. They never merge.
- ``NEAR``: the values overlap without being equal, as lists do, or differ in their notation only. They merge only if a person says so.
- ``UNKNOWN``: anything else. The ordinary evidence decides.

``SAME`` is an equivalence relation, so rows that merge have the same relation to every other row, and no chain of equal values joins two
rows that differ. Placeholders, and values that more than ``MOST_ROWS`` rows share, count as not stated and are reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.attributes import EMAIL, NOTHING, PHONE, TELEPHONE, URL, scalars
from slowwave.matching.names import fold
from slowwave.text.tokens import counted, suggest_name

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Relations = NDArray[np.int8]

UNKNOWN, SAME, NEAR, DIFFERENT = 0, 1, 2, 3

MOST_ROWS: Final = 5
"""Number of rows that may share a value; a value of more rows, such as the address of a department, identifies none of them."""

_NOBODY: Final = frozenset(
    (
        "n a",
        "na",
        "nil",
        "none",
        "null",
        "unknown",
        "nobody",
        "anonymous",
        "no reply",
        "noreply",
        "do not reply",
        "donotreply",
    )
)
"""Folded values that stand for a missing one, also before the "@" of an email."""

_PLACEHOLDERS: Final = frozenset(
    (
        *NOTHING,
        *_NOBODY,
        *(
            "no",
            "undefined",
            "missing",
            "empty",
            "blank",
            "test",
            "placeholder",
            "default",
            "tba",
            "tbc",
            "tbd",
            "todo",
        ),
        *(
            "not available",
            "not applicable",
            "not given",
            "not known",
            "not set",
            "not stated",
            "no value",
            "no email",
            "no phone",
        ),
        *("to be announced", "to be confirmed", "to be determined"),
    )
)

_REPEATED: Final = re.compile(r"([0x])\1+|(\w)\2{5,}")  # "000", "xxx", "9999999" without separators, not "111"
_EXTENSION: Final = re.compile(r"[\s,;]*(?:x|ext\.?|extension|#)\s*(\d{1,6})$")
_TRUNK: Final = "(0)"  # written inside international numbers and not dialled with the country code
_SUBSCRIBER: Final = 7  # last digits by which a number with and without its area or country code are compared
_CODE: Final = re.compile(r"(?=.*\d)[^\W_][\w ./:#-]*[^\W_]")  # "978-3-16-148410-0", not "ann@acme.org"
_LONG_CODE: Final = 8  # letters and digits from which on separators of a code may be notation only
_PROTOCOL: Final = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)


class Form(NamedTuple):
    """The normal forms of a value: equal ``exact`` forms are one value, different ``loose`` forms are two values."""

    exact: str
    loose: str


def normal_form(key: str, value: str) -> Form | None:
    """Return the forms of a value of the property ``key``, or None for a placeholder.

    Case, outer and repeated spaces, compatibility characters and invisible characters never distinguish values. Only the path of a URL
    keeps its case in the exact form. Phone numbers are compared by their digits, with loose forms that lack area and country code. The
    loose form of a code of eight or more letters and digits lacks its separators.
    """
    text = unicodedata.normalize("NFKC", value)
    text = " ".join("".join(c for c in text if unicodedata.category(c) != "Cf").split())
    folded = text.casefold()
    if "@" in folded:
        email = re.sub(r"\s", "", folded).removeprefix("mailto:")
        if EMAIL.fullmatch(email):
            return None if fold(email.partition("@")[0]) in _NOBODY else Form(email, email)
    if _is_placeholder(folded):
        return None
    if TELEPHONE.search(key) and (phone := _phone(folded)):
        return phone
    if URL.fullmatch(text):
        host, slash, path = _PROTOCOL.sub("", text).rstrip("/").partition("/")
        exact = host.casefold() + slash + path
        return Form(exact, exact.casefold())
    signs = "".join(c for c in folded if c.isalnum())
    return Form(folded, signs if len(signs) >= _LONG_CODE and _CODE.fullmatch(folded) else folded)


def _phone(text: str) -> Form | None:
    """Return the forms of a phone number, or None if the text is none."""
    extension = _EXTENSION.search(text)
    main = text[: extension.start()] if extension else text
    main = main.replace(_TRUNK, "")
    digits = "".join(c for c in main if c.isdecimal()).lstrip("0")
    if not PHONE.fullmatch(main.strip()) or len(digits) < _SUBSCRIBER:
        return None
    return Form(f"{digits}x{extension[1]}" if extension else digits, digits[-_SUBSCRIBER:])


def _is_placeholder(text: str) -> bool:
    signs = "".join(c for c in text if c.isalnum())
    return not signs or fold(text) in _PLACEHOLDERS or _REPEATED.fullmatch(signs) is not None


class IgnoredValue(NamedTuple):
    """A value that is no evidence, as its first row states it: a placeholder, or shared by more than ``MOST_ROWS`` rows.

    ``rows`` are row numbers, ascending.
    """

    name: str
    value: str
    rows: tuple[int, ...]
    placeholder: bool


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The identity of n rows.

    - ``declared`` (n,) codes the properties that identify the row's type, -1 without a declaration; ``properties`` names them by code.
    - ``exact`` (n,) codes the whole identity, -1 for a row that lacks a property.
    - ``loose`` holds for each place of a property an array (n,) of codes, -1 for a row without a value and -2 for one with several;
      ``several`` maps the latter to their codes.
    - ``ignored`` are the values that are no evidence, and ``problems`` sentences about declared types and properties that no row has.
    """

    declared: Ints
    properties: tuple[tuple[str, ...], ...]
    exact: Ints
    loose: tuple[Ints, ...]
    several: tuple[Mapping[int, frozenset[int]], ...]
    ignored: tuple[IgnoredValue, ...]
    problems: tuple[str, ...]

    @classmethod
    def from_rows(
        cls, types: Sequence[str], attributes: Sequence[object], declared: Mapping[str, Sequence[str]]
    ) -> Identity | None:
        """Read the identity of n rows from their types and attributes (JSON texts or mappings); None if no type declares one.

        Types and properties are compared folded, so "E-Mail" is "e-mail". Time is linear in the rows of the declared types.
        """
        if not declared:
            return None
        spelt = {type_: fold(type_) for type_ in {*types, *declared}}
        names = sorted({tuple(sorted(properties, key=fold)) for properties in declared.values()})
        code = {tuple(map(fold, own)): k for k, own in reversed([*enumerate(names)])}
        of = {spelt[type_]: code[tuple(sorted(map(fold, own)))] for type_, own in declared.items()}
        kinds = np.array([of.get(spelt[type_], -1) for type_ in types], np.int64)
        stated = _Stated({}, defaultdict(list), defaultdict(set))
        for row in np.flatnonzero(kinds >= 0).tolist():
            stated.read(row, spelt[types[row]], names[kinds[row]], attributes[row])
        ignored = [*stated.placeholders(), *stated.drop_shared(kinds, names)]
        exact, loose, several = stated.codes(len(types))
        problems = stated.problems({spelt[t]: (t, tuple(own)) for t, own in declared.items()}, types)
        return cls(kinds, tuple(names), exact, loose, several, tuple(ignored), tuple(problems))

    def relation(self, i: Ints, j: Ints) -> Relations:
        """Return the relation of pairs of rows (p,), which may be of two types that declare the same properties."""
        found = np.zeros(len(i), np.int8)
        at = np.flatnonzero((self.declared[i] == self.declared[j]) & (self.declared[i] >= 0))
        x, y = i[at], j[at]
        needed = np.array([len(names) for names in self.properties])[self.declared[x]]
        different, whole = np.zeros(len(at), bool), np.ones(len(at), bool)
        for place, (codes, several) in enumerate(zip(self.loose, self.several, strict=True)):
            a, b = codes[x], codes[y]
            stated = (a != -1) & (b != -1)
            whole &= stated | (place >= needed)
            apart = stated & (a != b)
            for k in np.flatnonzero(stated & (np.minimum(a, b) == -2)).tolist():
                one, other = (
                    several.get(r, frozenset((c,))) for r, c in ((int(x[k]), int(a[k])), (int(y[k]), int(b[k])))
                )
                apart[k] = one.isdisjoint(other)
            different |= apart
        same = (self.exact[x] == self.exact[y]) & (self.exact[x] >= 0)
        found[at] = np.select([same, different, whole], [SAME, DIFFERENT, NEAR], UNKNOWN)
        return found

    def reason(self, i: int, j: int) -> str:
        """Return the sentence about two rows that are the same or different by their values; empty if the values do not decide."""
        verb = _VERBS.get(int(self.relation(np.array([i]), np.array([j]))[0]))
        names = " and ".join(self.properties[self.declared[i]]) if verb else ""
        return (
            f"The values of {names} {verb}, and the settings declare them to be the identity of the type."
            if verb
            else ""
        )

    def blocks(self) -> tuple[Ints, Ints]:
        """Return rows (m,) and codes (m,): rows with an equal code have an equal value in the first place of one declaration."""
        if not self.loose:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        single = np.flatnonzero(self.loose[0] >= 0)
        many = [(row, code) for row, codes in self.several[0].items() for code in sorted(codes)]
        more = np.array(many, np.int64).reshape(-1, 2)
        rows, codes = np.concatenate([single, more[:, 0]]), np.concatenate([self.loose[0][single], more[:, 1]])
        return rows, codes * len(self.properties) + self.declared[rows]


_VERBS: Final = {SAME: "are equal", DIFFERENT: "differ"}


class _Stated(NamedTuple):
    """Statements of rows: by row the forms of each property with their texts, the rows of placeholders, and the keys of each type."""

    forms: dict[int, list[dict[Form, str]]]
    missing: dict[tuple[str, str], list[tuple[int, str]]]
    keys: dict[str, set[str]]

    def read(self, row: int, kind: str, names: tuple[str, ...], given: object) -> None:
        """Read the properties of a row from its attributes."""
        values = defaultdict[str, list[str]](list)
        for key, value in scalars(given):
            values[fold(key)].append(value)
            self.keys[kind].add(key)
        found: list[dict[Form, str]] = []
        for name in names:
            forms: dict[Form, str] = {}
            for value in values.get(fold(name), ()):
                form = normal_form(name, value)
                if form is not None:
                    forms.setdefault(form, value)
                elif value.strip():
                    self.missing[name, value.strip().casefold()].append((row, value))
            found.append(forms)
        self.forms[row] = found

    def placeholders(self) -> Iterable[IgnoredValue]:
        """Yield the placeholders, the most frequent first."""
        for (name, _), given in sorted(self.missing.items(), key=lambda found: (-len(found[1]), found[0])):
            yield IgnoredValue(name, given[0][1], tuple(row for row, _ in given), placeholder=True)

    def drop_shared(self, kinds: Ints, names: Sequence[tuple[str, ...]]) -> Iterable[IgnoredValue]:
        """Remove the values that too many rows share, and yield them, the most frequent first.

        If several properties are the identity together, many rows may share the value of one, but not all values.
        """
        held = defaultdict[tuple[int, tuple[frozenset[str], ...]], list[int]](list)
        for row, found in self.forms.items():
            if len(found) == 1:
                for exact in {form.exact for form in found[0]}:
                    held[int(kinds[row]), (frozenset((exact,)),)].append(row)
            elif all(found):
                held[int(kinds[row]), tuple(frozenset(f.exact for f in forms) for forms in found)].append(row)
        shared = [(key, rows) for key, rows in held.items() if len(rows) > MOST_ROWS]
        for (kind, key), rows in sorted(shared, key=lambda found: (-len(found[1]), found[1])):
            texts = [
                next(t for f, t in forms.items() if f.exact in own)
                for forms, own in zip(self.forms[rows[0]], key, strict=True)
            ]
            yield IgnoredValue(" and ".join(names[kind]), ", ".join(texts), tuple(rows), placeholder=False)
        for (_, key), rows in shared:
            for row in rows:
                for forms, own in zip(self.forms[row], key, strict=True):
                    for form in [f for f in forms if f.exact in own]:
                        del forms[form]

    def codes(self, n: int) -> tuple[Ints, tuple[Ints, ...], tuple[dict[int, frozenset[int]], ...]]:
        """Return the codes of n rows as ``Identity`` holds them."""
        places = max(map(len, self.forms.values()), default=0)
        exact, loose = np.full(n, -1, np.int64), tuple(np.full(n, -1, np.int64) for _ in range(places))
        several = tuple(dict[int, frozenset[int]]() for _ in range(places))
        whole: dict[tuple[frozenset[str], ...], int] = {}
        number: dict[str, int] = {}
        for row, found in self.forms.items():
            if all(found):
                key = tuple(frozenset(form.exact for form in forms) for forms in found)
                exact[row] = whole.setdefault(key, len(whole))
            for place, forms in enumerate(found):
                own = frozenset(number.setdefault(form.loose, len(number)) for form in forms)
                if own:
                    loose[place][row] = next(iter(own)) if len(own) == 1 else -2
                if len(own) > 1:
                    several[place][row] = own
        return exact, loose, several

    def problems(self, declared: Mapping[str, tuple[str, tuple[str, ...]]], types: Sequence[str]) -> Iterable[str]:
        """Yield a sentence for each declared type that no row has, and for each property that no row of its type states."""
        rows = Counter(map(fold, types))
        for kind, (type_, names) in sorted(declared.items()) if types else ():
            if not rows[kind]:
                yield (
                    f"The settings declare an identity for the type “{type_}”, which no entity has, so it decides nothing."
                    f"{suggest_name(type_, set(types))}"
                )
                continue
            known = self.keys.get(kind, set())
            folded = {fold(key) for key in known}
            for name in names:
                if fold(name) not in folded:
                    yield (
                        f"The settings declare “{name}” to identify the type “{type_}”, but none of its {counted(rows[kind], 'row')} "
                        f"states it, so it decides nothing.{suggest_name(name, known)}"
                    )
