"""Search: one retriever for agents, probes and benchmarks, with candidates, fusion, priors, and the log of recalls."""

from __future__ import annotations
