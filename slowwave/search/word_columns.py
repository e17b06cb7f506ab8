"""The words of columns of texts, by Arrow's kernels, as ``slowwave.search.words`` analyses them; a search of the store does without."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.search.words import LONGEST, STEMS, ranges

_BETWEEN, _SINGLE = ranges(r"\x{{{:x}}}", wide=r"\x{{{:x}}}")


def split_words(texts: pa.Array) -> pa.Array:
    """Texts (n) → lists (n) of words, by Arrow's kernels over the whole column; not yet stemmed. Lists may hold empty strings."""
    folded = pc.utf8_lower(pc.utf8_normalize(texts, "NFKC"))
    folded = pc.replace_substring(folded, pattern="’", replacement="'")
    if pc.any(pc.match_substring(folded, "'s")).as_py():
        folded = pc.replace_substring_regex(folded, pattern=r"'s([^0-9a-z_]|$)", replacement=r"\1")
    if not pc.all(pc.string_is_ascii(folded)).as_py():
        folded = pc.replace_substring_regex(folded, pattern=_SINGLE, replacement=r" \1 ")
    return pc.split_pattern_regex(folded, _BETWEEN)


def stemmed(column: pa.Array) -> pa.Array:
    """Words (n) → words (n), cut to their length and stemmed; each distinct word once."""
    encoded = pc.dictionary_encode(column)
    stems = pc.utf8_slice_codeunits(encoded.dictionary, 0, LONGEST)
    for pattern, replacement in STEMS:
        stems = pc.replace_substring_regex(stems, pattern=pattern, replacement=replacement)
    return stems.take(encoded.indices)
