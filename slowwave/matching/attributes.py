"""Attributes as sparse arrays, with what each column is learnt from its values: identifier, birth date, phone or plain.

A column is one attribute of one entity type. What is equal or in conflict for pairs of rows is computed for many pairs at
once; what that weighs belongs to ``slowwave.matching.evidence``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slowwave.matching.names import fold

_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}\.[^@\s.]{2,24}")
_URL: Final = re.compile(r"(?:https?://|www\.)\S{3,2000}", re.IGNORECASE)
_DOMAIN: Final = re.compile(r"(?:https?://)?[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:[/?#]\S{0,2000})?", re.IGNORECASE)
_SITE: Final = re.compile(r"url|site|web|domain|homepage|link", re.IGNORECASE)
_PHONE: Final = re.compile(r"\+?\(?\d[\d ()./-]{5,20}\d")
_DATE: Final = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:[T ].{0,30})?")
_CODE: Final = re.compile(r"(?=\S*\d)\S{6,64}")
_BIRTH: Final = re.compile(r"birth|born|dob", re.IGNORECASE)
_TELEPHONE: Final = re.compile(r"phone|mobile|tel(?:$|_)|fax|cell(?:$|_)", re.IGNORECASE)
_OFFICIAL: Final = re.compile(
    r"(?:^|[_\W])(?:ssn|soc_?sec\w*|isbn\w*|issn|doi|orcid|ein|vat\w*|iban|sku|serial\w*|passport\w*|licen[cs]e_?n\w*|tax_?\w*"
    r"|imo|vin|mac|asin|upc|ean|gtin|ticker|handle|user_?name|login)(?:$|[_\W])",
    re.IGNORECASE,
)
_GENERIC: Final = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|identifier)$", re.IGNORECASE)
_LONGEST: Final = 200  # longer values are prose, which equality says nothing about
_HOLDERS: Final = 6  # a value held by more rows identifies nobody
_MEASURED: Final = 20  # rows from which a column's uniqueness can be measured

# Weight of an equal value by what the column is (natural log of a Bayes factor).
_IDENTIFIER, _UNIQUE, _BIRTHDAY = 6.5, 4.5, 3.5


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """For p pairs: ``identifiers`` summed weight of equal identifying values, ``plain`` of equal others, ``contested`` whether
    an identifier is in conflict, ``conflicts`` how many other columns are (all (p,))."""

    identifiers: NDArray[np.float64]
    plain: NDArray[np.float64]
    contested: NDArray[np.bool_]
    conflicts: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """Values of n rows: ``values`` (n, v) and ``present`` (n, c) hold ones; the other arrays describe values and columns."""

    values: Any
    present: Any
    column: NDArray[np.int64]  # (v,) the column of a value
    identifying: NDArray[np.float64]  # (v,) weight of an equal identifying value, else 0
    plain: NDArray[np.float64]  # (v,) weight of an equal plain value, else 0
    decisive: NDArray[np.bool_]  # (c,) a conflict here means two different things
    keys: tuple[str, ...]  # (c,)

    def agreement(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Agreement:
        """Compare pairs of rows. A column with several values agrees when one of them is equal."""
        if not self.keys:
            zero = np.zeros(len(i))
            return Agreement(zero, zero, zero.astype(bool), zero)
        equal = self.values[i].multiply(self.values[j]).tocsr()
        agreed = equal @ self._columns()
        agreed.data[:] = 1
        differs = self.present[i].multiply(self.present[j]) - agreed
        return Agreement(
            identifiers=equal @ self.identifying,
            plain=equal @ self.plain,
            contested=(differs @ self.decisive.astype(float)) > 0,
            conflicts=differs @ (~self.decisive).astype(float),
        )

    def equal_keys(self, i: int, j: int, *, identifying: bool) -> list[str]:
        """The attributes in which two rows agree by an identifying value, or by a plain one."""
        values, start = self.values.indices, self.values.indptr
        both = np.intersect1d(values[start[i] : start[i + 1]], values[start[j] : start[j + 1]])
        return sorted({self.keys[self.column[v]] for v in both if (self.identifying[v] > 0) == identifying})

    def _columns(self) -> Any:
        ones = np.ones(len(self.column))
        return sparse.csr_matrix((ones, (np.arange(len(ones)), self.column)), shape=(len(ones), len(self.keys)))


def prepare(attributes: Sequence[str | None], types: NDArray[np.int64]) -> Attributes:
    """JSON objects and type codes of n rows → their values as arrays. Nested objects and prose are left out."""
    columns: dict[tuple[int, str], int] = {}
    cells: dict[int, list[tuple[int, str]]] = defaultdict(list)  # column → (row, text)
    for row, (text, kind) in enumerate(zip(attributes, types.tolist(), strict=True)):
        for key, value in _scalars(text):
            cells[columns.setdefault((kind, key), len(columns))].append((row, value))
    keys = tuple(key for _, key in columns)
    rows: list[int] = []
    values: list[int] = []
    column: list[int] = []
    identifying: list[float] = []
    plain: list[float] = []
    decisive = np.zeros(len(keys), bool)
    for c, key in enumerate(keys):
        kind = _Kind.of(key, [v for _, v in cells[c]])
        decisive[c] = kind.decisive
        holders: dict[str, set[int]] = defaultdict(set)
        for row, value in cells[c]:
            holders[kind.normal(value)].add(row)
        total = len({row for row, _ in cells[c]})
        for held in (holders[v] for v in sorted(holders) if v):
            rows += sorted(held)
            values += [len(column)] * len(held)
            column.append(c)
            strong = kind.weight > 0 and len(held) <= _HOLDERS
            identifying.append(kind.weight if strong else 0.0)
            plain.append(0.0 if strong else min(2.0, float(np.log(total / len(held))) / 2))
    of = np.array(column, np.int64)
    matrix = sparse.csr_matrix((np.ones(len(rows)), (rows, values)), shape=(len(attributes), len(column)))
    present = sparse.csr_matrix((np.ones(len(rows)), (rows, of[values])), shape=(len(attributes), len(keys)))
    present.data[:] = 1
    return Attributes(matrix, present, of, np.array(identifying), np.array(plain), decisive, keys)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a column is: the weight of an equal value, whether a conflict decides, and how values are normalised."""

    shape: str
    weight: float
    decisive: bool

    @classmethod
    def of(cls, key: str, values: Sequence[str]) -> _Kind:
        distinct = sorted(set(values))
        sample = distinct[:: max(1, len(distinct) // 200)]
        unique = len(distinct) / len(values)
        measured = len(values) >= _MEASURED
        repeats = not measured or unique < 1  # where no two rows ever agree, it may be the number of the row

        def shaped(pattern: re.Pattern[str]) -> bool:
            return sum(pattern.fullmatch(v.strip()) is not None for v in sample) >= 0.8 * len(sample)

        if shaped(_EMAIL):
            return cls("email", _IDENTIFIER, decisive=True)
        if shaped(_URL) or (_SITE.search(key) and shaped(_DOMAIN)):
            return cls("url", _IDENTIFIER, decisive=repeats)
        if _BIRTH.search(key) and shaped(_DATE):
            return cls("date", _BIRTHDAY, decisive=True)
        if _TELEPHONE.search(key) and shaped(_PHONE):
            return cls("phone", _UNIQUE, decisive=False)
        if _OFFICIAL.search(key):
            return cls("code", _IDENTIFIER, decisive=repeats)
        if _GENERIC.search(key) and (unique >= 0.4 or not measured):
            return cls("code", _IDENTIFIER, decisive=measured and repeats)
        if measured and unique >= 0.4 and shaped(_CODE) and not shaped(_DATE):
            return cls("code", _UNIQUE, decisive=False)
        return cls("text", 0.0, decisive=False)

    def normal(self, value: str) -> str:
        if self.shape == "email":
            return value.strip().casefold()
        if self.shape == "url":
            return re.sub(r"^(?:https?://)?(?:www\.)?", "", value.strip().casefold()).rstrip("/")
        if self.shape == "phone":
            return "".join(c for c in value if c.isdecimal()).lstrip("0")
        if self.shape == "date" and (match := _DATE.fullmatch(value.strip())):
            return "".join(match.groups())
        folded = fold(value)
        return folded.replace(" ", "") if self.shape == "code" else folded


def _scalars(text: str | None) -> Iterator[tuple[str, str]]:
    """Attribute and value of a JSON object, lists spelled out; a text that is not one has none."""
    if not text or text == "{}":
        return
    try:
        parsed: object = json.loads(text)
    except ValueError:
        return
    if not isinstance(parsed, dict):
        return
    for key, value in parsed.items():
        for one in value if isinstance(value, list) else [value]:
            if (
                isinstance(one, (str, int, float))
                and not isinstance(one, bool)
                and 0 < len(str(one).strip()) <= _LONGEST
            ):
                yield str(key), str(one)
