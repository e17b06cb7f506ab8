"""The demo: three invented agents whose memories are generated from hand-written material.

The memories contain injected problems, which the answer key lists.
"""

from __future__ import annotations

from slowwave.surfaces.demo.generator import DemoNamespace, generate
from slowwave.surfaces.demo.load import load_demo
from slowwave.surfaces.demo.score import Score, found_against_planted
from slowwave.surfaces.demo.world import NAMESPACES, AnswerKey

__all__ = ["NAMESPACES", "AnswerKey", "DemoNamespace", "Score", "found_against_planted", "generate", "load_demo"]
