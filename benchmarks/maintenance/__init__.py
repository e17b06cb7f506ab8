"""A benchmark of memory maintenance that any memory system can take part in: see ``benchmarks.maintenance.__main__``."""
