"""Tests of ``slowwave.wiki.corpus``."""
