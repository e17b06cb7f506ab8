"""The demo: three invented agents whose memories are generated from hand-written material, with planted problems and their key."""

from slowwave.demo.generator import DemoNamespace, generate
from slowwave.demo.key import AnswerKey
from slowwave.demo.load import load_demo
from slowwave.demo.score import Score, found_against_planted
from slowwave.demo.world import NAMESPACES

__all__ = ["NAMESPACES", "AnswerKey", "DemoNamespace", "Score", "found_against_planted", "generate", "load_demo"]
