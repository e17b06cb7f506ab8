"""Settings of nights, from the environment and of each namespace."""
