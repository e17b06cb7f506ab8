"""Benchmarks: a generator of namespaces and what measures Slowwave on them. Nothing here is part of the product."""
