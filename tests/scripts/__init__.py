"""Tests of what makes the package's files of data."""
