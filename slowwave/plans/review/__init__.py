"""Review: what a person is asked about a plan, what reviewers say of it, and the signature that makes it count."""

from __future__ import annotations
