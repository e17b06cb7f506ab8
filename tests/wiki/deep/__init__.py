"""Tests of the deep pass."""
