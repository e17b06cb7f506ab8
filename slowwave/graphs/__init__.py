"""Algorithms on graphs given as arrays of ids; they know nothing of the store."""

from slowwave.graphs.pagerank import pagerank

__all__ = ["pagerank"]
