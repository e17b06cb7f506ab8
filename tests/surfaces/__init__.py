"""Tests of ``slowwave.surfaces``."""
