"""Algorithms on graphs given as arrays of ids; they know nothing of the store.

``pagerank`` and ``communities`` are the functions, though modules have these names, too: import anything else of a module with
``from slowwave.graphs.communities import …``.
"""

from slowwave.graphs.communities import communities
from slowwave.graphs.pagerank import pagerank

__all__ = ["communities", "pagerank"]
