"""User interfaces: the command line, the Python API, the review page and the demo."""
