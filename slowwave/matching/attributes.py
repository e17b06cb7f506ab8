"""Attributes as columns: every key of an entity type, with the learnt shape of its values.

A column is not configured by hand: its shape (email, url, phone, date, code, number, category or text) is inferred from its values, and
decides how they are normalised and compared. The weight of agreement belongs to ``slowwave.matching.weights``, the comparison of pairs to
``slowwave.matching.compare``.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.names import fold

Ints = NDArray[np.int64]

IDENTIFIERS: Final = frozenset(("email", "url", "phone", "code", "codes"))
"""Shapes whose values usually identify one thing."""

EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}\.[^@\s.]{2,24}")
URL: Final = re.compile(r"(?:https?://|www\.)\S{3,2000}", re.IGNORECASE)
_DOMAIN: Final = re.compile(r"(?:https?://)?[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:[/?#]\S{0,2000})?", re.IGNORECASE)
_SITE: Final = re.compile(r"url|site|web|domain|homepage|link", re.IGNORECASE)
PHONE: Final = re.compile(r"\+?\(?\d[\d ()./-]{5,20}\d")
TELEPHONE: Final = re.compile(r"phone|mobile|tel(?:$|_)|fax|cell(?:$|_)", re.IGNORECASE)
_DATE: Final = re.compile(r"(\d{4})([-/.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?:[T ].{0,30})?")
_DATED: Final = re.compile(r"\d{4}([-/.])\d{2}\1\d{2}(?:[T ].{0,30})?")
_BIRTH: Final = re.compile(r"birth|born|dob", re.IGNORECASE)
_DAY_FIRST: Final = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_NUMBER: Final = re.compile(r"[$€£]? ?[-+]?\d{1,15}(?:,\d{3})*(?:\.\d{1,15})?(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_CODE: Final = re.compile(r"(?=\S*\d)\S{4,64}")
_OFFICIAL: Final = re.compile(
    r"(?:^|[_\W])(?:ssn|soc_?sec\w*|isbn\w*|issn|doi|orcid|ein|vat\w*|iban|sku|serial\w*|passport\w*|licen[cs]e_?n\w*|tax_?\w*"
    r"|imo|vin|mac|asin|upc|ean|gtin|ticker|handle|user_?name|login|model_?n\w*|part_?n\w*)(?:$|[_\W])",
    re.IGNORECASE,
)
_GENERIC: Final = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|identifier)$", re.IGNORECASE)
_CODED: Final = re.compile(r"(?=[\w/-]*\d)(?=[\w/-]*[^\W\d_])[^\W_][\w/-]*[^\W_]")
_DIGIT: Final = re.compile(r"\d")
_QUANTITY: Final = re.compile(
    r"(?:\d[\d/.]*x)*[\d/.-]+[^\W\d_]{1,6}|\d[\d/.]*(?:x\d[\d/.]*)+(?:-?[^\W\d_]{1,6})?", re.IGNORECASE
)
_PARTED: Final = re.compile(r"(?<![\w/-])([^\W\d_]{1,4}) (\d[\w/]{1,8})(?![\w/-])")
NOTHING: Final = frozenset(("", "nan", "none", "null", "n a", "na", "unknown"))

CODES: Final = "code in the name"
"""Key of the column of model numbers and similar codes that are extracted from the names."""

_LONGEST: Final = 2_000  # maximum length in characters of a value that is parsed
_SHORT: Final = 200  # maximum length in characters of a cached object
_CODE_SIGNS: Final = 5
_SHARE: Final = 0.8  # share of the distinct values that must have a shape
_DATES: Final = 0.4  # share that must be calendar days if all are written as such: distinct values have more typing mistakes than rows
_DIGITS_ONLY: Final = str.maketrans("", "", "-/.")
_MEASURED: Final = 20  # minimum number of values for measuring a column's uniqueness
_SAMPLE: Final = 400


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One attribute ``key`` of one entity type (code ``kind``).

    ``rows`` (m,) are the rows that state it, ascending; a row is repeated if its value is a list. ``codes`` (m,) index ``texts`` (v,),
    the distinct values in normal form, and ``counts`` (v,) are the numbers of rows that hold them. ``distinct`` is the share of values
    that differ. ``serial`` means that no two rows ever agree, as with a row number.
    """

    kind: int
    key: str
    shape: str
    rows: Ints
    codes: Ints
    texts: NDArray[np.object_]
    counts: Ints
    repeated: bool

    @property
    def distinct(self) -> float:
        """Return the number of distinct values per stated value."""
        return len(self.texts) / max(len(self.codes), 1)

    @property
    def serial(self) -> bool:
        """Return whether every value of the column is held once and there are enough values to decide."""
        return len(self.codes) >= _MEASURED and len(self.texts) == len(self.codes)

    @property
    def is_birth(self) -> bool:
        """Return whether the values are dates of birth, of which a person has one."""
        return self.shape == "date" and bool(_BIRTH.search(self.key))

    def first(self, rows: Ints) -> Ints:
        """Return the code of each row's first value, or -1 for a row without one."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.codes[at], -1)


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """The attribute columns of a population, by entity type and key."""

    columns: tuple[Column, ...]

    def stated(self) -> Ints:
        """Return the rows that state any attribute, without the attributes derived from their names."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *(c.rows for c in self.columns if c.key != CODES)]))

    def select(self, kind: int) -> tuple[Column, ...]:
        """Return the columns of one entity type."""
        return tuple(c for c in self.columns if c.kind == kind)


def prepare(
    attributes: Sequence[object],
    kinds: Ints,
    shapes: Mapping[tuple[int, str], str] | None = None,
    display_names: Sequence[str] = (),
) -> Attributes:
    """Convert JSON objects (texts or mappings) and type codes of n rows to columns.

    This takes one pass; nested objects are left out. ``shapes`` holds the shapes that are known already. Codes in the names,
    ``display_names``, make a separate column.
    """
    raw: dict[tuple[int, str], _Raw] = {}
    known: dict[str, tuple[tuple[str, str], ...]] = {}  # cache of parsed texts, since rows have many in common
    for row, (given, kind) in enumerate(zip(attributes, kinds.tolist(), strict=True)):
        pairs = known.get(given) if isinstance(given, str) else None
        if pairs is None:
            pairs = tuple((key, value[:_LONGEST]) for key, value in scalars(given))
            if isinstance(given, str) and len(given) <= _SHORT:
                known[given] = pairs
        for key, value in pairs:
            column = raw.get((kind, key))
            if column is None:
                column = raw[kind, key] = _Raw()
            _put(column, row, value)
    for row, name in enumerate(display_names):
        for code in _codes(name):
            _put(raw.setdefault((int(kinds[row]), CODES), _Raw()), row, code)
    for row, name in enumerate(display_names):  # "RMA 5845" is a code if another name has "RMA-5845"
        column = raw.get((int(kinds[row]), CODES))
        if column is not None:
            for code in _parted_codes(name):
                if code in column.number:
                    _put(column, row, code)
    named = {**{(kind, CODES): "codes" for kind, _ in raw}, **(shapes or {})}
    found = (_column(kind, key, r, named.get((kind, key), "")) for (kind, key), r in sorted(raw.items()))
    return Attributes(tuple(c for c in found if c is not None))


def _put(column: _Raw, row: int, value: str) -> None:
    column.rows.append(row)
    column.codes.append(column.number.setdefault(value, len(column.number)))


class _Raw:
    """A column while its rows are parsed."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.codes = array("q")
        self.number: dict[str, int] = {}


def _column(kind: int, key: str, raw: _Raw, shape: str) -> Column | None:
    """Build a column: learn the shape unless it is known, normalise the values, and number the distinct ones in order."""
    shape = shape or _shape(key, list(raw.number), len(raw.codes))
    forms = np.array([_normal(shape, v) for v in raw.number] or [""], np.object_)
    texts, number = np.unique(forms, return_inverse=True)
    rows = np.frombuffer(raw.rows, np.int64)
    codes = number.astype(np.int64)[np.frombuffer(raw.codes, np.int64)]
    stated = ~np.isin(texts, list(NOTHING))[codes]
    place = np.cumsum(np.isin(np.arange(len(texts)), codes[stated])) - 1
    texts = texts[np.unique(codes[stated])]
    rows, codes = rows[stated], place[codes[stated]]
    if not len(rows):
        return None
    repeated = len(np.unique(rows)) < len(rows)
    if repeated or shape == "codes":  # values with a space come last here
        rows, codes = np.unique(np.column_stack([rows, codes]), axis=0).T
    return Column(kind, key, shape, rows, codes, texts, np.bincount(codes, minlength=len(texts)), repeated)


def _shape(key: str, values: Sequence[str], stated: int) -> str:
    """Return the shape of the values of a column, if at least 80 % of them have it."""
    distinct = sorted(values)
    sample = [v.strip() for v in distinct[:: max(1, len(distinct) // _SAMPLE)]]
    sample = [v for v in sample if fold(v) not in NOTHING] or [""]
    unique = len(distinct) / stated

    def shaped(pattern: re.Pattern[str], share: float = _SHARE) -> bool:
        return sum(pattern.fullmatch(v) is not None for v in sample) >= share * len(sample)

    if shaped(EMAIL):
        return "email"
    if shaped(URL) or (_SITE.search(key) and shaped(_DOMAIN)):
        return "url"
    if shaped(_DATE) or shaped(_DAY_FIRST) or (shaped(_DATED) and shaped(_DATE, _DATES)):
        return "date"
    if _OFFICIAL.search(key) or (_GENERIC.search(key) and (unique >= 0.4 or stated < _MEASURED)):
        return "code"
    if shaped(PHONE) and (TELEPHONE.search(key) or not shaped(_NUMBER)):
        return "phone"
    if shaped(_NUMBER):
        return "number"
    if shaped(_CODE) and unique >= 0.4 and stated >= _MEASURED:
        return "code"
    words = [len(v.split()) for v in sample]
    return "text" if np.mean(words) >= 2.5 or max(words) > 8 else "category"


def _normal(shape: str, value: str) -> str:
    """Return a value in the form in which it is compared."""
    value = value.strip()
    if shape == "email":
        return value.casefold()
    if shape == "url":
        return re.sub(r"^(?:https?://)?(?:www\.)?", "", value.casefold()).rstrip("/")
    if shape == "phone":
        return "".join(c for c in value if c.isdecimal()).lstrip("0")
    if shape == "date":
        if match := _DATE.fullmatch(value):
            return match[1] + match[3] + match[4]
        if _DATED.fullmatch(value):  # the digits of a mistyped date can still be compared
            return value[:10].translate(_DIGITS_ONLY)
        if match := _DAY_FIRST.fullmatch(value):
            return f"{match[3]}{int(match[2]):02d}{int(match[1]):02d}"
    if shape == "number" and _NUMBER.fullmatch(value):
        return f"{float(value.lstrip('$€£ ').replace(',', '')):.12g}"
    folded = fold(value)
    return folded.replace(" ", "") if shape in ("code", "codes") else folded


def _codes(name: str) -> Iterator[str]:
    """Yield the words of a name that mix letters and digits, such as "KDL-46V4100".

    They have five characters or more and are not quantities ("24-inch").
    """
    if not _DIGIT.search(name):
        return
    for match in _CODED.finditer(name):
        code = re.sub(r"[\W_]", "", match[0]).casefold()
        if len(code) >= _CODE_SIGNS and not _QUANTITY.fullmatch(match[0]):
            yield code


def _parted_codes(name: str) -> Iterator[str]:
    """Yield the possible codes that are written with a space: up to four letters and a number."""
    if _DIGIT.search(name):
        for match in _PARTED.finditer(name):
            yield re.sub(r"[\W_]", "", match[0]).casefold()


def scalars(given: object) -> Iterator[tuple[str, str]]:
    """Yield attribute and value pairs of a JSON object, with lists expanded, or nothing for any other value.

    Whole numbers have no decimals: frames write them with some if other rows lack the attribute.
    """
    if isinstance(given, str):
        if not given or given == "{}":
            return
        try:
            given = json.loads(given)
        except ValueError:
            return
    if not isinstance(given, Mapping):
        return
    pairs: Mapping[Any, Any] = given
    for key, value in pairs.items():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, str):
                text = one
            elif isinstance(one, float) and one.is_integer():
                text = str(int(one))
            elif isinstance(one, (int, float)) and not isinstance(one, bool):
                text = str(one)
            else:
                continue
            if text.strip():
                yield str(key), text
