"""The review of a plan: questions for a person, comments of reviewers, and the approval."""

from __future__ import annotations
