"""The public Python API that ``import slowwave`` exports: dreams, their outcomes and results."""

from __future__ import annotations
