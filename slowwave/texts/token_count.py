"""Tokens of a text without a tokenizer: one counter for what goes in, what comes out and what was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

BYTES_A_TOKEN: Final = 4

RULE: Final = f"{BYTES_A_TOKEN} bytes of UTF-8 a token, rounded up for each text"


def count(text: str) -> int:
    """Tokens of one text: a quarter of its bytes of UTF-8, rounded up.

    For plain English this is Plugged.in's count of outputs (1.3: characters / 4). It counts inputs by 3, which makes a saving of
    a third out of nothing: 1,500 characters are 375 tokens here, going in and coming out.
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def counts(texts: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """(n,) texts → (n,) tokens, by the same rule; 0 where there is none."""
    import numpy as np
    import pyarrow as pa  # which takes a while to load: who counts one text does without
    import pyarrow.compute as pc

    column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    lengths = pc.fill_null(pc.binary_length(pc.cast(column, binary)), 0).to_numpy(zero_copy_only=False)
    return -(-lengths.astype(np.int64) // BYTES_A_TOKEN)
