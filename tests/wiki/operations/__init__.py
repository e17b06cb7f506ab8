"""Tests of ``slowwave.wiki.operations``."""
