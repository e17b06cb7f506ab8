"""Checks after every apply: Slowwave's invariants in SQL, and the store's contract in Great Expectations."""
