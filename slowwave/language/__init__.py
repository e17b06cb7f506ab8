"""Embedding models, behind one small protocol."""
