"""A model-free extractor of named entities in chat turns and tickets, including names in code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.text.markdown import HeadingLines, code_spans, markup_spans
from slowwave.text.names import (
    CONNECTORS,
    GIVEN,
    GIVEN_ALONE,
    IMPERATIVES,
    IN_TITLES,
    LINKS,
    ORGANISED,
    PARTICLES,
    PLACES,
    POSSESSIVE,
    SOFTWARE,
    STANDARDS,
    STARTERS,
    TITLES,
    TOWNS,
    UNKNOWN,
    NameToken,
    is_given,
    is_office,
    is_plain,
    known_names,
    name_type,
    speaks_of_works,
)
from slowwave.text.tokens import normalise_name

# Names in code: which text between backticks is a name, and which is a value, a formula or a sentence.
#
# ``slowwave.text.markdown`` finds the code; names in prose are handled below.

LONGEST: Final = 60
"""Maximum length in characters of a code name; longer code is a line of a program."""

_NAME: Final = re.compile(r"(?=\S*(?:[\d_./()-]|[a-z][A-Z]))[\w.$@#~/:()-]{3,60}")
"""A single word that is not English, as a sign, a figure or a capital shows."""
_VALUE: Final = re.compile(r"0[xXbBoO][\da-fA-F_]*|[vV]?[\d.,_:/()+-]+(?:[a-z]{1,2}\d*)?|[\da-fA-F]{7,}|[^\w]*")
"""A number, a version, a date, an address in hexadecimal."""
_LETTERS: Final = re.compile(r"[^\W\d_]")
_LEAST: Final = 3
"""Minimum length in letters; a symbol of a formula has one or two."""
_COMMAND: Final = re.compile(r"[a-z][a-z0-9_.-]*(?: -{0,2}(?=[^ ]*\w)[\w./:@][\w./:@=-]*){1,3}")
_KEY: Final = re.compile(r"^[ \t]*(?:- +)?[\"']?[A-Za-z_][\w-]*[\"']?:(?=[ \t]|$)", re.MULTILINE)
_HEAD: Final = re.compile(r"\ufeff?---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)


def is_code_name(code: str) -> bool:
    """Return whether code is a name that another text may use too: an identifier, a path, a command of up to four words."""
    if (
        len(code) > LONGEST
        or code[0] == code[-1] == ":"
        or len(_LETTERS.findall(code)) < _LEAST
        or _VALUE.fullmatch(code)
    ):
        return False
    return bool(_NAME.fullmatch(code) or _COMMAND.fullmatch(code))


_FILE: Final = re.compile(
    r"(?<![\w./~-])[\w-]{1,64}\.(?:md|rst|txt|py|ipynb|json|jsonl|toml|ya?ml|csv|tsv|sql|sh|cfg|ini|html|css|tsx?|rs|go|java|lock|log)(?![\w/.-])"
)


def file_names(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of files that are named without a folder."""
    return (match.span() for match in _FILE.finditer(text))


def metadata_keys(text: str) -> list[tuple[int, int]]:
    """Return the spans of the keys in a text's YAML head, which belong to the format and not to the content.

    Time: linear in the text.
    """
    head = _HEAD.match(text)
    return [match.span() for match in _KEY.finditer(text, 0, head.end())] if head else []


# Named entities in chat turns and tickets: a deterministic extractor that needs no model.
#
# Patterns find names with a fixed form (addresses, handles, code). Runs of capitalised words are names if the text gives evidence for it.
# Types come from lists of known names and from the words around; a name without evidence is ``unknown``, because a wrong type keeps two
# mentions of one entity apart. Fenced code, common words of headings, demonyms and abbreviations are no names. Dates belong to
# ``slowwave.text.dates``; ``slowwave.matching`` decides whether two names mean the same.
#
# Every pattern begins at a boundary and repeats over disjoint character sets, possessively or within a bound, so that the time is linear
# in the text's length: memory text is untrusted.

LONGEST_NAME: Final = 200
"""Maximum length in characters of a name; a longer text is a passage."""

LONGEST_RUN: Final = 8
"""Maximum number of words in a name outside quotes; a longer run is a heading or shouting."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text: ``text[start:end] == name``; ``entity_type`` is lower-case."""

    name: str
    entity_type: str
    start: int
    end: int


_PATTERNS: Final = (
    ("url", re.compile(r"\b(?:https?://|www\.)[^\s<>\"'`|\\^{}\[\]]++")),
    (
        "email",
        re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,8}+(?![\w-])"),
    ),
    ("handle", re.compile(r"(?<![\w@/.`-])@[A-Za-z][\w-]{1,38}+(?![\w@])")),
    (
        "code",
        re.compile(r"(?<![\w./~-])(?:~|\.{1,2})?/?(?:[\w.-]{1,64}+/){1,30}+[\w-]{0,64}(?:\.\w{1,10}+){1,3}+(?![\w/])"),
    ),
    ("code", re.compile(r"(?<![\w./~-])(?:~|\.{1,2})?/(?:[\w.-]{1,64}+/){1,30}+[\w.-]{1,64}+(?![\w/])")),
    ("code", re.compile(r"(?<![\w.])[A-Za-z][A-Za-z0-9]*+(?:_[A-Za-z0-9]++)++(?:\(\))?(?![\w])")),
    ("code", re.compile(r"(?<![\w.])[a-z]++[a-z0-9]*+(?:[A-Z][a-z0-9]++)++(?:\(\))?(?!\w)")),
    ("identifier", re.compile(r"(?<![\w-])[A-Z]{2,10}+-\d{1,10}+(?![\w-])")),
)
"""Type and pattern, strongest first: a span of text gets the type of the first pattern that matches."""

_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{2,120})[\"”]")
_LETTER: Final = r"(?:[^\W_]|[\u0300-\u036f]|_(?=\w))"
_TOKEN: Final = re.compile(rf"(?<!\w)[^\W\d_]{_LETTER}*+(?:['’&.-]{_LETTER}++)*+\.?")
_ENDS_SENTENCE: Final = re.compile(r"[.!?:;\n•*#>|)\]]|[\"“‘(\[]$|^\s*[-–—]")
_INNER_CAPITAL: Final = re.compile(r"[^\W\d_]*[a-z0-9][A-Z]")
_ADJECTIVE: Final = re.compile(r"-[a-z]+$")
"""Sichuan-style, Cloudflare-fronted."""
_ACT: Final = re.compile(r".(?:ion|ment|al|ing|ance|ence|ness|ity)$")
_ABBREVIATED: Final = re.compile(r"[A-Z][A-Z\d]+s?")
"""ETH, EOAs."""
_UNITS: Final = frozenset(("kib", "mib", "gib", "tib", "khz", "mhz", "ghz", "phd", "kbit", "mbit", "gbit"))
_WRAPPED: Final = 60
"""Minimum length in characters of a line that the next one may continue."""
_SHORTEST: Final = 4
"""Minimum length in letters of a word that would be in the English lexicon if it were English."""
_WHERE: Final = frozenset(("in", "from", "to", "near", "at", "through", "across", "visit", "visited", "visiting", "of"))


def extract(text: str) -> tuple[Mention, ...]:
    """Extract every named entity in ``text``, in order and without overlap.

    Types: person, organization, location, product, work (a quoted title), unknown (a name without a known type), email, url, handle,
    code, identifier. A name has one type in one text: the one with the strongest evidence. Time: linear in the text's length.
    """
    patterned, text = _patterned(text)
    tokens = _tokens(text, patterned)
    quoted = _titles(text, patterned)
    names = _typed_alike(list(_names(text, tokens, quoted)))
    titles = [title for title in quoted if title.entity_type]
    return tuple(sorted((*patterned, *titles, *names), key=lambda mention: mention.start))


def _patterned(text: str) -> tuple[list[Mention], str]:
    """Find mentions that match a fixed pattern.

    Returns them in order of position, without overlap, and the text with its code and markup blanked.
    """
    spans = code_spans(text)
    code = [
        Mention(text[start:end], "code", start, end)
        for start, end in spans.inline
        if is_code_name(text[start:end]) and not text.startswith("`_", end)
    ]
    text = _blanked(text, (*spans.blocks, *spans.inline, *metadata_keys(text), *markup_spans(text)))
    code += [Mention(text[start:end], "code", start, end) for start, end in file_names(text)]
    taken = _Taken(code)
    found: list[Mention] = [*code]
    for kind, pattern in _PATTERNS:
        hits: list[Mention] = []
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            if kind == "url":
                end = start + len(text[start:end].rstrip(".,;:!?)]"))
            name = text[start:end]
            if kind == "identifier" and name.partition("-")[0] in STANDARDS:
                continue
            if kind == "code" and not is_code_name(name):
                continue
            if end - start <= LONGEST_NAME and name.strip() and taken.free(start, end):
                hits.append(Mention(name, kind, start, end))
        found.extend(hits)
        taken.take(hits)
    return sorted(found, key=lambda mention: mention.start), text


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace these spans by ``|`` characters, which end a run of words as punctuation does."""
    parts: list[str] = []
    last = 0
    for start, end in sorted(spans):
        if end <= last:
            continue
        parts += [text[last:start], "|" * (end - max(start, last))]
        last = end
    return "".join([*parts, text[last:]])


class _Taken:
    """Spans of text that already belong to a mention."""

    def __init__(self, mentions: Sequence[Mention] = ()) -> None:
        self._spans: list[tuple[int, int]] = []
        self._starts: list[int] = []
        self.take(mentions)

    def take(self, mentions: Sequence[Mention]) -> None:
        self._spans = sorted([*self._spans, *((m.start, m.end) for m in mentions)])
        self._starts = [start for start, _ in self._spans]

    def free(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start)
        before = place == 0 or self._spans[place - 1][1] <= start
        return before and (place == len(self._spans) or self._spans[place][0] >= end)


def _tokens(text: str, patterned: Sequence[Mention]) -> list[NameToken]:
    """Split the text outside of patterned spans into words; such a span ends a run as punctuation does."""
    tokens: list[NameToken] = []
    taken = _Taken(patterned)
    last = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if not taken.free(start, end):
            continue
        word = match.group()
        if word.endswith(".") and not _abbreviated(word):
            word, end = word[:-1], end - 1
        gap = text[last:start]
        if "\n" in gap and not gap.strip() and gap.count("\n") == 1 and last - text.rfind("\n", 0, last) > _WRAPPED:
            gap = " "  # a line of continued prose
        tokens.append(NameToken(word, start, end, gap, not tokens or bool(_ENDS_SENTENCE.search(gap))))
        last = end
    return tokens


def _abbreviated(word: str) -> bool:
    """Return whether a final dot belongs to the word: an initial, a title, or a word with another dot."""
    stem = word[:-1]
    initials = all(len(part) <= 2 for part in stem.split("."))
    return (
        (len(stem) == 1 and stem.isupper() and stem != "I") or ("." in stem and initials) or stem.casefold() in TITLES
    )


def _titles(text: str, patterned: Sequence[Mention]) -> list[Mention]:
    """Find quoted titles: two or more words, most of them capitalised, including the first.

    A title is a work if the sentence is about works. A title of ordinary words without a type is no name, and neither is anything in it.
    """
    taken = _Taken(patterned)
    found: list[Mention] = []
    for match in _QUOTED.finditer(text):
        start, end = match.span(1)
        name = match.group(1).rstrip(" .,;:!?")
        words = [word for word in name.split() if word[0].isalpha()]
        capitals = sum(word[0].isupper() for word in words)
        small = sum(word.casefold() in CONNECTORS or len(word) <= 3 for word in words if not word[0].isupper())
        if 2 <= len(words) <= 12 and words[0][0].isupper() and capitals >= 2 and capitals + small == len(words):
            end = start + len(name)
            if name.isupper() or not taken.free(start, end):
                continue
            work = speaks_of_works(text, start, end)
            found.append(Mention(name, "work" if work else UNKNOWN if _is_coined(words) else "", start, end))
    return found


def _is_coined(words: Sequence[str]) -> bool:
    """Return whether a title has a word that is not ordinary English, or only short words."""
    folded = [word.casefold().strip(".,;:'’") for word in words]
    plain = [is_plain(word) for word in folded]
    return not any(plain) or not all(p or len(word) < _SHORTEST for p, word in zip(plain, folded, strict=True))


def _names(text: str, tokens: Sequence[NameToken], quoted: Sequence[Mention]) -> Iterator[tuple[Mention, int]]:
    """Yield names with the strength of their type (0 to 3)."""
    taken, lines = _Taken(quoted), HeadingLines.from_text(text)
    lower = {token.folded for token in tokens if not token.capital}
    inside = {token.folded for token in tokens if token.capital and not token.initial}
    place = 0
    while place < len(tokens):
        if not tokens[place].capital:
            place += 1
            continue
        end = _run_end(tokens, place)
        first, last = _trimmed(tokens, place, end, lower)
        place = end
        if first >= last or last - first > LONGEST_RUN:
            continue
        run = tokens[first:last]
        start, stop = run[0].start, run[-1].end
        name = text[start:stop]
        cut = POSSESSIVE.search(name)
        if cut and len(run[-1].text) > 2:
            name = name[: cut.start()]
        if len(name) > LONGEST_NAME or len(name) < 2 or not taken.free(start, start + len(name)):
            continue
        before = tokens[first - 1].folded if first and run[0].gap.strip() in ("", ",") else ""
        following = tokens[last].folded if last < len(tokens) and tokens[last].gap == " " else ""
        kind, strength = name_type(text, run, name, before, following)
        if _is_name(run, name, kind, strength, lower, inside, before=before, heading=lines.is_heading(start)):
            yield Mention(name, kind, start, start + len(name)), strength


def _run_end(tokens: Sequence[NameToken], first: int) -> int:
    """Return the position after the last token of the run of capitalised words that begins at ``first``.

    Particles (``van der``) link any two words. ``of (the)`` can only follow the first word of a name (Bank of America) or the last word
    of an organisation, so that Jane Smith of Acme Corp gives two names.
    """
    end = first + 1
    words = int(tokens[first].folded not in STARTERS)
    while end < len(tokens) and _joined(tokens[end - 1], tokens[end]):
        if not tokens[end].capital:
            last = tokens[end - 1].folded
            of = last in ORGANISED or (words == 1 and last not in GIVEN and last not in TITLES)
            ahead = end
            while ahead < min(end + 2, len(tokens)) and tokens[ahead].text in (LINKS if of else PARTICLES):
                ahead += 1
                if ahead == len(tokens) or not _joined(tokens[ahead - 1], tokens[ahead]):
                    return end
            if ahead == end or not tokens[ahead].capital:
                return end
            end = ahead
        words += tokens[end].folded not in STARTERS
        end += 1
    return end


def _joined(before: NameToken, token: NameToken) -> bool:
    """Return whether two words may belong to one name.

    There must be a space or an ampersand between them and no possessive before.
    """
    return token.gap in (" ", " & ") and not POSSESSIVE.search(before.text)


def _trimmed(tokens: Sequence[NameToken], first: int, last: int, lower: set[str]) -> tuple[int, int]:
    """Return the bounds of the run without articles and without words that are capitalised only because of their position.

    Within a sentence a small word with a capital is part of a title (No Strings Attached). The first word of a heading or of an
    instruction is not part of a name: Install X, Removal of X.
    """
    begins = tokens[first].initial

    def small(token: NameToken) -> bool:
        return (
            not token.capital
            or bool(_ADJECTIVE.search(token.text))
            or (token.folded in STARTERS and (begins or token.folded not in IN_TITLES))
        )

    while first < last:
        token, several = tokens[first], last - first > 1
        by_place = several and token.folded in lower and not is_given(token.folded)
        is_instruction = token.folded in IMPERATIVES or _is_act(tokens, first, last)
        if not small(token) and not (token.initial and several and (by_place or is_instruction)):
            break
        if token.folded in TITLES and several:
            break
        first += 1
    while first < last and small(tokens[last - 1]):
        last -= 1
    alone = last - first == 1 and tokens[first].folded in STARTERS and tokens[first].folded not in TITLES
    return (last, last) if alone else (first, last)


def _is_act(tokens: Sequence[NameToken], first: int, last: int) -> bool:
    """Return whether a run begins with a noun derived from a verb, followed by its object: Verification of Ed25519."""
    word = tokens[first].folded
    return last - first > 2 and tokens[first + 1].text == "of" and bool(_ACT.search(word)) and word not in ORGANISED


def _is_name(
    run: Sequence[NameToken],
    name: str,
    kind: str,
    strength: int,
    lower: set[str],
    inside: set[str],
    *,
    before: str,
    heading: bool,
) -> bool:
    """Return whether a run is a name at all.

    Doubtful are single words, words that are not used as names elsewhere in the text, and words at the start of a sentence.
    """
    head, words = run[0], [token.folded for token in run]
    if _ADJECTIVE.search(name) or words[-1] in _UNITS or is_office(words):
        return False
    short = [_ABBREVIATED.fullmatch(token.text.rstrip(".")) is not None for token in run]
    plain = all(
        (is_plain(word) and (len(run) > 1 or word not in SOFTWARE))
        or abbreviated
        or word in CONNECTORS
        or len(word) < _SHORTEST
        for word, abbreviated in zip(words, short, strict=True)
    )
    if not strength and (
        words[-1] in known_names().demonyms or (all(short[1:]) and words[0] in known_names().demonyms)
    ):
        return False
    if len(run) > 1:
        if (all(short) or name.isupper()) and strength < 2:  # shouting, or adjacent abbreviations
            return False
        if strength:
            return True
        if plain:
            return not heading and not head.initial and not all(word in lower for word in words)
        return not all(word in lower for word in words)
    if words[0] in ORGANISED and strength < 3:
        return False
    if short[0] or name.isupper():  # an abbreviation, unless a list contains it
        return strength >= 2 and (kind != "person" or len(name) >= _SHORTEST)
    elsewhere = head.folded in inside and head.folded not in lower
    if strength < 3 and plain and head.initial and not is_given(head.folded):
        return elsewhere and strength > 0
    if strength == 3 or (kind in ("product", "code", "organization") and strength):
        return True
    if kind == "location" and strength:
        return not plain or words[0] in PLACES or words[0] in TOWNS or (before in _WHERE and not head.initial)
    if kind == "unknown" and (plain or len(name) < _SHORTEST):
        return False
    if not head.initial:
        return head.folded not in lower or is_given(head.folded)
    if head.folded in GIVEN_ALONE or (is_given(head.folded) and not plain):
        return True
    return elsewhere or bool(_INNER_CAPITAL.match(name))


def _typed_alike(found: Sequence[tuple[Mention, int]]) -> list[Mention]:
    """Give each name the type for which the text has the strongest evidence (the earliest among equals)."""
    best: dict[str, tuple[int, str]] = {}
    for mention, strength in found:
        key = normalise_name(mention.name)
        if key not in best or strength > best[key][0]:
            best[key] = (strength, mention.entity_type)
    return [
        Mention(mention.name, best[normalise_name(mention.name)][1], mention.start, mention.end) for mention, _ in found
    ]
