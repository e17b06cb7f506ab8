"""What `import slowwave` gives: dreams, their outcomes and results."""

from __future__ import annotations
